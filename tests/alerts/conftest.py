"""Replicas for Prometheus to scrape."""

from __future__ import annotations

import pytest

from tests.harness import crew as harness


@pytest.fixture
def crew(etcd, prefix, tmp_path):
    """Replicas on an etcd of one member."""
    with harness.crew(etcd.connection, prefix, tmp_path) as made:
        yield made
