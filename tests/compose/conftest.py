"""The cluster that most tests here share: as `make up` brings it up, with pods that keep coming."""

from __future__ import annotations

import pytest

from tests.harness import engine
from tests.harness.engine import Docked


@pytest.fixture(scope="session")
def cluster():
    engine.needed()
    with Docked(COMPOSE_PROFILES="demo,prometheus") as made:
        yield made
