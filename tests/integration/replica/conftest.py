"""What the tests of replicas share."""

from __future__ import annotations

import pytest

from tests.harness import crew as harness
from tests.harness.replicas import STEADY


@pytest.fixture
def crew(etcd, prefix, tmp_path):
    """Replicas on `etcd`, with the default durations: no leader is to change, however busy the machine."""
    with harness.crew(etcd.connection, prefix, tmp_path) as made:
        made.timing = STEADY
        yield made
