"""etcd's tokens for user and password: fetched when first needed, and again when one is refused, by one call at a time.

Password checks are slow in etcd and go through raft, so however many calls find their token refused, one of them
authenticates and the others wait for its result.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lockd.errors import StoreError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    Receiver = Callable[[str | StoreError], None]

NO_TOKEN = ""
"""In place of a token where etcd wants none."""


class Authenticator:
    """Holds the token. Thread-safe.

    Args:
        request: Starts to authenticate and returns at once; calls back with a token, `NO_TOKEN` or an error. None
            where there is no user, and then no token ever.
    """

    def __init__(self, request: Callable[[Receiver], None] | None) -> None:
        self._request = request
        self._lock = threading.Lock()
        self._token: str | None = NO_TOKEN if request is None else None
        self._waiting: list[Receiver] = []

    def with_token(self, use: Receiver) -> None:
        """Call `use` with the token: at once if there is one, else from another thread when the flight has landed."""
        with self._lock:
            token = self._token
            if token is None:
                self._waiting.append(use)
                if len(self._waiting) > 1:
                    return
        if token is not None:
            use(token)
        elif self._request is not None:
            self._request(self._landed)

    def token(self, timeout: float) -> str:
        """The token; waits at most `timeout` seconds for it.

        Raises:
            StoreError: Authenticating failed; nothing else was sent.
        """
        landed = threading.Event()
        result: list[str | StoreError] = []

        def use(token: str | StoreError) -> None:
            result.append(token)
            landed.set()

        self.with_token(use)
        if not landed.wait(timeout):
            raise Unavailable(f"no token within {timeout:.3g} s", operation="Auth/Authenticate")
        if isinstance(result[0], StoreError):
            raise result[0]
        return result[0]

    def refuse(self, token: str) -> bool:
        """Note that etcd refused this token. True if a fresh one can be had, which the next use then waits for."""
        if self._request is None:
            return False
        with self._lock:
            if self._token == token:  # else somebody was faster
                self._token = None
        return True

    def _landed(self, token: str | StoreError) -> None:
        with self._lock:
            if not isinstance(token, StoreError):
                self._token = token
            waiting, self._waiting = self._waiting, []
        for use in waiting:
            use(token)
