"""A browser, if this machine has one. It is the one program without which a test is left out, but not in CI."""

from __future__ import annotations

import os
import shutil

import pytest


def browser():
    """The program to start."""
    found = shutil.which("chromium")
    if found is None:
        reason = "no chromium here: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
