"""Programs that come from no wheel: a test that needs one is left out where it is missing, but not in CI."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name, *, package):
    """The path of the program to start, which Debian has in this package."""
    found = shutil.which(name)
    if found is None:
        leave_out(f"no {name} here: apt-get install {package}")
    return found


def leave_out(reason):
    """Leave the test out for this reason, or fail it in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
