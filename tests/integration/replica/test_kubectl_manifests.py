"""What kubectl gives of a whole cluster, applied as it is: it reads back the same, and what was pending is bound."""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from click.testing import CliRunner

from replica.binding import MOST_BYTES
from replica.ctl.main import main
from tests.harness import kubectl

pytestmark = pytest.mark.etcd

NODES, RUNNING, PENDING = 4, 8, 120


@pytest.fixture
def ctl(etcd, prefix):
    def run(*words, stdin=None):
        connected = ["--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix]
        found = CliRunner().invoke(main, [*words, *connected], input=stdin)
        assert (found.exit_code, found.stderr) == (0, ""), found.output
        return found.stdout

    return run


def bare(item):
    """An object without what a scheduler says of it: its status and node."""
    document = copy.deepcopy(item)
    document.pop("status", None)
    document["spec"].pop("nodeName", None)
    return document


def test_a_whole_cluster(crew, ctl):
    nodes = [kubectl.node(number) for number in range(NODES)]
    running = [kubectl.pod(number, on=nodes[number % NODES]["metadata"]["name"]) for number in range(RUNNING)]
    pending = [kubectl.pod(number) for number in range(RUNNING, RUNNING + PENDING)]
    text = kubectl.listing([*nodes, *running, *pending])
    assert 12_000 < len(kubectl.listing(pending[:1])) < 16_000
    # More than one transaction takes.
    assert sum(len(json.dumps(each, separators=(",", ":"))) for each in pending) > MOST_BYTES

    lines = ctl("apply", "-f", "-", stdin=text).splitlines()
    assert len(lines) == NODES + RUNNING + PENDING
    assert {line.split()[-1] for line in lines} == {"created"}
    # Read back before anybody has done anything: all of it but what each scheduler says for itself.
    back = json.loads(ctl("get", "nodes,pods", "-A", "-o", "json"))["items"]
    given = {each["metadata"]["uid"]: each for each in (*nodes, *running, *pending)}
    assert {each["metadata"]["uid"]: bare(each) for each in back} == {uid: bare(each) for uid, each in given.items()}
    for each in back:
        status = {name: value for name, value in each["status"].items() if name not in {"fencingToken", "conditions"}}
        before = given[each["metadata"]["uid"]]["status"]
        assert status == {name: value for name, value in before.items() if name != "conditions"}

    crew.join("r1")
    crew.until_bound(RUNNING + PENDING, within=60.0)
    crew.assert_sound(bound=RUNNING + PENDING)
    shown = ctl("get", "nodes,pods", "-A", "-o", "yaml")
    back = yaml.load(shown, Loader=yaml.CSafeLoader)["items"]
    assert {each["metadata"]["uid"]: bare(each) for each in back} == {uid: bare(each) for uid, each in given.items()}
    assert all(each["spec"]["nodeName"] for each in back if each["kind"] == "Pod")
    # Neither the old file nor what was read back changes anything.
    for again in (text, shown):
        assert {line.split()[-1] for line in ctl("apply", "-f", "-", stdin=again).splitlines()} == {"unchanged"}
