"""`chaosctl hurt` and `run` on the cluster in Docker, as on somebody's own project."""

import json
import re

import pytest

from tests.harness.engine import ROOT, WITHIN, chaosctl
from tools.engine import docker

pytestmark = [pytest.mark.compose, pytest.mark.timeout(2 * WITHIN)]


def hurt(cluster, *words):
    said = chaosctl("hurt", *words, f"--project={cluster.project}", "-o", "json")
    assert said.code == 0, said.stderr
    return json.loads(said.stdout)


def allowed(cluster, *, word="put"):
    key = ("/lockd/chaos-allowed", *(["yes"] if word == "put" else []))
    cluster.run(cluster.containers()["etcd-1"], "etcdctl", word, *key)


def test_a_fault_of_etcd_is_refused_until_its_owner_allows_it(cluster):
    allowed(cluster, word="del")
    said = chaosctl("hurt", "etcd-follower", "--pause", "1s", f"--project={cluster.project}")
    assert said.code == 1
    assert said.stderr.startswith("error: /lockd/chaos-allowed is not there, so faults are not allowed")
    assert said.stderr.count("\n") == 1
    allowed(cluster)
    done = hurt(cluster, "etcd-follower", "--pause", "1s")
    assert "docker told pause at " in done["proof"]
    assert "goes on" in done["healing"]


def test_the_leader_of_a_project_is_killed_and_comes_back(cluster):
    cluster.whole()
    leader = cluster.leader()
    done = hurt(cluster, "leader", "--kill")
    assert [each["name"] for each in done["targets"]] == [leader.service]
    assert "docker told die at " in done["proof"]
    assert f"{leader.service} came back as pid" in done["healing"]
    cluster.whole()


def test_a_leader_off_all_networks_is_replaced_and_joins_again(cluster):
    cluster.whole()
    leader = cluster.leader()
    done = hurt(cluster, "leader", "--isolate", "--for", "20s")  # more than a lease
    assert "is in no network" in done["proof"]
    assert "again" in done["healing"]
    assert cluster.leader().id != leader.id
    cluster.whole()


def test_a_project_without_labels_is_one_line(cluster):
    name = f"{cluster.project}-plain"
    labels = ("--label", f"com.docker.compose.project={name}", "--label", "com.docker.compose.service=web")
    made = docker("run", "--detach", *labels, f"--name={name}", "lockd:local", "sleep", "100").strip()
    try:
        said = chaosctl("hurt", "leader", "--kill", f"--project={name}")
    finally:
        docker("rm", "--force", made)
    assert said.code == 2
    assert said.stderr.startswith(f"error: no container of the project '{name}' is labelled as a replica: give its")
    assert said.stderr.endswith("(services here: web)\n")


def test_a_file_names_its_project(cluster):
    file = ROOT / "compose" / "docker-compose.yml"
    said = chaosctl("hurt", "standby", "--pause", "1s", f"--compose-file={file}")
    assert said.code == 0, said.stderr


def test_a_run_makes_a_project_of_its_own_and_leaves_nothing(cluster):
    said = chaosctl("run", "kill-leader", "--backend=compose", "--trials=2", "-o", "json")
    print(said.stdout)
    assert said.code == 0, said.stderr
    assert docker("ps", "--all", "--quiet", "--filter", "name=lockd-chaos") == ""
    assert docker("network", "ls", "--quiet", "--filter", "name=lockd-chaos") == ""


def test_a_wrong_image_is_one_line(cluster, tmp_path):
    wrong = cluster.inspect(cluster.containers()["etcd-1"])["Image"]
    said = chaosctl("run", "kill-leader", "--backend=compose", LOCKD_IMAGE=wrong, TMPDIR=str(tmp_path))
    assert said.code in {1, 2}
    problem = [line for line in said.stderr.splitlines() if line.startswith("error: ")]
    assert len(problem) == 1
    assert "LOCKD_IMAGE" in problem[0]
    assert docker("ps", "--all", "--quiet", "--filter", "name=lockd-chaos") == ""


def test_a_scenario_is_run_on_a_project_that_stays_and_leaves_nothing_in_it(cluster):
    cluster.whole()
    allowed(cluster)
    said = chaosctl("run", "kill-leader", f"--project={cluster.project}", "--trials=1", "-o", "json")
    assert said.code == 0, f"{said.stdout[-2000:]}\n{said.stderr}"
    cluster.whole()
    pods = cluster.run(cluster.replicas()[0], "replicactl", "get", "pods", "-n", "chaos", "-o", "name")
    assert re.search(r"^pod/pod-\d{6}$", pods, re.MULTILINE) is None  # those of the demo have more in their names
