"""What the tests of faults share: three members, and replicas on them."""

from __future__ import annotations

import pytest

from tests.harness import crew as harness


@pytest.fixture
def crew(trio, prefix, tmp_path):
    """Replicas on `trio`."""
    with harness.crew(trio.connection, prefix, tmp_path) as made:
        yield made
