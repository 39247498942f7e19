"""A backend of the pytest plugin without processes: clusters of pretended replicas, whose faults are done at once."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

from chaos.cluster.interface import Condition, End, Target
from chaos.errors import TooSlow
from chaos.faults.effect import Effect, Moment, always, never
from chaos.faults.errors import NotHealed
from chaos.faults.place import Place
from chaos.history import Stamp
from chaos.pytest.cluster import HaCluster
from component.clock import SystemClock
from lockd.etcd.connection import Connection
from lockd.ports import LockName
from tests.harness.history import HistoryMaker

CLOCK = SystemClock()


class Cluster:
    """Replicas of which the first leads, and after its fault the next one."""

    def __init__(self, replicas: int) -> None:
        self.made = HistoryMaker()
        self.stamps: dict[int, Stamp] = {}
        self.everybody = [
            Target(f"replica-{number}", f"vm_{number}", number, 1, f"http://127.0.0.1:{number}")
            for number in range(1, replicas + 1)
        ]
        self.ended: list[End] = []
        self.lead()

    def lead(self) -> None:
        """The next one takes over."""
        if self.made.revision > 1:
            self.everybody.append(self.everybody.pop(0))
        revision = self.made.acquire(self.everybody[0].identity)
        self.stamps[revision] = Stamp(CLOCK.now(), CLOCK.wall())

    def leader(self):
        return self.everybody[0]

    def replicas(self):
        return sorted(self.everybody, key=lambda each: each.name)

    def etcd_members(self):
        return ()

    def daemons(self):
        return ()

    def condition(self, _target):
        return Condition.RUNNING

    def ends(self):
        return tuple(self.ended)


@dataclass
class World:
    """What was made and done, over all clusters.

    Attributes:
        clusters: In order; those that have ended, too.
        told: What happened, in order.
        chosen: What clusters are made of.
        missing, broken: Why none can be had, or does not come up.
        unsteady: Why the next looks at a cluster find it not well.
        stubborn: Why the next healings fail; each is tried twice.
    """

    clusters: list[HaCluster] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    chosen: object = None
    missing: Exception | None = None
    broken: Exception | None = None
    unsteady: list[str] = field(default_factory=list)
    stubborn: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def raised(self, chosen, shape, folder, *, stop, clock):
        """In place of `chaos.pytest.cluster.raised`."""
        self.chosen = chosen
        self.told.append(f"up {shape}")
        for problem in (self.missing, self.broken):
            if problem is not None:
                raise problem
        (folder / "log").mkdir(parents=True)
        (folder / "log" / "replica-1.log").write_text("said\n")
        cluster = Cluster(shape.replicas)
        made = HaCluster(
            shape=shape,
            place=Place(
                cluster=cluster,
                gateway=SimpleNamespace(range=lambda *_, **__: SimpleNamespace(revision=cluster.made.revision)),
                lock=LockName(shape.prefix, *shape.lock.split("/")),
                remedies=None,
                folder=folder,
            ),
            connection=Connection(endpoints=("127.0.0.1:1",)),
            folder=folder,
            timing=shape.timing,
            traced=False,
            members=shape.members,
            told=str(shape),
            standing=SimpleNamespace(gather=lambda: None),
            auditor=SimpleNamespace(
                history=lambda within: cluster.made.history(),
                stamps=lambda: dict(cluster.stamps),
            ),
            steady=SimpleNamespace(wait=self._steady),
        )
        self.clusters.append(made)
        try:
            yield made
        finally:
            self.told.append(f"down {shape}")

    def _steady(self, probes, *, within, stop):
        self.told.append("verified")
        if self.unsteady:
            raise TooSlow(self.unsteady.pop(0))

    def custody(self, place, **_):
        """In place of `chaos.faults.custody.Custody`."""
        return Custody(self, place.cluster)


class Custody:
    """Does faults at once: whoever is hit leads no more."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self._world = world
        self._cluster = cluster
        self._held: list[Effect] = []
        self._lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for applied in reversed(self._held):
            applied.heal()

    def apply(self, fault, targets):
        name = fault.name
        self._world.told.append(f"{name} {', '.join(target.name for target in targets)}")
        moment = Moment.now(CLOCK)
        if self._cluster.leader() in targets:
            self._cluster.lead()
        applied = Effect(moment, f"{name} was seen", lambda: self._undo(name), always if name == "kill" else never)
        self._held.append(applied)
        return applied

    def heal(self, applied):
        proof = applied.heal()
        self._held.remove(applied)
        return proof

    def _undo(self, name):
        if self._world.stubborn:
            raise NotHealed(self._world.stubborn.pop(0))
        self._world.told.append(f"{name} healed")
        return f"{name} is undone"
