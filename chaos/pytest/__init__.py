"""The pytest plugin: clusters that tests may hurt, and what is measured and judged of them. See docs/pytest.md.

It is loaded in every run of pytest where this package is installed, so it imports nothing that takes time until a test
asks for one of its fixtures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chaos.pytest import options
from chaos.pytest.reporting import SESSION, report_failure, summarize

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from chaos.pytest.case import Case
    from chaos.pytest.cluster import HaCluster
    from chaos.pytest.failover import Failover, MeasureFailover
    from chaos.pytest.injury import Hurt, Injury
    from chaos.pytest.judging import AssertNoStaleWrites, StaleWrites
    from chaos.pytest.leading import WaitForLeader
    from chaos.pytest.session import Session

__all__ = [
    "AssertNoStaleWrites",
    "Failover",
    "HaCluster",
    "Hurt",
    "Injury",
    "MeasureFailover",
    "StaleWrites",
    "WaitForLeader",
]

_TYPES = {
    "AssertNoStaleWrites": "judging",
    "Failover": "failover",
    "HaCluster": "cluster",
    "Hurt": "injury",
    "Injury": "injury",
    "MeasureFailover": "failover",
    "StaleWrites": "judging",
    "WaitForLeader": "leading",
}


def __getattr__(name: str) -> Any:
    """The types of the fixtures, imported when somebody names one."""
    if name not in _TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - nobody pays for it who doesn't ask

    return getattr(importlib.import_module(f"{__name__}.{_TYPES[name]}"), name)


# --- hooks


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_configure(config: pytest.Config) -> None:
    options.register(config)


def pytest_itemcollected(item: pytest.Item) -> None:
    """With `--dist loadgroup` of pytest-xdist all tests of clusters go to one worker, which shares them."""
    if (
        item.config.pluginmanager.hasplugin("xdist")
        and "_ha_case" in getattr(item, "fixturenames", ())
        and item.get_closest_marker("xdist_group") is None
    ):
        item.add_marker(pytest.mark.xdist_group(options.MARK))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report_failure(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    summarize(terminalreporter)


# --- fixtures


@pytest.fixture(scope="session")
def _ha_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The clusters of this process, ended in the end."""
    from chaos.pytest.session import begun  # noqa: PLC0415 - the first that takes time

    config = request.config
    session = config.stash[SESSION] = begun(config, tmp_path_factory)
    config.pluginmanager.register(session, "chaos.pytest.session")  # it hears of Ctrl-C
    yield session
    session.close()


@pytest.fixture
def _ha_case(request: pytest.FixtureRequest, _ha_session: Session) -> Iterator[Case]:
    """What this test does to its cluster, undone in the end."""
    from chaos.pytest.lending import lent  # noqa: PLC0415 - as above

    with lent(request.node, _ha_session) as case:
        yield case


@pytest.fixture
def ha_cluster(_ha_case: Case) -> HaCluster:
    """A highly available cluster, well at the beginning of the test; shared, healed and verified after it."""
    return _ha_case.cluster


@pytest.fixture
def hurt(_ha_case: Case) -> Hurt:
    """Does a fault to the cluster: `hurt("kill", "leader")`, `with hurt("pause", "leader"): ...`."""
    return _ha_case.hurt


@pytest.fixture
def wait_for_leader(_ha_case: Case) -> WaitForLeader:
    """Waits until somebody leads: `wait_for_leader()`, `wait_for_leader(other_than=old)`."""
    return _ha_case.wait_for_leader


@pytest.fixture
def measure_failover(_ha_case: Case) -> MeasureFailover:
    """Hurts the leader, and tells how long each phase took until another leads: `measure_failover("kill").elected`."""
    return _ha_case.measure_failover


@pytest.fixture
def assert_no_stale_writes(_ha_case: Case) -> AssertNoStaleWrites:
    """Fails the test if etcd's history shows a write that took effect after the term of its author."""
    return _ha_case.assert_no_stale_writes
