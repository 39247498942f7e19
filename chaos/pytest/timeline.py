"""What happened to a cluster in one test, as lines for the report of its failure. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.ledger import Ledger
from chaos.pytest.leading import takeovers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chaos.cluster.interface import End
    from chaos.history import History, Stamp
    from chaos.pytest.injury import Injury


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known at the moment of the report.

    Attributes:
        began: When the test did, on CLOCK_BOOTTIME; all moments are told from there.
        history: Of the lock's prefix.
        stamps: When the watch brought each revision.
        names: Of replicas, by identity, as far as they are known.
    """

    began: float
    history: History
    stamps: Mapping[int, Stamp]
    injuries: Sequence[Injury]
    ends: Sequence[End]
    names: Mapping[str, str]


def timeline(seen: Seen) -> Iterator[str]:
    """Terms, faults and ends of processes since the test began, in order; then what is not healed."""
    told = [*_terms(seen), *_faults(seen), *_ends(seen)]
    for at, line in sorted(told):
        yield f"{at - seen.began:+9.3f} s  {line}"
    if not told:
        yield "nothing was done to the cluster, and nobody else came to lead"
    if left := [each for each in seen.injuries if each.healed_at is None and not each.over]:
        yield "not healed yet:"
        for each in left:
            yield f"  {each.fault} of {_targets(each)}, in force since {each.at - seen.began:+.3f} s"


def _terms(seen: Seen) -> Iterator[tuple[float, str]]:
    how = takeovers(seen.history)
    names = {**{end.identity: end.name for end in seen.ends}, **seen.names}
    terms = tuple(Ledger.of(seen.history).terms.by_token.values())
    successors = {term.token for term in terms}
    for term in terms:
        who = names.get(term.identity, term.identity)
        began = seen.stamps.get(term.token)
        ended = seen.stamps.get(term.until_revision or 0)
        if began is not None and began.now >= seen.began:
            yield began.now, f"{who} leads by {how.get(term.token) or 'nobody knows what'}, term {term.token}"
        elif ended is None or ended.now >= seen.began:
            yield seen.began, f"{who} leads, term {term.token}"
        if ended is not None and ended.now >= seen.began and term.until_revision not in successors:
            yield ended.now, f"{who} leads no more: term {term.token} was given back"


def _faults(seen: Seen) -> Iterator[tuple[float, str]]:
    for each in seen.injuries:
        yield each.at, f"fault: {each.fault} of {_targets(each)}: {each.proof}"
        if each.healed_at is not None:
            yield each.healed_at, f"healed: {each.fault} of {_targets(each)}: {each.healing}"


def _ends(seen: Seen) -> Iterator[tuple[float, str]]:
    for end in seen.ends:
        if end.at >= seen.began:
            how = f"was ended by signal {-end.code}" if end.code < 0 else f"ended with code {end.code}"
            yield end.at, f"{end.name} {how}"


def _targets(injury: Injury) -> str:
    return ", ".join(target.name for target in injury.targets) or "the cluster"
