"""What /metrics really holds, against the golden list; and that Prometheus and a collector are told the same."""

from __future__ import annotations

import socket
import subprocess
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest

from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness import crew as harness
from tests.harness import numbers
from tests.harness.collector import Collector
from tests.harness.golden import DAEMON, LEADER, RESOURCES, STANDBY, elsewhere, golden, scraped
from tests.harness.local import nodes, pods
from tests.harness.programs import program
from tests.harness.replicas import STEADY, ask
from tests.harness.serving import Stream, dialled, enter, listens
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(300)]

LONG = 90.0
PODS = 200
"""Of 10 cycles one is measured step by step."""

PAGES = ("/healthz", "/livez", "/readyz")
ROLES = (LEADER, STANDBY, DAEMON, RESOURCES)

UNSTEADY = (
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "process_open_fds",
    "process_threads",
    "informer_queued_items",
    "lockd_lease_remaining_seconds",
    "lockd_watch_lag_seconds",
)
"""Go up and down by themselves. All else stays or only grows while no pod comes."""


def lacks(role, text):
    """What a scrape lacks of what its role promises."""
    return set(golden(role)) - set(scraped(text)) - set(elsewhere())


def until_whole(role, port, path="/metrics"):
    """A scrape with all that the role promises."""
    with suppress(AssertionError):  # what is lacking says more
        eventually(lambda: not lacks(role, ask(port, path).body), within=LONG)
    text = ask(port, path).body
    assert lacks(role, text) == set()
    return text


@dataclass(frozen=True)
class Told:
    """Scrapes by role; and of the leader one before an export and one after it."""

    scrapes: dict[str, str]
    before: str
    exported: object
    after: str


@pytest.fixture(scope="module")
def told(etcd, tmp_path_factory):
    folder, prefix = tmp_path_factory.mktemp("metrics"), f"/test-{uuid.uuid4().hex[:12]}"
    with Collector() as collector, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", collector.endpoint)
        patch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "500")
        with harness.crew(etcd.connection, prefix, folder) as crew, daemon(etcd, prefix, folder) as port:
            leader, standby = hand_off(crew)
            scrapes = {LEADER: until_whole(LEADER, leader.port), STANDBY: until_whole(STANDBY, standby.port)}
            scrapes[RESOURCES] = until_whole(RESOURCES, leader.port, "/metrics/resources")
            scrapes[DAEMON] = until_whole(DAEMON, port)
            before, known = leader.get("/metrics").body, len(numbers.exports(collector.requests, leader.identity))
            # The first that arrives from now on may have been collected before.
            new = eventually(
                lambda: numbers.exports(list(collector.requests), leader.identity)[known + 1 :],
                within=LONG,
                what="another export",
            )
            yield Told(scrapes, before, new[0], leader.get("/metrics").body)


def hand_off(crew):
    """A leader that took over and has done all that metrics tell of, and a standby."""
    crew.timing = STEADY
    first = crew.start("first")
    crew.until_leads(first, within=LONG)
    others = crew.start("second"), crew.start("third")
    crew.until_ready(*others, within=LONG)
    first.terminate()
    assert first.wait_for_end(LONG) == 0
    leader = eventually(lambda: next((each for each in others if each.leads), None), within=LONG, what="a successor")
    standby = next(each for each in others if each is not leader)
    crew.create((*nodes(3), *pods(0, PODS), *harness.pod("big", cpu="1000")))
    limited = {"name": "main", "image": "app", "resources": {"limits": {"cpu": "100m"}}}
    crew.create(harness.pod("limited", containers=[limited]))
    crew.create(harness.pod("gated", schedulingGates=[{"name": "wait"}]))
    crew.until_bound(PODS + 1, within=LONG)
    crew.until_refused("big", within=LONG)
    crew.create(nodes(1, first=3))  # which might have helped
    for replica in (leader, standby):
        for page in PAGES:
            replica.get(page)
    return leader, standby


@contextmanager
def daemon(etcd, prefix, folder):
    """`lockd serve` that has led for a client, lost another and answered a call; its HTTP port."""
    path = folder / "lockd.sock"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "lockd.daemon", "serve", "--endpoints", ",".join(etcd.connection.endpoints)),
            *("--prefix", f"{prefix}-served", "--listen", f"unix:{path}", "--http-listen", f"127.0.0.1:{port}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: listens(path), within=LONG, what="it listens")
        with dialled(f"unix:{path}") as channel, Stream(channel, enter("job")) as one:
            token = one.wait("leading", within=LONG).fencing_token
            request = pb.CheckRequest(lock=pb.Lock(name="job"), fencing_token=token)
            assert LockServiceStub(channel).Check(request, timeout=LONG, wait_for_ready=True).newest
            for page in PAGES:
                ask(port, page)
            yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("role", ROLES)
def test_a_scrape_holds_what_the_golden_list_says_and_nothing_else(told, role):
    shown, listed = scraped(told.scrapes[role]), golden(role)
    assert set(shown) - set(listed) == set(), "new: list it in tests/golden/metrics.yaml and docs/telemetry.md"
    assert shown == {name: listed[name] for name in shown}
    assert set(listed) - set(shown) <= set(elsewhere())


@pytest.mark.parametrize("role", ROLES)
def test_promtool_finds_no_fault_with_a_scrape(told, role):
    command = [program("promtool", package="prometheus"), "check", "metrics"]
    done = subprocess.run(command, input=told.scrapes[role], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_collector_is_told_what_prometheus_is(told):
    before, after = numbers.of_scrape(told.before), numbers.of_scrape(told.after)
    exported = numbers.of_export(told.exported)
    assert set(before) <= set(exported) <= set(after)
    wrong = {
        (name, labels): (value, exported[name].get(labels), after[name][labels])
        for name, series in before.items()
        if name not in UNSTEADY
        for labels, value in series.items()
        if not value <= exported[name].get(labels, -1.0) <= after[name][labels]
    }
    assert wrong == {}
