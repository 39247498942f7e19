"""A leader has a pod go only to make room for one that matters more, and not before its time."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from replica.api.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chaos.ledger import Write
    from chaos.objects import Stored
    from chaos.record import Record


def unfounded(record: Record) -> Iterator[Violation]:
    """Where a leader marks a pod, or deletes it at once, its node is promised to a pod that matters more.

    Promise and mark are one transaction, so this holds at every revision, whenever a leader was killed.
    """
    pods = {key: stored for key, stored in record.ledger.first.items() if key.startswith("pods/")}
    for _, group in groupby(record.ledger.writes, key=lambda write: write.revision):
        writes = [write for write in group if write.kind == "pods"]
        for write in writes:
            if write.after is None:
                pods.pop(write.key, None)
            else:
                pods[write.key] = write.after
        for write in writes:
            if write.token and write.revision not in record.by_hand and (problem := _problem(write, pods.values())):
                yield _violation(record, "unfounded-eviction", write, problem)


def early(record: Record) -> Iterator[Violation]:
    """A pod that was marked keeps its grace period, by the clock of the leader that deletes it."""
    times = {
        (uid, write.revision): write.after.at
        for write in record.ledger.writes
        if write.kind == "events" and write.after is not None
        for uid in write.after.concerns
    }
    for write in record.ledger.writes:
        if write.kind != "pods" or write.after is not None or not write.token or write.before is None:
            continue
        ends, at = write.before.ends, times.get((write.before.uid, write.revision), "")
        until, when = parse_time(ends) if ends else None, parse_time(at) if at else None
        if until is not None and when is not None and when < until:
            yield _violation(record, "early-eviction", write, f"was deleted at {at}, its grace period ends at {ends}")


def _problem(write: Write, pods: Iterable[Stored]) -> str:
    """What is wrong with a leader's write of a pod; "" if nothing is."""
    before, after = write.before, write.after
    if before is None or before.ends or (after is not None and not after.ends):
        return ""
    grace = before.spec.grace_period if before.spec is not None else 0.0
    if after is None and grace > 0:
        return f"was deleted by a leader without a mark, though it has a grace period of {grace:g} s"
    promised = [pod for pod in pods if pod.nominated and pod.nominated == before.node]
    if not promised:
        return f"has to go, and its node {before.node!r} is promised to nobody"
    if not any(_matters_more(pod, before) for pod in promised):
        return f"has to go for a pod that matters no more: {before.priority} is its priority"
    return ""


def _matters_more(pod: Stored, other: Stored) -> bool:
    """Where a class decides that isn't told of here, it may."""
    return pod.priority is None or other.priority is None or pod.priority > other.priority


def _violation(record: Record, check: str, write: Write, message: str) -> Violation:
    standing = record.ledger.terms.standing(write.revision)
    return Violation(
        check=check,
        revision=write.revision,
        key=write.key,
        token=write.token,
        term_token=standing.token if standing is not None else 0,
        message=message,
    )
