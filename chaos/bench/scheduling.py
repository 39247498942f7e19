"""How fast pods get their nodes: from the first one created to the last one bound."""

from __future__ import annotations

import http.client
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chaos import spans, workload
from chaos.bench import renewals
from chaos.bench.ceiling import ceiling
from chaos.bench.creator import Creator
from chaos.bench.objects import NAMESPACE, PLAIN, SHAPES, create_groups, create_nodes
from chaos.bench.result import Run
from chaos.bench.rig import PERIOD, rig
from chaos.bench.usage import Meter
from chaos.errors import TooSlow

if TYPE_CHECKING:
    from chaos.bench.rig import Bench, Rig
    from chaos.cluster.interface import Target

PATIENCE: Final = 300.0
"""Seconds that all pods of a run may take."""

SETTLING: Final = 60.0
"""Seconds that caches and events may take."""


def run(bench: Bench, *, nodes: int, shape: str = PLAIN) -> Run:
    """One run on a cluster of its own, and one of its limit on another.

    Args:
        shape: A name of `objects.SHAPES`.

    Raises:
        TooSlow, NotStarted, Interrupted, StoreError: It gave no figure.
    """
    bench = replace(bench, pods=SHAPES[shape].pods(bench.pods, nodes))
    value, details = _scheduled(bench, nodes, bench.pods, shape)
    limit, raw = ceiling(bench, nodes=nodes)
    return Run(value=value, limit=limit, details={**details, "limitCpuUsPerPod": raw})


def _scheduled(bench: Bench, nodes: int, pods: int, shape: str) -> tuple[float, dict[str, Any]]:
    told = f"bind {pods} pods on {nodes} nodes"
    with rig(bench) as made:
        leader = _leader(made)
        create_nodes(made.gateway, made.plan.prefix, nodes, shape)
        create_groups(made.gateway, made.plan.prefix, pods, shape)
        standing = nodes * SHAPES[shape].standing
        bench.until(lambda: _seen(leader) >= standing, within=SETTLING, what="not all pods are cached")
        creator = Creator.start(made.state.endpoints, made.plan.prefix, pods, shape)
        try:
            creator.until_ready()
            names = {
                name: f"{name} (leader)" if name == leader.name else name
                for name in (*made.processes(), "creator", "bench")
            }
            processes = {**made.processes(), "creator": creator.process.pid, "bench": os.getpid()}
            with renewals.Renewals(made.gateway, made.lock.lease, clock=bench.clock) as seen:
                meter = Meter({names[name]: pid for name, pid in processes.items()})
                since = bench.clock.now()
                creator.go()
                gathered = creator.gather()

                def done() -> bool:
                    created = gathered.ended
                    return _progress(bench, told, leader, pods) and created

                bench.until(done, within=PATIENCE, what=f"not done: {told}")
                first, last_created = gathered.span()
                until = bench.clock.now()
                used = meter.used()
            bench.until(lambda: _events(leader) >= pods, within=SETTLING, what="not all events are written")
            used_with_events = meter.used()
            if _leader(made).identity != leader.identity:
                raise TooSlow("the leader changed during the run: the machine is too busy for figures")
            found = workload.placement(made.gateway, made.plan.prefix)
            placed = {path: node for path, node in found.items() if not path.startswith(f"{NAMESPACE}/standing-")}
            if len(placed) != pods or not all(placed.values()):
                raise TooSlow(f"only {sum(map(bool, placed.values()))} of {len(placed)} pods are bound")
            bound = _last_bind(made, leader)
        finally:
            creator.end()
        seconds = bound - first
        off = renewals.off_period(seen.seen(), PERIOD, since=since, until=until)
        return pods / seconds, {
            "nodes": nodes,
            "pods": pods,
            "seconds": round(seconds, 3),
            "createdPerSecond": round(pods / (last_created - first), 1),
            "renewalsOffPeriod": renewals.summary(off),
            "cpuSeconds": {name: round(value, 2) for name, value in used.items()},
            "cpuUsPerPod": {name: round(1e6 * value / pods, 1) for name, value in used_with_events.items()},
        }


def _leader(made: Rig) -> Target:
    found = made.cluster.leader()
    if found is None:
        raise TooSlow("nobody leads: the machine is too busy for figures")
    return found


def _progress(bench: Bench, told: str, leader: Target, pods: int) -> bool:
    """Tell how many are bound; True when the leader has none left."""
    bound = int(_metric(leader, "scheduler_schedule_attempts_total", 'result="scheduled"'))
    bench.progress(told, bound, pods)
    return bound >= pods


def _events(leader: Target) -> int:
    return int(_metric(leader, "lockd_events_total", 'result="written"'))


def _seen(leader: Target) -> int:
    """How many pods on nodes the leader knows of."""
    return int(_metric(leader, "scheduler_cache_size", 'type="pods"'))


def _metric(leader: Target, name: str, label: str) -> float:
    """The sum of a metric's samples with this label."""
    lines = _get(leader, "/metrics").splitlines()
    found = [line for line in lines if line.startswith(f"{name}{{") and label in line]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def _get(leader: Target, path: str) -> str:
    connection = http.client.HTTPConnection(urlsplit(leader.address).netloc, timeout=SETTLING)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise TooSlow(f"{leader.name} does not answer any more: {error}") from error
    finally:
        connection.close()


def _last_bind(made: Rig, leader: Target) -> float:
    """When the reply to the leader's last bind came, in wall seconds: by its own spans, which are written at once."""
    binds = [
        span.end
        for span in spans.read_folder(made.plan.traces)
        if span.name == "scheduler.bind_batch" and span.instance == leader.identity
    ]
    return max(binds)
