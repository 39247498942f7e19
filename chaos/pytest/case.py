"""One test and its cluster: what it did, how the cluster is left, and what is told when it fails."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from chaos.journal import keeping
from chaos.ledger import Ledger
from chaos.pytest.failover import MeasureFailover, actions
from chaos.pytest.injury import Hurt
from chaos.pytest.judging import AssertNoStaleWrites
from chaos.pytest.leading import WaitForLeader
from chaos.pytest.timeline import Seen, timeline
from chaos.record import Exit, Record
from component.process import Gone
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chaos.pytest.cluster import HaCluster
    from chaos.pytest.failover import Failover
    from chaos.pytest.pool import Pool

READ: Final = 10.0
"""Seconds that etcd may take to tell its history for a report; it may be what the test broke."""


class Case:
    """What one test does to its cluster.

    Args:
        name: Of the test, as pytest has it: what is left to chance is drawn from it, so it is the same in each run.
        told: Gets each failover that is measured.
        fresh: Does the cluster end with the test?
    """

    def __init__(
        self, cluster: HaCluster, pool: Pool, name: str, *, told: Callable[[Failover], None], fresh: bool = False
    ) -> None:
        """Begin.

        Raises:
            StoreError: etcd doesn't say at which revision.
        """
        clock, stop = pool.clock, pool.stop
        seed = zlib.crc32(name.encode())
        self.name = name
        self.cluster = cluster
        self.began = clock.now()
        self._seed = seed
        self._names = {target.identity: target.name for target in cluster.replicas()}
        since = cluster.gateway.range(cluster.lock.lease, timeout=READ).revision
        self.hurt = Hurt(cluster, seed=seed, stop=stop, clock=clock)
        self.wait_for_leader = WaitForLeader(cluster, stop=stop, clock=clock)
        self.measure_failover = MeasureFailover(
            cluster, self.hurt, self.wait_for_leader, told=told, stop=stop, clock=clock
        )
        self.assert_no_stale_writes = AssertNoStaleWrites(cluster, since=since, clock=clock)
        self._fresh = fresh
        self._pool = pool

    def end(self) -> None:
        """Heal what is still in force, and wait until the cluster is well again, if others are to have it.

        Raises:
            LockdError: It isn't: NotHealed, NotSteady, NoCluster.
        """
        self.hurt.close()
        if not (self._fresh or self._pool.stop.is_set()):
            self.cluster.verify(self._pool.stop)

    def lines(self) -> Iterator[str]:
        """What happened since the test began, for people."""
        yield f"{self.cluster.told}; its logs are in {self.cluster.folder / 'log'}"
        try:
            yield from timeline(self._seen())
        except (LockdError, OSError, Gone) as error:
            yield f"its history can't be read: {error}"

    def keep(self, folder: Path, problem: str) -> Path:
        """Write down what shows the failure: history, logs, traces.

        Args:
            problem: What failed, one line.

        Raises:
            LockdError, OSError: It can't be read, or written.
        """
        seen = self._seen()
        self.cluster.standing.gather()
        ends = [Exit(name=end.name, identity=end.identity, code=end.code, at=end.at) for end in seen.ends]
        record = Record(
            ledger=Ledger.of(seen.history),
            stamps=seen.stamps,
            actions=tuple(each for injury in self.hurt.injuries for each in actions(injury)),
            exits=tuple(ends),
            timing=self.cluster.timing,
            members=self.cluster.members,
            locks=(self.cluster.shape.lock,),
            until=self._pool.clock.now(),
            settled=False,
        )
        return keeping.keep(
            folder,
            record,
            {},
            seed=self._seed,
            command=f"pytest {self.name!r}",
            cluster=self.cluster.folder,
            problems=[problem, *timeline(seen)],
            parts=("log", "trace"),
        )

    def _seen(self) -> Seen:
        cluster = self.cluster
        return Seen(
            began=self.began,
            history=cluster.auditor.history(within=READ),
            stamps=cluster.auditor.stamps(),
            injuries=tuple(self.hurt.injuries),
            ends=tuple(cluster.cluster.ends()),
            names={**self._names, **{target.identity: target.name for target in cluster.replicas()}},
        )
