"""Faults: what can be done to a cluster, each proved to have taken effect and proved to have been undone."""
