from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockd.ports import KeyValue
from replica.api.codec import (
    DECODERS,
    Undecodable,
    as_bound,
    bound,
    decode,
    decode_pod,
    encode,
    status_of,
    with_status,
)
from replica.api.events import NOTE_LIMIT, Event, Reference, Series
from replica.api.kinds import (
    DISRUPTION_BUDGET,
    EVENT,
    KINDS,
    NAMESPACE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
)
from replica.api.labels import Labels
from replica.api.podspec import PodSpec
from replica.api.priority import Classes, PriorityClass
from replica.api.status import NO_STATUS, unschedulable
from replica.api.taints import Taint
from replica.v1.envelope_pb2 import Envelope

AT = "2026-01-31T12:00:00Z"
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1", "creationTimestamp": AT, "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]},
}


def stored(manifest, kind=POD, path="shop/web-1", **envelope) -> KeyValue:
    raw = json.dumps(manifest).encode()
    return KeyValue(f"/lockd/{kind.plural}/{path}", encode(raw, **envelope), 12, create_revision=7)


def test_a_pod():
    pod = decode_pod(stored(MANIFEST, token=9))
    assert (pod.namespace, pod.name, pod.path, pod.uid) == ("shop", "web-1", "shop/web-1", "u1")
    assert (pod.mod_revision, pod.create_revision, pod.token) == (12, 7, 9)
    assert pod.labels == {"app": "web"}
    assert (pod.created, pod.started) == (AT, AT)
    assert dict(pod.spec.requests) == {"cpu": 100, "pods": 1}
    assert pod.pending
    assert pod.value is not None


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ([], ""),
        (None, ""),
        ([{"kind": "Node", "name": "n", "uid": "u"}], ""),
        (
            [{"kind": "Node", "name": "n", "uid": "u"}, {"kind": "Set", "name": "s", "uid": "v", "controller": True}],
            "Set/s/v",
        ),
        ([{"kind": "Set", "name": "s", "uid": "v", "controller": True, "blockOwnerDeletion": None}], "Set/s/v"),
        ([{"kind": "Set", "name": "s", "uid": None, "controller": True}], "Set/s/"),
    ],
)
def test_a_pod_s_owner_is_what_controls_it(owners, expected):
    metadata = {**MANIFEST["metadata"], "ownerReferences": owners}
    assert decode_pod(stored({**MANIFEST, "metadata": metadata})).owner == expected


@pytest.mark.parametrize("owners", ["nobody", [7], [{"kind": 7, "controller": True}]])
def test_owners_that_are_none_are_refused(owners):
    with pytest.raises(Undecodable):
        decode_pod(stored({**MANIFEST, "metadata": {**MANIFEST["metadata"], "ownerReferences": owners}}))


def test_the_key_names_the_object():
    pod = decode_pod(stored(MANIFEST, path="other/name"))
    assert pod.path == "other/name"


def test_a_bind_copies_the_manifest():
    kv = stored(MANIFEST)
    value = bound(kv.value, "node-1", 42, at=AT)
    assert value == bound(kv.value, "node-1", 42, at=AT)
    before, after = Envelope.FromString(kv.value), Envelope.FromString(value)
    assert after.manifest == before.manifest
    pod = decode_pod(KeyValue(kv.key, value, 13, create_revision=7))
    assert (pod.node, pod.token, pod.pending, pod.value) == ("node-1", 42, False, None)
    assert pod == decode_pod(kv).on("node-1", mod_revision=13, token=42)
    assert status_of(value).scheduled.status == "True"


def test_a_bind_ends_what_was_said_before():
    kv = stored(MANIFEST)
    refused = with_status(kv.value, unschedulable("0/1 nodes", at=AT, nominated="node-2"), 5)
    pod = decode_pod(KeyValue(kv.key, refused, 13))
    assert (pod.nominated, pod.token, pod.pending) == ("node-2", 5, True)
    condition = status_of(refused).scheduled
    assert (condition.status, condition.reason, condition.message) == ("False", "Unschedulable", "0/1 nodes")
    value = bound(refused, "node-1", 6, at=AT)
    assert decode_pod(KeyValue(kv.key, value, 14)).token == 6
    assert decode_pod(KeyValue(kv.key, with_status(value, NO_STATUS, 7), 15)).token == 7
    assert status_of(value).nominated_node_name == ""
    assert len(status_of(value).conditions) == 1
    assert status_of(with_status(value, NO_STATUS, 6)) == NO_STATUS


def test_a_bound_pod_is_told_without_its_manifest_as_decoding_it_gives():
    kv = stored(MANIFEST)
    refused = KeyValue(kv.key, with_status(kv.value, unschedulable("0/1 nodes", at=AT, nominated="node-2"), 5), 13, 7)
    for before in (kv, refused):
        now = KeyValue(kv.key, bound(before.value, "node-1", 6, at=AT), 14, 7)
        assert as_bound(decode_pod(before), now) == decode_pod(now)


def test_what_is_no_bind_has_to_be_decoded():
    kv = stored(MANIFEST)
    known = decode_pod(kv)
    assert as_bound(known, kv) is None
    changed = stored({**MANIFEST, "spec": {"nodeName": "x"}}, node="node-1")
    assert as_bound(known, changed) is None
    now = KeyValue(kv.key, bound(kv.value, "node-1", 6, at=AT), 14, 7)
    assert as_bound(decode_pod(now), now) is None, "nothing is kept of a bound pod to compare with"
    ending = stored({**MANIFEST, "metadata": {**MANIFEST["metadata"], "deletionTimestamp": AT}})
    assert as_bound(decode_pod(ending), KeyValue(kv.key, bound(ending.value, "node-1", 6, at=AT), 14, 7)) is None
    with pytest.raises(Undecodable):
        as_bound(known, KeyValue(kv.key, b"\xff\xff", 14, 7))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_ended_pod(phase):
    pod = decode_pod(stored({**MANIFEST, "status": {"phase": phase, "startTime": "2026-02-01T00:00:00Z"}}))
    assert pod.terminal
    assert not pod.pending
    assert pod.value is None
    assert pod.started == "2026-02-01T00:00:00Z"


def test_equal_labels_are_one_object_that_cannot_change():
    one, two = decode_pod(stored(MANIFEST)), decode_pod(stored(MANIFEST, path="shop/web-2"))
    assert one.labels is two.labels
    assert hash(Labels(a="1", b="2")) == hash(Labels(b="2", a="1"))
    with pytest.raises(TypeError, match="can't be changed"):
        one.labels["app"] = "db"
    with pytest.raises(AttributeError):
        one.node = "n"


@pytest.mark.parametrize(
    "value",
    [
        b"k8s\x00\n\x09",
        b"{}",
        b"\xff",
        b"",
        encode(b"no JSON"),
        encode(b"[]"),
        encode(b'{"spec": 7}'),
        encode(b'{"metadata": {"uid": 7}}'),
        encode(b'{"spec": {"containers": [{"resources": {"requests": {"cpu": "1x"}}}]}}'),
        encode(b'{"metadata": {"labels": {"a": 1}}}'),
        encode(b'{"metadata": {"uid": "\xff"}}'),
        encode(b'{"a":' * 5000),
    ],
)
def test_what_is_no_pod_says_so(value):
    with pytest.raises(Undecodable) as caught:
        decode_pod(KeyValue("/lockd/pods/shop/x", value, 1))
    assert caught.value.key == "/lockd/pods/shop/x"
    assert "\n" not in caught.value.problem


@given(st.binary(max_size=60), st.sampled_from(KINDS))
def test_any_bytes_decode_or_are_refused(raw, kind):
    for value in (raw, encode(raw)):
        with suppress(Undecodable):  # and nothing else
            DECODERS[kind](KeyValue(f"/lockd/{kind.plural}/a/b", value, 1))


def test_a_node():
    node = decode(
        NODE,
        stored(
            {
                "metadata": {"labels": None, "creationTimestamp": None},
                "spec": {"unschedulable": True, "taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]},
                "status": {
                    "capacity": {"cpu": "8"},
                    "allocatable": {"cpu": 4, "memory": "1Ki", "pods": "10"},
                    "images": [{"names": ["a", "b"], "sizeBytes": 5}],
                    "conditions": [{"type": "Ready", "status": "Unknown"}],
                },
            },
            NODE,
            "n1",
        ),
    )
    assert (node.name, node.namespace, node.path) == ("n1", "", "n1")
    assert node.allocatable == (("cpu", 4000), ("memory", 1024), ("pods", 10))
    assert [str(taint) for taint in node.taints] == ["gpu=a:NoSchedule"]
    assert node.effective_taints[1] == Taint("node.kubernetes.io/unschedulable", "NoSchedule")
    assert node.images == {"a": 5, "b": 5}
    assert not node.ready


def test_a_bare_node_takes_as_many_pods_as_a_kubelet_says():
    node = decode(NODE, stored({"status": {"capacity": {"cpu": "2"}}}, NODE, "n1"))
    assert dict(node.allocatable) == {"cpu": 2000, "pods": 110}
    assert node.ready
    assert node.effective_taints == ()


def test_the_rest():
    group = decode(POD_GROUP, stored({"spec": {"minMember": 3, "scheduleTimeoutSeconds": 10}}, POD_GROUP, "a/g"))
    assert (group.min_member, group.timeout, group.path) == (3, 10, "a/g")
    budget = decode(
        DISRUPTION_BUDGET,
        stored({"spec": {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": "50%"}}, DISRUPTION_BUDGET, "a/b"),
    )
    assert (budget.selector.match_labels, budget.max_unavailable, budget.min_available) == ({"a": "b"}, "50%", None)
    namespace = decode(NAMESPACE, stored({"metadata": {"labels": {"team": "x"}}}, NAMESPACE, "shop"))
    assert (namespace.name, namespace.labels) == ("shop", {"team": "x"})


def test_priorities():
    high = decode(PRIORITY_CLASS, stored({"value": 7, "preemptionPolicy": "Never"}, PRIORITY_CLASS, "high"))
    low = decode(PRIORITY_CLASS, stored({"value": 2, "globalDefault": True}, PRIORITY_CLASS, "low"))
    assert (high.value, high.default, high.preemption) == (7, False, "Never")
    classes = Classes([high, low, PriorityClass(name="other", value=3, default=True)])
    assert classes.default is low

    def priority(**fields):
        return classes.priority(PodSpec(**fields))

    assert priority(priority=5, priority_class="high") == 5
    assert priority(priority_class="high") == 7
    assert priority(priority_class="system-node-critical") == 2_000_001_000
    assert priority(priority_class="gone") == 0
    assert priority() == 2
    assert Classes([high]).priority(PodSpec()) == 0
    assert not classes.preempts(PodSpec(priority_class="high"))
    assert classes.preempts(PodSpec(priority_class="high", preemption="PreemptLowerPriority"))
    assert not classes.preempts(PodSpec(preemption="Never"))
    assert classes.preempts(PodSpec(priority_class="gone"))


def test_an_event_reads_back():
    event = Event(
        name="5-1",
        namespace="shop",
        uid="e1",
        created=AT,
        regarding=Reference(kind="Pod", namespace="shop", name="web-1", uid="u1"),
        reason="FailedScheduling",
        note="0/1 nodes are available",
        type="Warning",
        action="Scheduling",
        controller="default-scheduler",
        instance="host_1",
        time=AT,
        series=Series(3, "2026-01-31T13:00:00Z"),
    )
    kv = KeyValue("/lockd/events/shop/5-1", encode(event.manifest(), token=5), 3)
    found = decode(EVENT, kv)
    assert found == event.at(3, 5)
    assert (found.count, found.last_seen) == (3, "2026-01-31T13:00:00Z")


def test_an_event_in_the_older_form():
    found = decode(
        EVENT,
        stored(
            {
                "involvedObject": {"kind": "Pod", "name": "a", "fieldPath": "x"},
                "message": "hello",
                "reason": "Pulled",
                "source": {"component": "kubelet", "host": "n1"},
                "firstTimestamp": AT,
                "lastTimestamp": "2026-01-31T12:30:00Z",
                "eventTime": None,
                "count": 4,
            },
            EVENT,
            "a/e",
        ),
    )
    assert (found.regarding.name, found.note, found.controller, found.instance) == ("a", "hello", "kubelet", "n1")
    assert (found.count, found.time, found.last_seen) == (4, AT, "2026-01-31T12:30:00Z")


@given(st.text(max_size=2 * NOTE_LIMIT))
def test_a_long_note_is_cut_at_a_character(note):
    event = Event(name="a", note=note)
    kept = json.loads(event.manifest())["note"]
    assert len(kept.encode()) <= NOTE_LIMIT
    assert kept == note or (kept.endswith("...") and note.startswith(kept[:-3]))
