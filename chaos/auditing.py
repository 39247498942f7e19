"""An audit from outside: connect, read the history, wait until the cluster has settled, judge."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from chaos.auditor import Auditor
from chaos.checks import ALWAYS, SETTLED, judge
from chaos.ledger import Ledger
from chaos.pods import lives
from chaos.report import Report
from component.clock import SystemClock
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.flags import refuse_kubernetes

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.connection import Connection

READ: Final = 60.0
"""Seconds that reading the whole history may take, beside the connection's own limit for the first answer."""

POLL: Final = 0.5
"""Seconds between two judgements while waiting."""


def audited(connection: Connection, prefix: str, *, wait: float | None, clock: Clock | None = None) -> Report:
    """Read and judge the history under `prefix`.

    Args:
        wait: Seconds in which no pod may be lost any more; None: don't wait, and let lost pods be no violation.

    Raises:
        StoreError: etcd can't be read.
        Usage: Kubernetes keeps its data there.
    """
    clock = clock or SystemClock()
    gateway = Gateway(connection, purpose="audit", witness=Witness(), clock=clock)
    try:
        refuse_kubernetes(gateway, prefix, timeout=connection.command_timeout)
        with Auditor(gateway, prefix, clock=clock) as auditor:
            end = clock.now() + (wait or 0.0)
            while True:
                ledger = Ledger.of(auditor.history(within=READ))
                settled = wait is None or not any(pod.lost for pod in lives(ledger))
                if settled or clock.now() >= end:
                    return Report.of(ledger, judge(ledger, ALWAYS if wait is None else SETTLED))
                clock.wait(threading.Event(), POLL)
    finally:
        gateway.close()
