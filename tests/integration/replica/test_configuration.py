"""A replica as a file configures it: profiles, plugins, backoff, caches that wait, and what it writes of it all."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from replica.api.codec import decode
from replica.api.kinds import EVENT
from tests.harness import crew as harness
from tests.harness.local import nodes
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

PACKING = {
    "schedulerName": "packing",
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
}
SPREADING = {"schedulerName": "spreading", "plugins": {"multiPoint": {"disabled": [{"name": "NodeUnschedulable"}]}}}


@pytest.fixture
def file(tmp_path):
    """Writes a configuration file and gives the flag that names it."""

    def write(**fields):
        path = tmp_path / "scheduler.yaml"
        path.write_text(yaml.safe_dump({**HEAD, **fields}))
        return f"--config={path}"

    return write


def test_two_profiles_in_one_replica(crew, file):
    flag = file(profiles=[PACKING, SPREADING], podMaxBackoffSeconds=30, parallelism=8)
    replica = crew.start("r", flag, "-v=4", "--scheduler-name=other")
    crew.until_leads(replica)
    crew.create(nodes(2, cpu="1", memory="1Gi"))
    for name, bound in (("packing", 2), ("spreading", 4)):
        crew.create(harness.pod(f"{name}-0", schedulerName=name, nodeName="node-0"))
        crew.create(harness.pod(f"{name}-1", schedulerName=name))
        crew.until_bound(bound)
    crew.create(harness.pod("nobodys", schedulerName="default-scheduler"))
    crew.create(harness.pod("huge", cpu="1000", schedulerName="packing"))
    crew.until_refused("huge")
    placement = crew.placement()
    assert placement["default/packing-1"] == "node-0"
    assert placement["default/spreading-1"] == "node-1"
    assert placement["default/nobodys"] == ""

    def reporters():
        found = [decode(EVENT, kv) for kv in crew.gateway.list(f"{crew.prefix}/events/", timeout=5.0).kvs]
        return {(event.regarding.name, event.controller) for event in found if event.reason != "LeaderElection"}

    want = {("packing-1", "packing"), ("spreading-1", "spreading"), ("huge", "packing")}
    eventually(lambda: reporters() == want, within=20.0, what="each profile has reported its own pods")
    configured = json.loads(replica.get("/configz").body)["componentconfig"]
    assert [profile["schedulerName"] for profile in configured["profiles"]] == ["packing", "spreading"]
    assert configured["podMaxBackoffSeconds"] == 30
    assert replica.said('FLAG: --v="4"')
    assert {line["what"].partition(":")[0] for line in replica.said("configuration changes nothing")} == {
        "parallelism",
        "--scheduler-name",
    }


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "replica", "run", "--endpoints=127.0.0.1:1", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_it_comes_to_is_written_and_reads_back_the_same(file, tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    given = file(profiles=[PACKING, SPREADING], leaderElection={"leaseDuration": "30s"}, delayCacheUntilActive=True)
    wrote = run(given, "--leader-elect-retry-period=3s", f"--write-config-to={first}")
    assert (wrote.returncode, wrote.stdout, wrote.stderr) == (0, "", "")
    assert run(f"--config={first}", f"--write-config-to={second}").returncode == 0
    assert first.read_text() == second.read_text()
    written = yaml.safe_load(first.read_text())
    assert written["leaderElection"]["leaseDuration"] == "30s"
    assert written["leaderElection"]["retryPeriod"] == "3s"
    assert written["delayCacheUntilActive"] is True
    assert {"name": "NodeName"} in written["profiles"][0]["plugins"]["multiPoint"]["enabled"]


def test_a_configuration_that_cannot_be_written_is_one_line(tmp_path):
    refused = run(f"--write-config-to={tmp_path}/no/such/folder")
    assert refused.returncode == 1
    assert (
        refused.stderr
        == f"error: --write-config-to {tmp_path}/no/such/folder: can't be written: No such file or directory\n"
    )


def test_every_problem_of_a_file_is_a_line(file):
    refused = run(
        file(podInitialBackoffSeconds=0, profiles=[{"plugins": {"score": {"enabled": [{"name": "X"}]}}}, {"x": 1}])
    )
    assert refused.returncode == 2
    lines = refused.stderr.splitlines()
    assert all(line.startswith("error: --config ") for line in lines)
    assert [line.split(": ")[2] for line in lines] == ["profiles[1].x", "podInitialBackoffSeconds"]


def test_caches_that_wait_for_the_leader(crew, file):
    flag = file(delayCacheUntilActive=True)
    leader = crew.start("a", flag)
    crew.until_leads(leader)
    standby = crew.start("b", flag)
    crew.until_ready(standby)
    crew.create(nodes(1))
    crew.create(harness.pod("first"))
    crew.until_bound(1)
    assert leader.said("caches have synced")
    assert not standby.said("caches have synced")
    leader.terminate()
    assert leader.wait_for_end(20.0) == 0
    crew.until_leads(standby)
    crew.create(harness.pod("second"))
    crew.until_bound(2)
    assert standby.said("caches have synced")
    crew.assert_sound(bound=2)
