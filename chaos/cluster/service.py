"""A program of somebody else's as the replica of a cluster: the words that start it, and what its environment holds.

It contends for the cluster's lock, and answers `GET /readyz` (200: it stands by or leads) and `GET /leader` (200: it
leads) where it is told to listen, as `replica run` does.
"""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACEHOLDERS: Final = {
    "python": "the interpreter of this cluster",
    "endpoints": "etcd's members, `host:port` with commas between",
    "prefix": "of all keys, without a slash at its end",
    "namespace": "of the lock",
    "lock": "the lock's name",
    "identity": "the holder identity of this process, which no other has",
    "name": "the same over restarts, such as `replica-1`",
    "host": "where it is to listen for HTTP",
    "port": "the same",
    "presence": "where it is to listen for the other replicas, `host:port`; port 0 for any",
    "advertise": "what the others dial for that; empty: wherever it listens",
    "trace": "the file for its spans, OTLP JSON",
    "lease": "the lease duration in seconds",
    "renew": "the renew deadline in seconds",
    "retry": "the retry period in seconds",
}
"""What `{...}` in a word may stand for."""

_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What one start of it is given. Durations are seconds; each attribute is the placeholder of its name."""

    endpoints: tuple[str, ...]
    prefix: str
    namespace: str
    lock: str
    identity: str
    name: str
    host: str
    port: int
    presence: str
    advertise: str
    trace: str
    lease: float
    renew: float
    retry: float

    def command(self, words: Sequence[str]) -> list[str]:
        """The words with all placeholders filled in; what is no placeholder stays as it is."""
        told = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in asdict(self).items()}
        values = {**told, "python": sys.executable, "endpoints": ",".join(self.endpoints)}
        return [_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in words]

    def environment(self) -> dict[str, str]:
        """The variables that the project's own commands and libraries read, so that it needs no words for these."""
        return {
            "ETCDCTL_ENDPOINTS": ",".join(self.endpoints),
            "LOCKD_PREFIX": self.prefix,
            "LOCKD_IDENTITY": self.identity,
            "LOCKD_TRACE_FILE": self.trace,
        }


def problems(words: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with the words that start a service, one line each."""
    if not words:
        return ()
    unknown = sorted({name for word in words for name in _PLACEHOLDER.findall(word) if name not in PLACEHOLDERS})
    found = [f"{{{name}}} stands for nothing: there are {', '.join(PLACEHOLDERS)}" for name in unknown]
    if not any("{port}" in word for word in words):
        found.append("no word has {port}: a service is asked for its health at the port that it is given")
    return tuple(found)
