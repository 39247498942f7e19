"""What affinity and anti-affinity refuse, told by the domains of one topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replica.framework.outlook import NOTHING_NOW, Outlook

if TYPE_CHECKING:
    from replica.framework.outlook import Bar
    from replica.plugins.affinity_plan import AffinityPlan

FEW: Final = 64
"""So many domains are gone through one by one."""


def outlook_of(plan: AffinityPlan) -> Outlook | None:
    """What a plan refuses; None where it takes more than the domains of one topology and rows of their own."""
    if not plan.refuses:
        return NOTHING_NOW
    bars: list[Bar] = []
    found = Outlook()
    wanted = plan.wanted.by_key.values() if plan.terms.affinity else ()
    # The first of pods that want each other may go to any node with the labels.
    first = plan.own and not any(tally.total for tally in wanted)
    for tally in wanted:
        allowed = [first or count > 0 for count in tally.counts.tolist()] if tally.domains.values <= FEW else None
        if allowed is None:
            return None
        allowed[0] = False
        if not found.refuse(tally.domains, allowed):
            return None
    for tallies in (plan.shunned, plan.shunning):
        for tally in tallies.by_key.values():
            if not tally.amounts:
                continue
            if not tally.domains.shared:
                bars.append((tally, 0))
            elif tally.domains.values > FEW or not found.refuse(
                tally.domains, [count <= 0 for count in tally.counts.tolist()]
            ):
                return None
    found.bars = tuple(bars)
    return found
