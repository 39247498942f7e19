"""Each pod's life, out of a ledger: a pod is a key and the revision that created it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replica.api.podspec import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from chaos.ledger import Ledger
    from chaos.objects import Stored


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod got a node."""

    revision: int
    node: str
    token: int


@dataclass(slots=True)
class PodLife:
    """One pod from its creation to its end, or to the end of the history.

    Attributes:
        key: Without the prefix.
        created: The creating revision, 0 when the history doesn't show it.
        last: The pod when last seen.
        seen: The revision of its last put.
        token: The author of that put.
        placements: Each node it was given, in order; one at most, if all is well.
        foreign: It asks for a scheduler that no leader here is.
        deleted_by: The token of its deletion (0: a user's); None: it is present.
    """

    key: str
    created: int
    last: Stored
    seen: int
    token: int
    placements: list[Placement] = field(default_factory=list)
    foreign: bool = False
    deleted_by: int | None = None

    def saw(self, pod: Stored, revision: int, token: int) -> None:
        """The pod was put."""
        if pod.node and (not self.placements or self.placements[-1].node != pod.node):
            self.placements.append(Placement(revision, pod.node, token))
        self.last, self.seen, self.token = pod, revision, token

    @property
    def present(self) -> bool:
        return self.deleted_by is None

    @property
    def bound(self) -> bool:
        """Did it have a node when last seen?"""
        return bool(self.last.node)

    @property
    def bound_by_user(self) -> bool:
        return self.bound and self.placements[-1].token == 0

    @property
    def pending(self) -> bool:
        """Is it present without a node, and was told why, is held back by a gate, or another scheduler's?"""
        return self.present and not self.bound and (self.last.waiting or (self.foreign and not self._wants_nothing))

    @property
    def lost(self) -> bool:
        """Is it present, wants a node of us, and did nobody do anything about it?"""
        return self.present and not self.bound and not self.pending and not self._wants_nothing

    @property
    def _wants_nothing(self) -> bool:
        """Has it ended by itself, or is it being deleted?"""
        return self.last.finished or self.last.deleting


def lives(ledger: Ledger) -> tuple[PodLife, ...]:
    """Every pod that the history shows, in the order of creation."""
    found: list[PodLife] = []
    current: dict[str, PodLife] = {}
    for change in ledger.history.baseline:
        if change.kind == "pods" and (stored := ledger.first.get(change.key)) is not None:
            current[change.key] = _born(change.key, change.created, stored, change.revision, stored.token)
            found.append(current[change.key])
    for write in ledger.writes:
        if write.kind != "pods":
            continue
        life = current.get(write.key)
        if write.after is None:
            if life is not None:
                life.deleted_by = write.token
                del current[write.key]
        elif life is None or life.created != write.created:
            current[write.key] = _born(write.key, write.created, write.after, write.revision, write.token)
            found.append(current[write.key])
        else:
            life.saw(write.after, write.revision, write.token)
    known = schedulers(ledger)
    for life in found:
        life.foreign = life.last.scheduler not in known
    return tuple(found)


def schedulers(ledger: Ledger) -> frozenset[str]:
    """The names that leaders here schedule for: the default one, those they report as, and those of pods they bound."""
    standing = ((key.partition("/")[0], stored) for key, stored in ledger.first.items())
    written = ((write.kind, write.after) for write in ledger.writes if write.after is not None)
    return frozenset(
        (
            DEFAULT_SCHEDULER,
            *(
                stored.scheduler
                for kind, stored in (*standing, *written)
                if stored.token > 0 and stored.scheduler and (kind == "events" or stored.node)
            ),
        )
    )


def _born(key: str, created: int, pod: Stored, revision: int, token: int) -> PodLife:
    life = PodLife(key, created, pod, revision, token)
    life.saw(pod, revision, token)
    return life
