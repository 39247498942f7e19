"""Presence between replicas: evidence that the process of a leader is gone, in milliseconds instead of a lease."""
