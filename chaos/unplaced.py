"""The pods that are left pending, each held against every node once more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chaos.fit import Room, keeps_others_off, refusals, unjudged
from chaos.pods import lives

if TYPE_CHECKING:
    from chaos.ledger import Ledger
    from chaos.objects import Stored
    from chaos.pods import PodLife
    from replica.api.podspec import PodSpec


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
    nodes = {key.partition("/")[2]: stored for key, stored in sorted(ledger.final.items()) if key.startswith("nodes/")}
    pods = [stored for key, stored in ledger.final.items() if key.startswith("pods/")]
    judge = _Judge(nodes, Room(pods), shy=any(each.node and keeps_others_off(each.spec) for each in pods))
    return tuple(Unplaced(pod, pod.last.message, judge.verdict(pod)) for pod in pending)


class _Judge:
    """Holds pods against the nodes as they stand; equal pods once.

    Args:
        shy: Does a pod on some node keep others off it?
    """

    def __init__(self, nodes: dict[str, Stored], room: Room, *, shy: bool) -> None:
        self._nodes = nodes
        self._room = room
        self._shy = shy
        self._known: dict[PodSpec, Verdict] = {}

    def verdict(self, pod: PodLife) -> Verdict:
        spec = pod.last.spec
        if pod.foreign:
            return Verdict(unjudged="another scheduler's")
        if spec is None or spec.gates:
            return Verdict(unjudged="scheduling gates")
        if pod.last.group:
            return Verdict(unjudged="pod group")
        if spec not in self._known:
            self._known[spec] = self._read(spec)
        return self._known[spec]

    def _read(self, spec: PodSpec) -> Verdict:
        if why := unjudged(spec) or ("other pods' anti-affinity" if self._shy else ""):
            return Verdict(unjudged=why)
        reasons: Counter[str] = Counter()
        fits = ""
        for name, node in self._nodes.items():
            found = refusals(spec, name, node, self._room)
            reasons.update(found)
            if not found and not fits:
                fits = name
        return Verdict(reasons, fits)
