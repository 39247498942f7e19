"""Spans of a cluster's replicas, out of their trace files."""

from __future__ import annotations

from component.tracing.reading import Event, Reference, Span, parse, read_files, read_folder

__all__ = ["Event", "Reference", "Span", "parse", "read_files", "read_folder"]
