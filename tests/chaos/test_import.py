"""A trace is imported while leaders are killed: every pod is bound once, or left pending because no node takes it."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.auditing import audited
from replica.api.codec import decode
from replica.api.keys import kind_prefix
from replica.api.kinds import NODE, POD
from replica.ctl.imports.openb import MODEL, read_trace
from tests.harness.local import CLOCK, local
from tests.harness.openb import write_trace
from tests.harness.wait import eventually

NODES, PODS = 200, 3000
REPLICACTL = Path(sys.executable).with_name("replicactl")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_trace_is_imported_while_leaders_are_killed(tmp_path):
    draw = random.Random(7)  # noqa: S311 - the same trace each time
    nodes, pods = write_trace(tmp_path, draw, nodes=NODES, pods=PODS)
    with local(tmp_path / "cluster") as cluster:
        cluster.leader()
        words = ["import", "openb", "--nodes", str(nodes), "--pods", str(pods), "--prefix", cluster.plan.prefix]
        words += ["--endpoints", ",".join(cluster.gateway.connection.endpoints)]
        importing = subprocess.Popen([REPLICACTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for least in (300, 1000):
            eventually(lambda least=least: cluster.bound() >= least, within=90.0)
            leader = cluster.leader()
            cluster.cluster.kill(leader)
            cluster.leader(unlike=leader.identity)
        said, complained = importing.communicate(timeout=60.0)
        assert (importing.returncode, complained) == (0, "")
        assert said.splitlines() == [f"{NODES} nodes created", f"{PODS + 1} pods created"]
        report = audited(cluster.gateway, cluster.plan.prefix, wait=120.0, clock=CLOCK)
        document = report.document()
        assert document["violations"] == []
        assert not document["incomplete"]
        found = document["pods"]
        assert found["bound"] + found["pending"] == PODS + 1
        assert (found["lost"], found["double_bound"], found["bound_by_user"]) == (0, 0, 0)
        assert document["nodes"] == {"count": NODES, "overcommitted": 0}
        assert len(document["terms"]) >= 3
        unplaced = document["unplaced"]
        # The trace asks for more than there is, so both happen.
        assert found["bound"] > 1000
        assert len(unplaced) == found["pending"] > 1
        for each in unplaced:
            assert re.fullmatch(rf"0/{NODES} nodes are available: .+\.", each["message"]), each
            assert (each["fits"], each["unjudged"]) == (None, None)
            assert each["reasons"]
        (ancient,) = [each for each in unplaced if each["key"].endswith("/pod-of-another-age")]
        assert f"{NODES} node(s) didn't match Pod's node affinity/selector" in ancient["message"]
        _each_pod_has_the_model_it_asked_for(cluster, nodes, pods)


def _each_pod_has_the_model_it_asked_for(cluster, nodes, pods):
    wanted = {}
    for draft in read_trace(nodes, pods, namespace="default"):
        affinity = draft.document.get("spec", {}).get("affinity")
        if affinity is not None:
            terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            wanted[draft.name] = terms[0]["matchExpressions"][0]["values"]

    def stored(kind):
        listing = cluster.gateway.list(kind_prefix(cluster.plan.prefix, kind), timeout=10.0)
        return [decode(kind, kv) for kv in listing.kvs]

    models = {node.name: node.labels.get(MODEL, "") for node in stored(NODE)}
    placed = {pod.name: models[pod.node] for pod in stored(POD) if pod.node and pod.name in wanted}
    assert placed
    assert {name: model for name, model in placed.items() if model not in wanted[name]} == {}
