from __future__ import annotations

import pytest

from lockd.errors import ConfigError
from replica.api.kinds import EVENT, NODE, POD
from replica.ctl.fields import FieldSelector, sort_key
from replica.ctl.jsonpath import JsonPath, text_of

POD_DOCUMENT = {
    "metadata": {"name": "a", "namespace": "shop", "labels": {"app.kubernetes.io/name": "web"}},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "x"}, {"name": "d"}], "hostNetwork": True},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("{.status.phase}", ["Running"]),
        ("status.phase", ["Running"]),
        (".spec.containers[0].image", ["x"]),
        ("{.spec.containers[-1].name}", ["d"]),
        ("{.spec.containers[*].name}", ["c", "d"]),
        ("{$.spec.containers[7]}", []),
        ("{.spec.containers[*].image}", ["x"]),
        (r"{.metadata.labels.app\.kubernetes\.io/name}", ["web"]),
        ("{.metadata.labels['app.kubernetes.io/name']}", ["web"]),
        ('{.status.conditions[?(@.type=="Ready")].status}', ["False"]),
        ("{.status.conditions[?(@.type!='Ready')].status}", ["True"]),
        ("{.status.nothing.at.all}", []),
        ("{.status.phase.deeper}", []),
        ("{.}", [POD_DOCUMENT]),
    ],
)
def test_paths(path, found):
    assert JsonPath.parse(path).find(POD_DOCUMENT) == found


@pytest.mark.parametrize("path", ["{.a[}", "{.a[b]}", "..", "{.a", "{.a}{.b}", "{.a[?(@.b)]}"])
def test_what_is_no_path(path):
    with pytest.raises(ConfigError, match="is no JSONPath"):
        JsonPath.parse(path)


def test_texts():
    assert [text_of(value) for value in ("a", True, False, 3, None)] == ["a", "true", "false", "3", ""]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("spec.nodeName=n1", True),
        ("spec.nodeName==n1,status.phase=Running", True),
        ("spec.nodeName!=n1", False),
        ("spec.nodeName=", False),
        ("status.phase!=Pending", True),
        ("metadata.name=a,metadata.namespace=default", False),
        ("spec.schedulerName=default-scheduler", True),
        ("", True),
    ],
)
def test_selecting_by_fields(text, found):
    assert FieldSelector.parse(text, [POD]).matches(POD_DOCUMENT) == found


def test_what_is_absent_has_its_default():
    assert FieldSelector.parse("status.phase=Pending,spec.nodeName=", [POD]).matches({"spec": {}})
    assert FieldSelector.parse("spec.unschedulable=false", [NODE]).matches({})
    assert not FieldSelector.parse("spec.unschedulable=false", [NODE]).matches({"spec": {"unschedulable": True}})
    for regarding in ("regarding", "involvedObject"):
        assert FieldSelector.parse("involvedObject.name=a", [EVENT]).matches({regarding: {"name": "a"}})


@pytest.mark.parametrize(
    ("text", "kinds", "told"),
    [
        ("spec.nodeName", [POD], 'can\'t be read at "spec.nodeName"'),
        ("status.podIP=1", [POD], 'pods can\'t be selected by "status.podIP": only by metadata.name'),
        ("spec.nodeName=a", [POD, NODE], 'nodes can\'t be selected by "spec.nodeName"'),
        ("metadata.namespace=a", [NODE], 'nodes can\'t be selected by "metadata.namespace"'),
    ],
)
def test_what_is_no_field_selector(text, kinds, told):
    with pytest.raises(ConfigError) as caught:
        FieldSelector.parse(text, kinds)
    assert told in str(caught.value)


def test_sorting():
    path = JsonPath.parse(".v")
    values = [{"v": "b"}, {"v": 10}, {}, {"v": 9}, {"v": "a"}, {"v": None}]
    assert [each.get("v") for each in sorted(values, key=lambda each: sort_key(path, each))] == [
        None,
        None,
        9,
        10,
        "a",
        "b",
    ]
