from __future__ import annotations

import json
import re

import pytest

from component.tables import boxed, table
from lockd.errors import ConfigError
from lockd.ports import KeyValue
from replica.api.codec import bound, decode, encode, with_status
from replica.api.drafts import to_manifest
from replica.api.events import Event, Reference
from replica.api.kinds import DISRUPTION_BUDGET, EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS
from replica.api.status import SCHEDULING_GATED, unschedulable
from replica.api.times import parse_time
from replica.ctl.getting import Found, Stored, document, find, lines
from replica.ctl.store import ObjectStore
from replica.ctl.targets import Target, parse_targets, select
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

AT = "2026-01-31T12:00:00Z"
NOW = parse_time("2026-01-31T12:05:30Z")


def stored(kind, name, manifest, *, namespace="default", change=lambda value: value) -> Stored:
    full = {"metadata": {"creationTimestamp": AT}, **manifest}
    key = f"/lockd/{kind.plural}/{namespace}/{name}" if kind.namespaced else f"/lockd/{kind.plural}/{name}"
    kv = KeyValue(key, change(encode(json.dumps(full).encode())), 5, 3)
    return Stored(kind, decode(kind, kv), to_manifest(kind, kv))


def show(*objects, wide=False, namespaces=False, headers=True, prefixed=False):
    found = Found(objects[0].kind, objects, ())
    return lines(found, now=NOW, wide=wide, namespaces=namespaces, headers=headers, prefixed=prefixed)


def test_pods():
    spec = {"spec": {"containers": [{"name": "c"}, {"name": "d"}]}}
    gated = unschedulable("", at=AT, reason=SCHEDULING_GATED)
    shown = show(
        stored(POD, "wait", spec),
        stored(POD, "on", spec, change=lambda value: bound(value, "n1", 4, at=AT)),
        stored(
            POD,
            "run",
            {
                **spec,
                "status": {
                    "phase": "Running",
                    "podIP": "10.0.0.1",
                    "containerStatuses": [{"ready": True, "restartCount": 2}],
                },
            },
        ),
        stored(POD, "gate", spec, change=lambda value: with_status(value, gated, 1)),
        stored(POD, "no", spec, change=lambda v: with_status(v, unschedulable("", at=AT, nominated="n2"), 1)),
        stored(POD, "gone", {**spec, "metadata": {"deletionTimestamp": AT}}),
        wide=True,
    )
    assert shown == [
        "NAME   READY   STATUS            RESTARTS   AGE         IP         NODE     NOMINATED NODE   READINESS GATES",
        "wait   0/2     Pending           0          5m30s       <none>     <none>   <none>           <none>",
        "on     0/2     Scheduled         0          5m30s       <none>     n1       <none>           <none>",
        "run    1/2     Running           2          5m30s       10.0.0.1   <none>   <none>           <none>",
        "gate   0/2     SchedulingGated   0          5m30s       <none>     <none>   <none>           <none>",
        "no     0/2     Pending           0          5m30s       <none>     <none>   n2               <none>",
        "gone   0/2     Terminating       0          <unknown>   <none>     <none>   <none>           <none>",
    ]


def test_a_namespace_comes_first_and_headers_may_go():
    pod = stored(POD, "a", {}, namespace="shop")
    assert show(pod, namespaces=True) == [
        "NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE",
        "shop        a      0/0     Pending   0          5m30s",
    ]
    assert show(pod, headers=False, prefixed=True) == ["pod/a   0/0   Pending   0   5m30s"]


def test_nodes():
    node = {
        "metadata": {"labels": {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": ""}},
        "spec": {"unschedulable": True},
        "status": {
            "capacity": {"cpu": "1500m", "memory": "2Gi"},
            "nodeInfo": {"kubeletVersion": "v1.33"},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
            "conditions": [{"type": "Ready", "status": "False"}],
        },
    }
    assert show(stored(NODE, "n1", node), wide=True, namespaces=True) == [
        "NAME   STATUS                        ROLES   AGE         VERSION   INTERNAL-IP   EXTERNAL-IP   CPU     MEMORY",
        "n1     NotReady,SchedulingDisabled   a,b     <unknown>   v1.33     10.0.0.9      <none>        1500m   2Gi",
    ]


def test_the_other_kinds():
    assert show(stored(NAMESPACE, "shop", {}))[1] == "shop   Active   5m30s"
    assert show(stored(PRIORITY_CLASS, "high", {"value": 7}))[1].split() == [
        "high",
        "7",
        "false",
        "5m30s",
        "PreemptLowerPriority",
    ]
    assert show(stored(POD_GROUP, "gang", {"spec": {"minMember": 3}}))[0] == "NAME   MIN MEMBER   AGE"
    assert show(stored(DISRUPTION_BUDGET, "b", {"spec": {"maxUnavailable": "10%"}}))[1].split() == [
        "b",
        "N/A",
        "10%",
        "N/A",
        "5m30s",
    ]


def test_events():
    event = Event(
        name="4-1",
        namespace="default",
        created=AT,
        time=AT,
        regarding=Reference(kind="Pod", name="a"),
        reason="Scheduled",
        note="Successfully assigned\x1b[31m default/a to n1\n",
        controller="default-scheduler",
        instance="host_1",
    )
    found = stored(EVENT, "4-1", json.loads(event.manifest()))
    assert show(found) == [
        "LAST SEEN   TYPE     REASON      OBJECT   MESSAGE",
        "5m30s       Normal   Scheduled   pod/a    Successfully assigned\\x1b[31m default/a to n1",
    ]
    header, line = show(found, wide=True)
    assert [part.strip() for part in re.split(" {3,}", header)][4:6] == ["SOURCE", "MESSAGE"]
    assert "default-scheduler, host_1" in line


def test_finding():
    etcd = MemoryGateway()
    store = ObjectStore(etcd, prefix="/lockd", timeout=1.0, clock=ManualClock())
    etcd.put("/lockd/pods/default/a", encode(b'{"metadata":{"labels":{"app":"web"}}}'))
    etcd.put("/lockd/pods/default/b", encode(b"{}"))
    etcd.put("/lockd/pods/default/broken", b"\xff")
    etcd.put("/lockd/pods/shop/c", encode(b"{}"))

    def names(target, namespace, selector=None):
        found = find(store, target, namespace, select(["pods"], selector).matches)
        return [each.object.path for each in found.objects], found.problems

    everything, problems = names(Target(POD), "")
    assert everything == ["default/a", "default/b", "shop/c"]
    assert problems == ("error: /lockd/pods/default/broken: the value is no envelope of this scheduler",)
    assert names(Target(POD), "shop") == (["shop/c"], ())
    assert names(Target(POD), "default", "app")[0] == ["default/a"]
    assert names(Target(POD, ("b", "x")), "default") == (
        ["default/b"],
        ('Error from server (NotFound): pods "x" not found',),
    )


def test_events_are_shown_oldest_first():
    etcd = MemoryGateway()
    store = ObjectStore(etcd, prefix="/lockd", timeout=1.0, clock=ManualClock())
    for name, second in (("0-a", 9), ("0-b", 3)):
        etcd.put(f"/lockd/events/default/{name}", encode(b'{"eventTime":"2026-01-31T12:00:0%dZ"}' % second))
    assert [each.object.name for each in find(store, Target(EVENT), "default").objects] == ["0-b", "0-a"]


def test_documents():
    pod = stored(POD, "a", {})
    found = Found(POD, (pod,), (), revision=8)
    assert document([found], single=True) is pod.manifest
    many = document([found, Found(NODE, (), (), revision=9)], single=False)
    assert (many["kind"], many["metadata"], len(many["items"])) == ("List", {"resourceVersion": "9"}, 1)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["po"], [("pods", ())]),
        (["pods,nodes"], [("pods", ()), ("nodes", ())]),
        (["pods", "a", "b", "a"], [("pods", ("a", "b"))]),
        (["pod/a", "no/n1"], [("pods", ("a",)), ("nodes", ("n1",))]),
    ],
)
def test_words(words, expected):
    assert [(target.kind.plural, target.names) for target in parse_targets(words)] == expected


@pytest.mark.parametrize(
    ("words", "selector", "everywhere", "problem"),
    [
        ([], None, False, "name a resource type"),
        (["svc"], None, False, 'no resource type "svc"'),
        (["pods", "a/b"], None, False, '"a/b" is no name'),
        (["pods", ""], None, False, '"" is no name'),
        (["pod/"], None, False, "is not TYPE/NAME"),
        (["pod/a/b"], None, False, "is not TYPE/NAME"),
        (["pods", "a"], "x", False, "a selector can't be given with names"),
        (["pods", "a"], None, True, "across all namespaces"),
        (["pods"], "a b", False, "can't be read"),
    ],
)
def test_words_that_name_nothing(words, selector, everywhere, problem):
    with pytest.raises(ConfigError, match=problem):
        select(words, selector, everywhere=everywhere)


def test_a_node_can_be_named_in_all_namespaces():
    assert select(["nodes", "a"], everywhere=True).single
    assert not select(["nodes"]).single


def test_boxes_and_tables():
    assert boxed("A longer title", ["X", "Y"], [["1", "22"]]) == [
        "+ A longer title +",
        "| X | Y          |",
        "+---+------------+",
        "| 1 | 22         |",
        "+---+------------+",
    ]
    assert boxed("T", ["Member", "Y"], [])[0] == "+ T ---------+"
    assert table(["A", "B"], [["1", "x"], ["333", ""]]) == ["A     B", "1     x", "333"]
