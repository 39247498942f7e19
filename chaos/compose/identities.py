"""Which candidate of the election each container's process is: by the keys that candidates keep in etcd."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lockd.candidate import Candidate
from lockd.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.compose.container import Container
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName

TIMEOUT: Final = 2.0
"""Seconds that etcd may take to list the candidates."""

EARLY: Final = 1.0
"""Seconds by which a candidate may seem to be older than its container: two clocks are asked."""

Run = tuple[str, int]
"""One run of a container: its id, and when that run began."""


class Identities:
    """Remembers whoever was seen once: a candidate's key goes some seconds after it."""

    def __init__(self, gateway: Gateway, lock: LockName) -> None:
        self._gateway = gateway
        self._lock = lock
        self._known: dict[Run, str] = {}

    def of(self, container: Container) -> str:
        """The identity of the process that a container runs, or ran last; "" as long as nobody knows."""
        return self._known.get((container.id, container.started), "")

    def ran(self, container: str, began: int, ended: int) -> str:
        """The identity of an earlier run, between two moments in nanoseconds; "": nobody knows."""
        runs = {
            started: identity
            for (which, started), identity in self._known.items()
            if which == container and began - EARLY * 1e9 <= started <= ended
        }
        return runs[max(runs)] if runs else ""

    def look(self, containers: Iterable[Container]) -> None:
        """Find out who is not known yet, as far as etcd can be asked."""
        unknown = [each for each in containers if each.running and not self.of(each)]
        if not unknown:
            return
        with contextlib.suppress(StoreError):
            found = self._gateway.range(self._lock.candidates, prefix=True, timeout=TIMEOUT)
            parsed = (Candidate.parse(kv.value) for kv in found.kvs)
            self._known |= matched(unknown, [each for each in parsed if each is not None], set(self._known.values()))


def matched(containers: Iterable[Container], candidates: Iterable[Candidate], taken: set[str]) -> dict[Run, str]:
    """Whose key is whose. Pure: by the host's name, and since when each has been there; the newest counts.

    Args:
        taken: Identities of others.
    """
    found: dict[Run, str] = {}
    free = [each for each in candidates if each.identity not in taken]
    for container in containers:
        mine = [
            (since, each.identity)
            for each in free
            if each.hostname == container.hostname
            and (since := _since(each)) is not None
            and since >= container.started / 1e9 - EARLY
        ]
        if mine:
            found[container.id, container.started] = max(mine)[1]
    return found


def _since(candidate: Candidate) -> float | None:
    try:
        return datetime.fromisoformat(candidate.since).timestamp()
    except ValueError:
        return None
