"""An audit: read the history, wait until the cluster has settled, judge."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from chaos.auditor import Auditor
from chaos.checks import judge
from chaos.ledger import Ledger
from chaos.pods import lives
from chaos.record import Record
from chaos.report import Report
from chaos.unplaced import unplaced

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

READ: Final = 60.0
"""Seconds that reading the whole history may take."""

POLL: Final = 0.5
"""Seconds between two judgements while waiting."""


def audited(gateway: Gateway, prefix: str, *, wait: float | None, clock: Clock) -> Report:
    """Read and judge the history under `prefix`.

    Args:
        wait: Seconds in which no pod may be lost, or pending though it fits, any more; None: don't wait, and let such
            pods be no violation.

    Raises:
        StoreError: etcd can't be read.
    """
    with Auditor(gateway, prefix, clock=clock) as auditor:
        end = clock.now() + (wait or 0.0)
        while True:
            ledger = Ledger.of(auditor.history(within=READ))
            settled = wait is None or _settled(ledger)
            if settled or clock.now() >= end:
                return Report.of(ledger, judge(Record(ledger=ledger, settled=wait is not None)))
            clock.wait(threading.Event(), POLL)


def _settled(ledger: Ledger) -> bool:
    lost = any(pod.lost for pod in lives(ledger))
    return not lost and not any(each.verdict.fits for each in unplaced(ledger))
