"""A gang that one transaction takes is bound whole or not at all."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from replica.binding import MOST_BYTES, MOST_PODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.ledger import Ledger, Write
    from chaos.objects import Stored
    from chaos.record import Record


class _Members:
    """Who is bound of each group, who left it and when, and how many the group asked for and when."""

    def __init__(self) -> None:
        self.bound: defaultdict[str, set[str]] = defaultdict(set)
        self.left: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.least: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.seen: dict[str, int] = {}
        """Pod -> the revision of its last write."""
        self._of: dict[str, str] = {}
        self._sizes: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def apply(self, key: str, stored: Stored | None, revision: int) -> None:
        kind, _, name = key.partition("/")
        if kind == "podgroups":
            # 0: there is no such group, which asks for nothing.
            self.least[name].append((revision, stored.least if stored is not None else 0))
        elif kind == "pods":
            group = _group(key, stored) if stored is not None and stored.node and not stored.finished else ""
            before = self._of.pop(key, "")
            if before and before != group:
                self.bound[before].discard(key)
                self.left[before][key] = revision
            if group:
                self._of[key] = group
                self.bound[group].add(key)
            if stored is None:
                self.seen.pop(key, None)
            else:
                self.seen[key] = revision
                self._sizes[_group(key, stored)][key] = stored.size

    def ran(self, group: str, since: int) -> int:
        """How many were bound at any moment since a revision."""
        gone = {key for key, revision in self.left[group].items() if revision >= since}
        return len(self.bound[group] | gone)

    def fits(self, group: str, asked: int) -> bool:
        """Does one transaction take so many of it, whichever they are?"""
        return asked <= MOST_PODS and sum(self._sizes[group].values()) <= MOST_BYTES // 2

    def asked(self, group: str, since: int) -> int:
        """The least that the group asked for since a revision; 0: at some moment there was none."""
        found = self.least[group]
        before = [least for revision, least in found if revision <= since]
        return min([before[-1] if before else 0, *(least for revision, least in found if revision > since)])


def partly_bound(record: Record) -> Iterator[Violation]:
    """After a leader's bind as many of a gang are bound as must run, if one transaction takes so many.

    The leader acted on what it saw when it had seen the newest of the pods that it bound; whoever was bound since then
    counts, and the group as it asked for least.
    """
    ledger = record.ledger
    members = _Members()
    for key, stored in ledger.first.items():
        members.apply(key, stored, 0)
    for revision, group in groupby(ledger.writes, key=lambda write: write.revision):
        binds: defaultdict[str, list[Write]] = defaultdict(list)
        seen: dict[str, int] = {}
        for write in group:
            if _binds(write):
                binds[_group(write.key, write.after)].append(write)
                seen[write.key] = members.seen.get(write.key, 0)
            members.apply(write.key, write.after, revision)
        for name, writes in binds.items():
            since = max(seen[write.key] for write in writes)
            ran, asked = members.ran(name, since), members.asked(name, since)
            if ran < asked and members.fits(name, asked):
                yield _violation(ledger, name, writes[0], f"{ran} of the {asked} pods that must run are bound")


def _binds(write: Write) -> bool:
    """Did a leader bind a pod of a group here?"""
    if write.kind != "pods" or not write.token or write.after is None or not write.after.group:
        return False
    return bool(write.after.node) and not (write.before is not None and write.before.node)


def _group(key: str, pod: Stored | None) -> str:
    """`namespace/name` of a pod's group, or ""."""
    return f"{key.split('/')[1]}/{pod.group}" if pod is not None and pod.group else ""


def _violation(ledger: Ledger, group: str, write: Write, message: str) -> Violation:
    standing = ledger.terms.standing(write.revision)
    return Violation(
        check="partly-bound",
        revision=write.revision,
        key=f"podgroups/{group}",
        token=write.token,
        term_token=standing.token if standing is not None else 0,
        message=message,
    )
