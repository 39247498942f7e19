"""`lockctl observe`: who leads, and as it changes."""

from __future__ import annotations

import json
import queue
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from component.clock import LONGEST_WAIT
from component.console import note, say
from component.tables import one_line
from lockd.ctl.options import SERVICE, form, lock_name, namespace
from lockd.errors import HistoryLost, PermissionDenied, StoreError
from lockd.flags import connection_options
from lockd.observed import Observed
from lockd.ports import KeyEvent, LockName, View, Which
from lockd.record import display_time
from lockd.session import session
from lockd.sighting import Sighting, header
from lockd.store import EtcdRecordStore

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection
    from lockd.session import Session

READ: Final = 2.0
"""Seconds between two reads that make up for a watch that is silent."""


@click.command()
@lock_name
@click.option("-w", "--watch", is_flag=True, help="Go on and show each change, until Ctrl-C.")
@namespace
@form("json")
@connection_options
def observe(
    name: str, *, watch: bool, namespace: str, form: str, connection: Connection, prefix: str, trace_file: Path | None
) -> None:
    """Show who leads by the lock NAME; with -w, each time that changes. -o json gives one document a line."""
    with session(SERVICE, "observe", connection, prefix, trace_file) as here:
        Observer(here, LockName(prefix, namespace, name), form).run(watch=watch)


class Observer:
    """Looks on and tells."""

    def __init__(self, here: Session, lock: LockName, form: str) -> None:
        self._here = here
        self._lock = lock
        self._form = form
        self._store = EtcdRecordStore(here.gateway, lock, clock=here.clock)
        self._inbox: queue.SimpleQueue[KeyEvent | View | StoreError] = queue.SimpleQueue()
        self._observed = Observed()
        self._last: Sighting | None = None
        self._silent = False

    def run(self, *, watch: bool) -> None:
        """Tell the present state; with `watch` go on.

        Raises:
            HistoryLost: etcd was restored or exchanged.
            StoreError: etcd doesn't answer, at the beginning.
        """
        clock = self._here.clock
        first: queue.SimpleQueue[View | StoreError] = queue.SimpleQueue()
        self._store.read(first.put, timeout=self._here.timeout)
        seen = first.get()
        if isinstance(seen, StoreError):
            raise seen
        if self._form == "table":
            say(header())
        self._take(seen)
        self._tell()
        if not watch:
            return
        watching = self._store.watch(self._inbox.put)
        read_at = clock.now() + READ
        try:
            while True:
                if clock.now() >= read_at:
                    self._store.read(self._inbox.put, timeout=self._here.timeout)
                    read_at = clock.now() + READ
                with suppress(queue.Empty):
                    self._take(self._inbox.get(timeout=LONGEST_WAIT / 4))
                self._tell()
        finally:
            watching.cancel()

    def _take(self, seen: KeyEvent | View | StoreError) -> None:
        now, before = self._here.clock.now(), self._observed
        match seen:
            case HistoryLost():
                raise seen
            case StoreError():
                if not self._silent:
                    note(f"etcd {'refuses' if isinstance(seen, PermissionDenied) else 'does not answer'}: {seen}")
                self._silent = True
                return
            case View():
                if self._silent:
                    note("etcd answers again")
                self._silent = False
                after = before.with_lease(seen.lease, now) or before
                self._observed = after.with_term(seen.term) or after
            case KeyEvent(which=Which.LEASE):
                self._observed = before.with_lease(seen.seen, now) or before
            case KeyEvent(which=Which.TERM):
                self._observed = before.with_term(seen.seen) or before
            case _:
                return

    def _tell(self) -> None:
        sighting = Sighting.of(self._observed, self._here.clock.now())
        if sighting is None or not sighting.news(self._last):
            return
        self._last = sighting
        time = display_time(self._here.now)
        if self._form == "json":
            say(json.dumps(sighting.document(f"{self._lock.namespace}/{self._lock.name}", time)))
        else:
            say(one_line(sighting.row(time)))
