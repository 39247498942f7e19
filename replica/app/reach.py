"""The first contact with etcd: waits for it, and makes sure that the prefix is ours to write."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from component import logs
from lockd.errors import PermissionDenied, StoreError
from lockd.flags import Usage, refuse_kubernetes

if TYPE_CHECKING:
    import threading

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.etcd.gateway import Gateway

ETCD_PAUSE = 1.0
"""Seconds between two attempts."""

STOP_POLL = 0.1
"""Seconds between two looks, meanwhile, at whether the end is asked for."""

_log = logs.get("replica")

Answers = queue.SimpleQueue[Usage | PermissionDenied | None]


class Reach:
    """Asks etcd until it answers.

    Args:
        timeout: Seconds for one attempt.
        stop: The end is asked for.
    """

    def __init__(self, gateway: Gateway, prefix: str, *, timeout: float, stop: threading.Event, clock: Clock) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._timeout = timeout
        self._stop = stop
        self._clock = clock

    def wait(self, group: Group) -> bool:
        """Make sure, before anything is written, that the prefix isn't Kubernetes'. False when asked to stop.

        It is asked on another thread: a call that is silent must not keep this one from stopping.

        Raises:
            Usage: The prefix holds Kubernetes' data.
            PermissionDenied: A wrong certificate, user or password.
        """
        answers: Answers = queue.SimpleQueue()
        group.spawn("reach etcd", self._seek, answers)
        while not self._stop.is_set() and not group.stop.is_set():
            try:
                problem = answers.get(timeout=STOP_POLL)
            except queue.Empty:
                continue
            if problem is not None:
                raise problem
            return True
        return False

    def _seek(self, answers: Answers) -> None:
        told = False
        while not self._stop.is_set():
            try:
                refuse_kubernetes(self._gateway, self._prefix, timeout=self._timeout)
            except (Usage, PermissionDenied) as problem:
                return answers.put(problem)
            except StoreError as error:
                if not told:
                    _log.warning("etcd does not answer: waiting for it", error=str(error))
                told = True
                self._clock.wait(self._stop, ETCD_PAUSE)
            else:
                return answers.put(None)
        return None
