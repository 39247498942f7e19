"""What a cluster must be made with so that some faults can be had on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chaos.faults import clocks, collector
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Need

if TYPE_CHECKING:
    from collections.abc import Collection

    from chaos.cluster.plan import Plan


def equipped(plan: Plan, needs: Collection[Need]) -> Plan:
    """The plan of a cluster that has what faults need; files of it go to the plan's folder.

    Raises:
        NotAvailable: Something of it can't be had on this machine.
    """
    if Need.NETWORKS in needs:
        raise NotAvailable("processes of one host share its network: take a cluster of containers, --backend compose")
    variables = {name: dict(plan.environment.get(name, {})) for name in plan.names()}
    extras = []
    if Need.CLOCKS in needs:
        extras.append(clocks.equipped(plan.folder, plan.names()))
    if Need.COLLECTOR in needs:
        extras.append(collector.equipped(plan.names()))
    for extra in extras:
        for name, more in extra.items():
            variables[name] |= more
    return replace(plan, proxied=plan.proxied or Need.LINKS in needs, environment=variables)
