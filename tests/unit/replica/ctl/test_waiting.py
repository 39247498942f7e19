from __future__ import annotations

import pytest

from lockd.errors import ConfigError
from replica.ctl.waiting import Wish

POD = {
    "metadata": {"name": "a"},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready"}]},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("create", True),
        ("delete", False),
        ("condition=PodScheduled", True),
        ("condition=podscheduled=true", True),
        ("condition=PodScheduled=False", False),
        ("condition=Ready", False),
        ("condition=Other", False),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath='{.status.phase}'=Running", True),
        ("jsonpath={.status.phase}=Failed", False),
        ("jsonpath={.spec.nodeName}", True),
        ("jsonpath={.spec.other}", False),
        ('jsonpath={.status.conditions[?(@.type=="PodScheduled")].status}=True', True),
        ("jsonpath=.status.phase=Running", True),
    ],
)
def test_what_is_so(text, holds):
    assert Wish.parse(text).holds(POD) == holds


def test_what_is_not_there():
    assert Wish.parse("delete").holds(None)
    assert not Wish.parse("create").holds(None)
    assert not Wish.parse("condition=Ready=False").holds(None)
    assert not Wish.parse("condition=Ready").holds({"status": None})


def test_what_is_said():
    said = [Wish.parse(text).met for text in ("delete", "create", "condition=a", "jsonpath=.a")]
    assert said == ["deleted", "created", "condition met", "condition met"]


@pytest.mark.parametrize("text", ["", "condition", "condition=", "jsonpath=", "ready", "delete=now", "jsonpath={.a[}"])
def test_what_is_no_wish(text):
    with pytest.raises(ConfigError):
        Wish.parse(text)
