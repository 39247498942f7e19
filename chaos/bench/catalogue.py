"""The benchmarks that there are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from chaos.bench import machine, scheduling, writes
from chaos.bench.objects import APART, GANGS, PREEMPTING, SPREAD
from chaos.bench.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.bench.result import Run
    from chaos.bench.rig import Bench

WITHOUT_A_SCHEDULER: Final = "the same guarded transactions out of values made before, creator and standbys running"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One of them.

    Attributes:
        unit: Of its value and its limit.
        what: What is measured, one line.
        limit: What its limit is.
        once: Makes one run.
    """

    name: str
    unit: str
    what: str
    limit: str
    once: Callable[[Bench], Run]


CATALOGUE: Final = {
    one.name: one
    for one in (
        Benchmark(
            "guarded-writes",
            "objects/s",
            "objects written by guarded transactions of 120, 4 in flight, 3 members",
            "the same puts without compares",
            writes.run,
        ),
        *(
            Benchmark(
                f"scheduling-{nodes}",
                "pods/s",
                f"pods created to bound on {nodes} nodes: 3 members, 3 replicas, Scheduled events on",
                WITHOUT_A_SCHEDULER,
                partial(scheduling.run, nodes=nodes),
            )
            for nodes in (1000, 5000)
        ),
        *(
            Benchmark(
                name,
                "pods/s",
                f"the same on 5000 nodes, of pods {what}",
                WITHOUT_A_SCHEDULER,
                partial(scheduling.run, nodes=5000, shape=shape),
            )
            for name, shape, what in (
                ("spread", SPREAD, "that must be spread evenly over zones and nodes, by application"),
                ("anti-affinity", APART, "of which a thousand each must keep off each other's nodes"),
            )
        ),
        Benchmark(
            "preemption",
            "pods/s",
            "pods created to bound on 5000 full nodes: three pods go for each, as many as there are nodes at most",
            WITHOUT_A_SCHEDULER,
            partial(scheduling.run, nodes=5000, shape=PREEMPTING),
        ),
        Benchmark(
            "gangs",
            "pods/s",
            "pods of gangs of 8 created to bound on 5000 nodes, each gang by one nested branch",
            WITHOUT_A_SCHEDULER,
            partial(scheduling.run, nodes=5000, shape=GANGS),
        ),
    )
}


def measure(benchmark: Benchmark, bench: Bench, *, runs: int) -> Result:
    """Run it so many times.

    Raises:
        LockdError: It gave no figure.
    """
    described = machine.describe()
    return Result(
        name=benchmark.name,
        unit=benchmark.unit,
        limit=benchmark.limit,
        runs=tuple(benchmark.once(bench) for _ in range(runs)),
        machine=described,
        notes=machine.doubts(described),
    )
