"""What becomes of a test whose cluster can't be had on this machine."""

from __future__ import annotations

from typing import NoReturn

import pytest


def leave_out(reason: str, how: str) -> NoReturn:
    """Leave the test out, or fail it, with one line.

    Args:
        how: `skip` or `fail`.
    """
    if how == "fail":
        pytest.fail(f"no cluster can be had: {reason}", pytrace=False)
    pytest.skip(f"no cluster can be had: {reason}")
