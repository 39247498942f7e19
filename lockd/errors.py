"""Errors, classed by what the caller can do about them."""

from __future__ import annotations


class LockdError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigError(LockdError):
    """A configuration that can't be used.

    Attributes:
        problems: Every problem found, each one line that names the field and the remedy.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class StoreError(LockdError):
    """A call to etcd that brought no answer to act on.

    Attributes:
        operation: The method, such as `KV/Txn`.
        endpoint: `host:port` of the member called, or "" when none was.
        code: gRPC's status name, such as `UNAVAILABLE`, or "" when the call was never made.
    """

    def __init__(self, message: str, *, operation: str = "", endpoint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.endpoint = endpoint
        self.code = code


class Unavailable(StoreError):
    """Had no effect and may succeed later: try again, on another member first."""


class OutcomeUnknown(StoreError):
    """May have been applied, or may still be: settle it, then decide."""


class Rejected(StoreError):
    """Definitely refused, and the same call would be refused again."""


class Compacted(Rejected):
    """The revision asked for is gone: list again.

    Attributes:
        compact_revision: The oldest revision that etcd still has, or 0 when it didn't say.
    """

    def __init__(
        self, message: str, *, compact_revision: int = 0, operation: str = "", endpoint: str = "", code: str = ""
    ) -> None:
        super().__init__(message, operation=operation, endpoint=endpoint, code=code)
        self.compact_revision = compact_revision


class NoSpace(Rejected):
    """etcd's quota is used up: no put until a person makes room and disarms the alarm; reads go on."""


class TooLarge(Rejected):
    """The request exceeds a limit of etcd (1.5 MiB, 128 operations): split it."""


class LeaseNotFound(Rejected):
    """The etcd lease has expired or was revoked: grant another."""


class Unauthenticated(Rejected):
    """The token is missing or no longer good: authenticate again."""


class PermissionDenied(Rejected):
    """The user may not do this, or the password or certificate is wrong: a person must act."""


class HistoryLost(StoreError):
    """etcd was restored, wiped or exchanged: what this process knows is of another history. Exit and start afresh."""


class LockError(LockdError):
    """The lock is not, or no longer, what the caller took it for."""


class Fenced(LockError):
    """A guarded write was refused because its term is over: stop at once.

    Attributes:
        token: The fencing token of the write.
    """

    def __init__(self, message: str, *, token: int) -> None:
        super().__init__(message)
        self.token = token


class ForeignToken(LockError):
    """A fencing token of another etcd cluster: it says nothing against those seen before. A person must decide.

    Attributes:
        cluster: The cluster that the token is of.
    """

    def __init__(self, message: str, *, cluster: str) -> None:
        super().__init__(message)
        self.cluster = cluster
