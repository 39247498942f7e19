"""Clusters that can be hurt, and what is measured on them."""
