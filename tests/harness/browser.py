"""A browser, if this machine has one."""

from __future__ import annotations

from tests.harness.programs import program


def browser():
    """The program to start."""
    return program("chromium", package="chromium")
