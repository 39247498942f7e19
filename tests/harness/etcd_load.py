"""What an etcd itself counts: calls that it answered, watchers and etcd leases that it keeps."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockd.etcd.embedded import Embedded

CALLS = re.compile(r'^grpc_server_started_total\{[^}]*grpc_method="(Txn|Range)"[^}]*\} (\S+)$', re.MULTILINE)
WATCHERS = re.compile(r"^etcd_debugging_mvcc_watcher_total (\S+)$", re.MULTILINE)


def leases(etcd: Embedded) -> int:
    """etcd leases that are granted."""
    answer = json.loads(_http(etcd, "/v3/lease/leases", b"{}"))
    return len(answer.get("leases", ()))


def watchers(etcd: Embedded) -> int:
    """Watches that are open, of all its clients."""
    found = WATCHERS.search(_http(etcd, "/metrics"))
    assert found
    return round(float(found[1]))


def calls(etcd: Embedded) -> int:
    """Reads and transactions that it was asked for since its start."""
    return sum(round(float(number)) for _, number in CALLS.findall(_http(etcd, "/metrics")))


def _http(etcd: Embedded, path: str, body: bytes | None = None) -> str:
    url = f"http://{etcd.members[0].endpoint}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=10.0) as answer:
        text: str = answer.read().decode()
        return text
