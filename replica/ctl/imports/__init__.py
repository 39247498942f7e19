"""Traces of other systems, read as pods and nodes."""
