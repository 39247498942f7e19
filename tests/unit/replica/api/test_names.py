from __future__ import annotations

import pytest

from replica.api.keys import ObjectKey, kind_prefix, object_key, parse_key
from replica.api.kinds import EVENT, KINDS, NODE, POD, PRIORITY_CLASS, kind_for, kind_named, kind_of_plural
from replica.api.names import label_key_problem, label_value_problem, name_problem, namespace_problem


@pytest.mark.parametrize("text", ["a", "a-b", "a.b.c", "0", "a" * 253, "node-1.example.com"])
def test_good_names(text):
    assert name_problem(text) is None


@pytest.mark.parametrize("text", ["", "A", "a/b", "-a", "a-", "a..b", ".a", "a_b", "a" * 254, "ä", "a\n", "a b"])
def test_bad_names(text):
    assert name_problem(text)


@pytest.mark.parametrize(("text", "good"), [("kube-system", True), ("a.b", False), ("", False), ("a" * 64, False)])
def test_namespaces(text, good):
    assert (namespace_problem(text) is None) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("app", True),
        ("A_b.C-1", True),
        ("example.com/app", True),
        ("", False),
        ("/app", False),
        ("example.com/", False),
        ("a/b/c", False),
        ("Example.com/app", False),
        ("a" * 64, False),
        ("-a", False),
        ("a b", False),
    ],
)
def test_label_keys(text, good):
    assert (label_key_problem(text) is None) is good


@pytest.mark.parametrize(
    ("text", "good"), [("", True), ("v1.2_x", True), ("-", False), ("a/b", False), ("a" * 64, False)]
)
def test_label_values(text, good):
    assert (label_value_problem(text) is None) is good


@pytest.mark.parametrize("kind", KINDS)
def test_keys_read_back(kind):
    namespace = "default" if kind.namespaced else ""
    key = object_key("/lockd", kind, "x.y", namespace)
    assert parse_key("/lockd", key) == ObjectKey(kind, namespace, "x.y")
    assert key.startswith(kind_prefix("/lockd", kind, namespace))
    assert key.startswith(kind_prefix("/lockd", kind))


@pytest.mark.parametrize(
    "key",
    [
        "/lockd/leases/kube-system/kube-scheduler",
        "/lockd/pods/a",
        "/lockd/pods/a/b/c",
        "/lockd/nodes/a/b",
        "/lockd/pods/a/",
        "/other/pods/a/b",
        "/lockdpods/a/b",
        "/lockd/po/a/b",
        "/lockd",
        "/lockd/nodes/",
        "/lockd/chaos-allowed",
    ],
)
def test_other_keys_are_no_objects(key):
    assert parse_key("/lockd", key) is None


@pytest.mark.parametrize(("name", "namespace"), [("a/b", "d"), ("a", "d/e"), ("", "d"), ("a", ""), ("a" * 254, "d")])
def test_a_key_is_never_another_objects(name, namespace):
    with pytest.raises(ValueError, match="name is 1 to 253 bytes"):
        object_key("/lockd", POD, name, namespace)


def test_one_namespace_is_not_the_beginning_of_another():
    assert not object_key("/p", POD, "x", "ab").startswith(kind_prefix("/p", POD, "a"))


def test_words_for_kinds():
    assert kind_for("PO") is kind_for("pods") is kind_for("Pod") is POD
    assert kind_for("priorityclasses.scheduling.k8s.io") is PRIORITY_CLASS
    assert kind_for("deployments") is None
    assert kind_named("Event") is EVENT
    assert kind_named("event") is None
    assert kind_of_plural("no") is None
    assert (PRIORITY_CLASS.qualified, NODE.qualified) == ("priorityclass.scheduling.k8s.io", "node")
