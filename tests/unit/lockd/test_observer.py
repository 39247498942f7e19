"""What `lockctl observe` says of an etcd that it can't read."""

from __future__ import annotations

import pytest

from lockd.ctl.observe import Observer
from lockd.errors import PermissionDenied, Unavailable
from lockd.session import Session
from tests.harness.clock import ManualClock
from tests.harness.lock_store import LOCK


@pytest.mark.parametrize(
    ("error", "told"),
    [(PermissionDenied("no"), "etcd refuses: no\n"), (Unavailable("no"), "etcd does not answer: no\n")],
)
def test_a_refusal_is_told_apart_from_silence_and_once(capsys, error, told):
    observer = Observer(Session(None, "/lockd", 1.0, ManualClock()), LOCK, "json")
    observer._take(error)
    observer._take(error)
    assert capsys.readouterr().err == told
