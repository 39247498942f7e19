"""The pods that are left pending, each held against every node once more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from chaos.fit import Room, refusals
from chaos.neighbours import Neighbour, Neighbourhood
from chaos.pods import lives

if TYPE_CHECKING:
    from collections.abc import Hashable

    from chaos.ledger import Ledger
    from chaos.objects import Stored
    from chaos.pods import PodLife


SKEWED: Final = "node(s) didn't match pod topology spread constraints"
"""What a scheduler says of a pod that spread keeps off."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the nodes say to a pod.

    Attributes:
        reasons: How many nodes refuse it for each reason; a node may have several.
        fits: The first node that would take it; "" if none does.
        unjudged: Why it can't be said; "" if it could.
    """

    reasons: Counter[str] = field(default_factory=Counter)
    fits: str = ""
    unjudged: str = ""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod left pending.

    Attributes:
        message: What the scheduler said of it; "" if nothing.
        verdict: What this reading says of it.
    """

    pod: PodLife
    message: str
    verdict: Verdict

    def document(self, prefix: str) -> dict[str, Any]:
        return {
            "key": f"{prefix}/{self.pod.key}",
            "message": self.message,
            "reasons": dict(sorted(self.verdict.reasons.items())),
            "fits": self.verdict.fits or None,
            "unjudged": self.verdict.unjudged or None,
        }


def unplaced(ledger: Ledger) -> tuple[Unplaced, ...]:
    """Every pod that is pending at the end of a history, in the order of creation."""
    pending = [pod for pod in lives(ledger) if pod.pending]
    if not pending:
        return ()
    # A node without a name can't be: its key has one.
    nodes, namespaces = (
        {key.removeprefix(kind): stored for key, stored in sorted(ledger.final.items()) if key.startswith(kind)}
        for kind in ("nodes/", "namespaces/")
    )
    pods = {key: stored for key, stored in ledger.final.items() if key.startswith("pods/")}
    near = [found for key, stored in pods.items() if (found := Neighbour.of(key, stored)) is not None]
    spaces = {name: stored.labels for name, stored in namespaces.items()}
    promised = {pod.key: pod.last for pod in pending if pod.last.nominated}
    judge = _Judge(nodes, list(pods.values()), promised, Neighbourhood(nodes, near, spaces))
    return tuple(Unplaced(pod, pod.last.message, judge.verdict(pod)) for pod in pending)


class _Judge:
    """Holds pods against the nodes as they stand; equal pods once.

    Args:
        promised: By key, the pods that preemption promised a node: who matters no more leaves them that room.
    """

    def __init__(
        self, nodes: dict[str, Stored], pods: list[Stored], promised: dict[str, Stored], neighbourhood: Neighbourhood
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._promised = promised
        self._rooms: dict[tuple[str, ...], Room] = {}
        self._neighbourhood = neighbourhood
        self._known: dict[Hashable, Verdict] = {}

    def verdict(self, pod: PodLife) -> Verdict:
        spec = pod.last.spec
        if pod.foreign:
            return Verdict(unjudged="another scheduler's")
        if spec is None or spec.gates:
            return Verdict(unjudged="scheduling gates")
        if pod.last.group:
            return Verdict(unjudged="pod group")
        asks = Neighbour(pod.key.split("/")[1], pod.last.labels, spec)
        others = ((key, other) for key, other in self._promised.items() if key != pod.key)
        heeded = tuple(key for key, other in others if not _matters_less(other, pod.last))
        kind = asks.namespace, frozenset(asks.labels.items()), spec, heeded
        if kind not in self._known:
            self._known[kind] = self._read(asks, self._room(heeded))
        verdict = self._known[kind]
        if verdict.fits and _by_default(pod.last):
            return Verdict(verdict.reasons, unjudged="the default spread constraints of its profile")
        return verdict

    def _room(self, heeded: tuple[str, ...]) -> Room:
        if heeded not in self._rooms:
            coming = [replace(self._promised[key], node=self._promised[key].nominated) for key in heeded]
            self._rooms[heeded] = Room([*self._pods, *coming])
        return self._rooms[heeded]

    def _read(self, asks: Neighbour, room: Room) -> Verdict:
        reasons: Counter[str] = Counter()
        fits = ""
        kept_off = self._neighbourhood.refusals(asks)
        for name, node in self._nodes.items():
            found = refusals(asks.spec, name, node, room)
            if not found and name in kept_off:
                found = (kept_off[name],)
            reasons.update(found)
            if not found and not fits:
                fits = name
        return Verdict(reasons, fits)


def _matters_less(pod: Stored, other: Stored) -> bool:
    return pod.priority is not None and other.priority is not None and pod.priority < other.priority


def _by_default(pod: Stored) -> bool:
    """Was a pod kept off by constraints that aren't its own? A history doesn't hold those of profiles."""
    return bool(pod.owner and pod.spec is not None and not pod.spec.spread and SKEWED in pod.message)
