"""The engine without Docker does what Docker does: tests/compose/test_engine.py asks the same of that."""

import pytest

from chaos.compose.engine import Event
from tests.harness.containers import FakeEngine, container
from tests.harness.engine_contract import EngineContract


class TestWithoutDocker(EngineContract):
    @pytest.fixture
    def engine(self):
        return FakeEngine()

    @pytest.fixture
    def running(self, engine):
        made = container("web", "replica")
        engine.add(made)
        return made

    @pytest.fixture
    def crash(self, engine):
        return lambda running: engine.crash(running.id, 137)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {
                "Type": "container",
                "Action": "die",
                "Actor": {"ID": "c", "Attributes": {"exitCode": "137"}},
                "timeNano": 7,
            },
            Event("container", "die", "c", 7, exit_code=137),
        ),
        (
            {"Type": "container", "Action": "exec_start: sh -c true", "Actor": {"ID": "c"}, "timeNano": 8},
            Event("container", "exec_start", "c", 8),
        ),
        (
            {
                "Type": "network",
                "Action": "disconnect",
                "Actor": {"ID": "n", "Attributes": {"container": "c", "name": "p_default"}},
                "timeNano": 9,
            },
            Event("network", "disconnect", "c", 9, network="p_default"),
        ),
        ({"Type": "image", "Action": "pull"}, None),
    ],
)
def test_what_docker_tells_is_read(document, expected):
    assert Event.of(document) == expected
