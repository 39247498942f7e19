"""The links that a network fault acts on, and what is seen on them: by trying them, and by the proxy's counters."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Final

from chaos.cluster.interface import Condition
from chaos.errors import LinksGone
from chaos.faults.effect import Moment, undone
from chaos.faults.errors import NotAvailable, NotHealed
from chaos.proxy.link import ETCD, PRESENCE, STRANGER, Link
from chaos.proxy.rule import PASS, Direction, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Scene
    from chaos.proxy.counters import Counters
    from chaos.proxy.interface import Held, Links
    from chaos.proxy.rule import Rule

GLANCE: Final = 2.0
"""Seconds that an answer may take beyond the delay that is expected."""

GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""How a gRPC client begins: etcd answers that at once."""

STEP: Final = 0.02


class Wires:
    """One fault's links. `hurt` and `healed` look at what `hold` did.

    Raises:
        NotAvailable: The cluster has no links.
    """

    def __init__(self, scene: Scene) -> None:
        links = scene.cluster.links()
        if links is None:
            raise NotAvailable("this cluster has no links between its processes: make one with `chaosctl up --proxied`")
        self._scene = scene
        self._links: Links = links
        self._rules: dict[Link, Rule] = {}
        self._before: dict[Link, Counters] = {}

    def of(self, targets: Sequence[Target], off: str, members: int) -> tuple[Link, ...]:
        """The links of targets to `etcd` (to so many members of it; 0: all), to and from `presence`, or `all`.

        Raises:
            NotAvailable: There are none such.
        """
        names = {target.name for target in targets}
        every = self._links.all()
        etcd = sorted({link.destination for link in every if link.kind == ETCD})
        reached = set(self._scene.random.sample(etcd, min(members, len(etcd))) if members else etcd)
        found = [
            link
            for link in every
            if (link.destination in names and link.kind == ETCD)
            or (off != PRESENCE and link.source in names and link.destination in reached)
            or (off != ETCD and link.kind == PRESENCE and names & {link.source, link.destination})
        ]
        if not found:
            raise NotAvailable(f"{', '.join(sorted(names))}: no link of this cluster goes there ({off})")
        return tuple(found)

    def hold(self, rules: Mapping[Link, Rule]) -> tuple[Moment, Held]:
        """Put rules in force; the moment is just before that."""
        self._rules = dict(rules)
        self._before = {link: self._links.counters(link) for link in rules}
        moment = Moment.now(self._scene.clock)
        return moment, self._links.hold(rules)

    def hurt(self) -> str | None:
        """What shows that the rules have an effect; None: nothing does yet."""
        proofs = []
        for link, rule in self._tried():
            proof = self._effect(link, rule)
            if proof is None:
                return None
            proofs.append(f"{link}: {proof}")
        return "; ".join(proofs) or None

    def healed(self) -> str:
        """What shows that the rules are lifted.

        Raises:
            NotHealed: Nothing does.
        """
        try:
            return undone(self._scene, self._passing, "the network is not as before")
        except LinksGone as error:
            raise NotHealed(str(error)) from error

    def _passing(self) -> str | None:
        """That none of our rules is left, and that somebody answers who was hurt, if anybody is there to."""
        counters = {link: self._links.counters(link) for link in self._rules}
        if any(counters[link].rule == rule for link, rule in self._rules.items()):
            return None
        free = [link for link, _ in self._tried() if counters[link].rule == PASS]
        for link in free:
            with _dialled(self._links.endpoint(link), link) as dialled:
                if dialled is not None and _answered(dialled, GLANCE):
                    return f"no rule is left on {len(self._rules)} links; {link} answers"
        running = self._running()
        if any(link.destination in running for link in free):
            return None
        return f"no rule of this fault is left on {len(self._rules)} links"

    def _running(self) -> set[str]:
        everybody = (*self._scene.cluster.etcd_members(), *self._scene.cluster.replicas())
        return {each.name for each in everybody if self._scene.cluster.condition(each) is Condition.RUNNING}

    def _tried(self) -> list[tuple[Link, Rule]]:
        """The links that can be tried from here: those to etcd, and a stranger's to a replica's presence."""
        return [(link, rule) for link, rule in self._rules.items() if link.kind == ETCD or link.source == STRANGER]

    def _effect(self, link: Link, rule: Rule) -> str | None:
        """What shows the effect on a connection of our own; None: nothing."""
        clock = self._scene.clock
        began = clock.now()
        with _dialled(self._links.endpoint(link), link) as dialled:
            if rule.mode is Mode.BLACK_HOLE and dialled is not None:
                return self._held_back(link, rule, dialled)
            least = _least(link, rule)
            heard = dialled is not None and _answered(dialled, least + 2 * rule.jitter + GLANCE)
            took = clock.now() - began
        now = self._links.counters(link)
        match rule.mode:
            case Mode.REFUSE:
                return "refused" if dialled is None and not now.listening else None
            case Mode.RESET:
                more = now.reset - self._before[link].reset
                return f"{more} connections were reset" if not heard and more > 0 else None
            case Mode.PASS:
                shown = heard and now.rule == rule and took >= least
                return f"an answer took {took * 1000:.0f} ms" if shown else None
            case _:
                return None

    def _held_back(self, link: Link, rule: Rule, dialled: socket.socket) -> str | None:
        end = self._scene.clock.now() + min(GLANCE, self._scene.patience)
        while True:
            now = self._links.counters(link)
            ways = {Direction.TO: (now.to_held,), Direction.FROM: (now.from_held,)}
            held = max(ways.get(rule.direction, (now.to_held, now.from_held)))
            if held:
                return None if _answered(dialled, 0.0) else f"{held} bytes are held back"
            if self._scene.clock.now() >= end or self._scene.clock.wait(self._scene.stop, STEP):
                return None


def _least(link: Link, rule: Rule) -> float:
    """Seconds that an answer takes at least: a replica's presence speaks first, etcd once it was spoken to."""
    ways = 0 if link.kind == PRESENCE and rule.direction is Direction.TO else 1
    if link.kind == ETCD and rule.direction is Direction.BOTH:
        ways = 2
    return ways * (rule.latency - rule.jitter)


@contextlib.contextmanager
def _dialled(endpoint: str, link: Link) -> Iterator[socket.socket | None]:
    """A connection of our own over a link, on which something was said; None: it was refused or reset."""
    host, _, port = endpoint.rpartition(":")
    try:
        dialled = socket.create_connection((host, int(port)), timeout=GLANCE)
    except OSError:
        yield None
        return
    with dialled:
        with contextlib.suppress(OSError):
            dialled.sendall(GREETING if link.kind == ETCD else b"\n")
        yield dialled


def _answered(dialled: socket.socket, timeout: float) -> bool:
    """Does something come back?"""
    try:
        dialled.settimeout(timeout)
        return bool(dialled.recv(1))
    except OSError:
        return False
