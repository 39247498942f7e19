"""How far a project has come up, asked of each replica and each `lockd` by their published ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.cluster.health import Health, is_answered, status_of
from chaos.compose.roster import DAEMON, REPLICA, USUAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.compose.container import Container
    from chaos.compose.roster import Roster

OFTEN: Final = 3
"""Ends in a row after which it won't do by itself."""


def ask(roster: Roster) -> Health:
    """Ask them all."""
    urls = {name: each.url(USUAL[REPLICA]) for name, each in roster.replicas.items()}
    ready = sum(status_of(url, "/readyz") == 200 for url in urls.values())
    ready += sum(is_answered(each.dialled(USUAL[DAEMON])) for each in roster.daemons.values())
    leader = next((name for name, url in urls.items() if status_of(url, "/leader") == 200), "")
    return Health(ready, len(roster.replicas) + len(roster.daemons), leader)


def failing(containers: Iterable[Container]) -> tuple[Container, ...]:
    """Those that end again and again, or have ended for good."""
    return tuple(each for each in containers if not each.running and (each.tries >= OFTEN or not each.restarts))
