from __future__ import annotations

import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.node_ports import REASON, NodePorts, after_pod
from replica.queue.hints import Hint
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod

PLUGIN = NodePorts()


def port(number=80, ip="", protocol="TCP"):
    return {"containerPort": 1, "hostPort": number, "hostIP": ip, "protocol": protocol}


def asks(*ports, **spec):
    return pod(containers=[{"name": "c", "ports": list(ports)}], **spec)


def refused(ask, *placed):
    view = table_of([node("a"), node("b")], [("a", each) for each in placed]).snapshot()
    found = refusals(PLUGIN, ask, view)
    assert "b" not in found
    assert PLUGIN.filter_row(CycleState(), ask, view, view.index["a"]) is not bool(found)
    return found.get("a", [])


@pytest.mark.parametrize(
    ("wanted", "taken", "meets"),
    [
        ([port()], [], False),
        ([port()], [port()], True),
        ([port()], [port(81)], False),
        ([port(0)], [port(0)], False),
        ([port()], [port(protocol="UDP")], False),
        ([port(protocol="UDP")], [port(protocol="UDP")], True),
        ([port(protocol="SCTP")], [port(protocol="UDP")], False),
        ([port(protocol="")], [port(protocol="TCP")], True),
        ([port(ip="10.0.0.1")], [port(ip="10.0.0.1")], True),
        ([port(ip="10.0.0.1")], [port(ip="10.0.0.2")], False),
        ([port(ip="10.0.0.1")], [port(ip="127.0.0.1")], False),
        # Every address meets all of them, on whichever side it is.
        ([port(ip="0.0.0.0")], [port(ip="10.0.0.1")], True),
        ([port(ip="10.0.0.1")], [port(ip="0.0.0.0")], True),
        ([port(ip="")], [port(ip="10.0.0.1")], True),
        ([port(ip="10.0.0.1")], [port(ip="")], True),
        ([port(ip="0.0.0.0")], [port(ip="10.0.0.1", protocol="UDP")], False),
        # The address of all in IPv6 is one like others, as in kube-scheduler.
        ([port(ip="::")], [port(ip="10.0.0.1")], False),
        ([port(81), port(80)], [port(80), port(82)], True),
        ([port(81), port(83)], [port(80), port(82)], False),
        ([port(ip="10.0.0.1")], [port(ip="10.0.0.2"), port(ip="10.0.0.1")], True),
    ],
)
def test_ports_that_meet(wanted, taken, meets):
    assert refused(asks(*wanted), asks(*taken)) == ([REASON] if meets else [])


def test_sidecars_keep_their_ports_and_init_containers_give_them_back():
    init = {"name": "i", "ports": [port()]}
    sidecar = {**init, "restartPolicy": "Always"}
    assert refused(asks(port()), pod(initContainers=[init])) == []
    assert refused(asks(port()), pod(initContainers=[sidecar])) == [REASON]
    assert refused(pod(initContainers=[sidecar]), asks(port())) == [REASON]


def test_on_the_hosts_network_every_port_counts():
    host = pod(hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80}]}])
    assert refused(asks(port()), host) == [REASON]


def test_preemption_may_free_a_port():
    view = table_of([node("a")], [("a", asks(port()))]).snapshot()
    assert [refusal.code for refusal in PLUGIN.explain(CycleState(), asks(port()), view)] == [Code.UNSCHEDULABLE]


def test_a_pod_without_ports_is_not_filtered():
    view = table_of([node("a")]).snapshot()
    assert PLUGIN.pre_filter(CycleState(), pod(), view).status.code is Code.SKIP
    assert PLUGIN.pre_filter(CycleState(), asks(port()), view).status.code is Code.SUCCESS
    assert PLUGIN.filter(CycleState(), asks(port()), view) is None


def test_ports_are_free_again_with_their_last_pod():
    one, two = asks(port(), uid="one"), asks(port(), port(81), uid="two")
    table = table_of([node("a")], [("a", one), ("a", two)])
    table.remove_pod("a", "two")
    assert set(refusals(PLUGIN, asks(port()), table.snapshot())) == {"a"}
    assert refusals(PLUGIN, asks(port(81)), table.snapshot()) == {}
    table.remove_pod("a", "one")
    assert refusals(PLUGIN, asks(port()), table.snapshot()) == {}


def test_a_pods_ports_follow_its_node_and_not_the_row():
    table = table_of([node("a"), node("b")], [("a", asks(port()))])
    table.remove_node("a")
    table.set_node(node("c"))
    assert refusals(PLUGIN, asks(port()), table.snapshot()) == {}
    table.set_node(node("a"))
    assert set(refusals(PLUGIN, asks(port()), table.snapshot())) == {"a"}
    for number in range(100):  # the table grows
        table.set_node(node(f"n{number}"))
    assert set(refusals(PLUGIN, asks(port()), table.snapshot())) == {"a"}


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        (asks(port(), node="a"), Hint.QUEUE),
        (asks(port(ip="10.0.0.1"), node="a"), Hint.QUEUE),
        (asks(port(81), node="a"), Hint.SKIP),
        (asks(port(protocol="UDP"), node="a"), Hint.SKIP),
        (asks(node="a"), Hint.SKIP),
        (asks(port()), Hint.SKIP),
        (None, Hint.QUEUE),
    ],
)
def test_a_pod_that_is_gone_helps_if_it_had_one_of_the_ports(gone, hint):
    assert after_pod(asks(port(), port(82)), gone, None) is hint
