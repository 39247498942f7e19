"""The record of what a cluster lived through: everything that its judges and its journal are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chaos.effect import Effect
from chaos.faults.clocks import shifts
from chaos.ledger import Ledger
from chaos.measure import accounts
from chaos.record import Action, CutOff, Exit, Gap, Record
from chaos.runner.effects import AGAIN, CUT, ENDS, IN_TURN, NETWORK, ONCE
from lockd.record import LeaderRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chaos.cluster.interface import Target
    from chaos.history import Change, Stamp
    from chaos.runner.deed import Deed, Outcome
    from chaos.runner.schedule import Planned
    from chaos.runner.stage import Stage


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cluster's record, and the part of it that is each trial's: its own actions and gaps."""

    whole: Record
    trials: tuple[Record, ...]


def assemble(stage: Stage, outcomes: Sequence[Outcome], *, within: float) -> Assembled:
    """Read the history and what the processes told, once all trials are over.

    Args:
        within: Seconds that etcd may take to tell its history.

    Raises:
        StoreError: It didn't.
        OSError: A trace or log can't be read.
        LockdError: What containers wrote can't be had.
    """
    until = stage.clock.now()
    stage.standing.gather()
    operations = tuple(stage.workload.operations())  # before the history, which then has all of them
    ledger = Ledger.of(stage.auditor.history(within=within))
    stamps = stage.auditor.stamps()
    exits = [Exit(name=end.name, identity=end.identity, code=end.code, at=end.at) for end in stage.cluster.ends()]
    deeds = [deed for outcome in outcomes for deed in outcome.deeds]
    shifted = shifts((deed.planned.fault, deed.targets, deed.planned.parameters) for deed in deeds)
    told = accounts.gather(stage.plan.traces, stage.plan.logs, stamps, shifted=shifted)
    actions = [tuple(_actions(outcome.deeds, ledger, stamps, exits)) for outcome in outcomes]
    gaps = [tuple(_gaps(outcome)) for outcome in outcomes]
    whole = Record(
        ledger=ledger,
        stamps=stamps,
        accounts=told,
        actions=tuple(each for found in actions for each in found),
        exits=tuple(exits),
        operations=operations,
        gaps=tuple(each for found in gaps for each in found),
        cut_off=tuple(_cut_off(deeds)),
        timing=stage.timing,
        members=stage.plan.members,
        until=until,
        settled=all(outcome.steady for outcome in outcomes),
    )
    parts = (
        replace(whole, actions=mine, gaps=waited, until=outcome.ended)
        for mine, waited, outcome in zip(actions, gaps, outcomes, strict=True)
    )
    return Assembled(whole, tuple(parts))


def _gaps(outcome: Outcome) -> Iterator[Gap]:
    if outcome.silence is not None and outcome.gap is not None:
        yield Gap(began=outcome.silence.began, seconds=outcome.gap)


def _cut_off(deeds: Sequence[Deed]) -> Iterator[CutOff]:
    """Who could hear of no etcd member: as long as no newer fault had its say on the same links."""
    for deed in deeds:
        parameters = deed.planned.parameters
        if deed.planned.fault not in CUT or parameters.get("off", "etcd") == "presence" or parameters.get("members"):
            continue
        for target in deed.targets:
            newer = [
                each.at
                for each in deeds
                if each.planned.fault in NETWORK and target in each.targets and each.at > deed.at
            ]
            ends = [*newer, *([deed.healed_at] if deed.healed_at is not None else [])]
            yield CutOff(identity=target.identity, at=deed.at, until=min(ends, default=None))


def _actions(
    deeds: Sequence[Deed], ledger: Ledger, stamps: Mapping[int, Stamp], exits: Sequence[Exit]
) -> Iterator[Action]:
    for deed in deeds:
        at_once = deed.targets[:1] if deed.planned.fault in IN_TURN else deed.targets
        for target in at_once:
            yield _action(deed, target.name, target.identity)
        if not deed.targets:
            yield _action(deed, "cluster", "", revisions=_by_hand(deed, ledger, stamps))
        if deed.planned.fault in AGAIN:
            yield from _later(deed, at_once, exits, ledger, stamps)


def _action(
    deed: Deed, target: str, identity: str, *, at: float | None = None, revisions: tuple[int, ...] = ()
) -> Action:
    planned = deed.planned
    return Action(
        fault=planned.fault,
        effect=Effect.of(planned.fault, on_etcd=target.startswith("etcd-")),
        target=target,
        identity=identity,
        at=deed.at if at is None else at,
        wall=deed.wall + (0.0 if at is None else at - deed.at),
        proof=deed.proof,
        lifted_at=deed.lifted_at,
        healed_at=deed.healed_at,
        healing=deed.healing,
        heals=_heals(planned, target),
        role=planned.role,
        trigger=planned.trigger_told,
        nth=planned.nth,
        parameters=planned.parameters,
        revisions=revisions,
    )


def _heals(planned: Planned, target: str) -> bool:
    """Is there something to undo? Of an end there is where nobody else can go on meanwhile, or who ended stays away."""
    if planned.fault not in ONCE:
        return True
    return planned.fault in ENDS and (planned.role == "all" or target.startswith("etcd-"))


def _later(
    deed: Deed, at_once: Sequence[Target], exits: Sequence[Exit], ledger: Ledger, stamps: Mapping[int, Stamp]
) -> Iterator[Action]:
    """The ends of processes that a fault ended later than it was applied.

    A leader that was asked to end gave its term back before it ended: then at the latest it had been asked.
    """
    over = [(each.identity, stamps.get(each.until_revision or 0)) for each in ledger.terms.by_token.values()]
    first = {target.identity for target in at_once}
    names = {target.name for target in deed.targets}
    for end in exits:
        during = deed.at <= end.at and (deed.healed_at is None or end.at <= deed.healed_at)
        if end.name in names and end.identity not in first and during:
            given_back = [at.now for who, at in over if who == end.identity and at is not None and at.now >= deed.at]
            yield _action(deed, end.name, end.identity, at=min(end.at, *given_back) if given_back else end.at)


def _by_hand(deed: Deed, ledger: Ledger, stamps: Mapping[int, Stamp]) -> tuple[int, ...]:
    """The revisions at which a fault, or its healing, wrote to a lease: nobody else deletes one or puts a stranger."""
    if Effect.of(deed.planned.fault) is not Effect.KEYS:
        return ()
    holders = {term.identity for term in ledger.terms.by_token.values()}
    return tuple(
        change.revision
        for change in ledger.history.changes
        if change.kind == "leases"
        and (stamp := stamps.get(change.revision)) is not None
        and deed.at <= stamp.now
        and (deed.healed_at is None or stamp.now <= deed.healed_at + 1.0)
        and _strange(change, holders)
    )


def _strange(change: Change, holders: set[str]) -> bool:
    if change.value is None:
        return True
    record = LeaderRecord.parse(change.value)
    return record is None or (bool(record.holder_identity) and record.holder_identity not in holders)
