"""What a watch shows, and what must have happened for objects to stand as they do."""

from __future__ import annotations

import json

import pytest

from lockd.ports import KeyValue
from replica.api.codec import decode, encode
from replica.api.drafts import to_manifest
from replica.api.kinds import POD
from replica.ctl.following import ADDED, DELETED, MODIFIED, Known
from replica.ctl.getting import Stored
from replica.ctl.streams import Stream


def kv(name, revision=5):
    value = encode(json.dumps({"metadata": {"name": name, "creationTimestamp": "1970-01-01T00:00:00Z"}}).encode())
    return KeyValue(f"/lockd/pods/default/{name}", value, revision, 1)


def stored(name):
    return Stored(POD, decode(POD, kv(name)), to_manifest(POD, kv(name)))


def told(changes):
    return [(change.type, change.kv.key.rpartition("/")[2], change.kv.mod_revision) for change in changes]


def test_what_a_watch_tells():
    known = Known([kv("a")])
    changes = [known.put(kv("a", 6)), known.put(kv("b", 7)), known.delete(kv("b").key), known.put(kv("b", 9))]
    assert told(changes) == [(MODIFIED, "a", 6), (ADDED, "b", 7), (DELETED, "b", 7), (ADDED, "b", 9)]
    assert known.delete("/lockd/pods/default/nobody") is None


def test_what_a_list_after_a_gap_tells():
    known = Known([kv("same", 3), kv("changed", 3), kv("gone", 3)])
    changes = list(known.relisted([kv("same", 3), kv("changed", 8), kv("new", 7)]))
    assert told(changes) == [(DELETED, "gone", 3), (MODIFIED, "changed", 8), (ADDED, "new", 7)]
    assert list(known.relisted([kv("same", 3), kv("changed", 8), kv("new", 7)])) == []


def test_rows_under_one_header(capsys):
    stream = Stream(kind=POD, form="table", namespaces=False)
    stream.show([], type_=ADDED, now=5.0)
    stream.show([stored("a")], type_=ADDED, now=5.0)
    stream.show([stored("a-longer-name")], type_=ADDED, now=9.0)
    stream.show([stored("b")], type_=DELETED, now=9.0)
    assert capsys.readouterr().out.splitlines() == [
        "NAME   READY   STATUS    RESTARTS   AGE",
        "a      0/0     Pending   0          5s",
        "a-longer-name   0/0     Pending   0          9s",
        "b               0/0     Pending   0          9s",
    ]


@pytest.mark.parametrize(
    ("form", "events", "shown"),
    [
        ("name", False, "pod/a\n"),
        ("json", False, None),
        ("yaml", True, None),
    ],
)  # fmt: skip
def test_documents(form, events, shown, capsys):
    Stream(kind=POD, form=form, namespaces=False, events=events).show([stored("a")], type_=DELETED, now=5.0)
    out = capsys.readouterr().out
    if form == "json":
        assert out.count("\n") == 1
        assert json.loads(out) == stored("a").manifest
    elif shown is None:
        assert out.startswith("---\ntype: DELETED\nobject:\n  metadata:\n    name: a\n")
    else:
        assert out == shown


def test_headers_may_go(capsys):
    Stream(kind=POD, form="table", namespaces=True, headers=False).show([stored("a")], type_=ADDED, now=5.0)
    assert capsys.readouterr().out == "default   a   0/0   Pending   0   5s\n"
