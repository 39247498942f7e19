"""`replica`, stopped where it hurts: between the check that its term lasts and the send of a guarded write.

It stops itself (SIGSTOP) in front of the bind of a pod `late-bind`, or of the status of a pod `late-status`. Whoever
lets it go on (SIGCONT) after the lease has run out sees that write go out late. All that would keep it back then is
out of order: the process believes that its term lasts, it has no watchdog, and its elector waits until the write
is answered. What is left is etcd.
"""

from __future__ import annotations

import signal
import threading

from component.exit import Watchdog
from lockd.elector import Elector
from lockd.leadership import Leadership
from replica import writer
from replica.__main__ import main
from replica.binder import Binder

BIND, STATUS = "/late-bind", "/late-status"

stopped, refused = threading.Event(), threading.Event()


def stop_here() -> None:
    """Stop the process, once."""
    if stopped.is_set():
        return
    stopped.set()
    Leadership.holds = lambda self, now: True
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def plant() -> None:
    """Put it in."""
    Watchdog.arm = lambda self, at: None
    send, make, become, fenced = Binder._send, writer.TermWriter.__init__, Elector._become, Leadership.fenced

    def late_send(self, flight):
        if any(each.write.key.endswith(BIND) for group in flight.batch.groups for each in group):
            stop_here()
        send(self, flight)

    def make_late(self, term, settle, *, clock):
        def late_settle(txn, stop):
            if any(get.key.endswith(STATUS) for get in txn.otherwise):
                stop_here()
            return settle(txn, stop)

        make(self, term, late_settle, clock=clock)

    def wait_and_become(self, before, after, now):
        if stopped.is_set():
            refused.wait(20.0)
        become(self, before, after, now)

    def note_and_fence(self):
        fenced(self)
        refused.set()

    Binder._send = late_send
    writer.TermWriter.__init__ = make_late
    Elector._become = wait_and_become
    Leadership.fenced = note_and_fence


if __name__ == "__main__":
    plant()
    main()
