"""Clusters of containers: found by their labels, hurt through the Docker engine."""
