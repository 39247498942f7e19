"""A scenario as its file says it, in Chaos Toolkit's words where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from chaos import roles
from chaos.roles import Role
from chaos.scenario import length, trigger
from chaos.scenario.length import Length
from chaos.scenario.trigger import Trigger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_ACTIONS: Final = 1000

UNTIL_OVER: Final = "until-over"
"""In place of a length: until a fault has done all that it does by itself, as a rolling restart."""

Probe = Literal["etcd-healthy", "leader", "replicas-ready", "daemons-serving", "workload-served"]

PROBES: Final[tuple[Probe, ...]] = ("etcd-healthy", "leader", "replicas-ready", "daemons-serving", "workload-served")


class Configuration(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The cluster that it wants.

    Attributes:
        etcd: etcd members: 1 or 3.
        replicas: Replicas, at least 1.
        daemons: How many `lockd serve`.
        fresh: A new cluster for each trial; otherwise one heals and goes on.
        flags: Further flags of `replica run`.
    """

    etcd: int = 3
    replicas: int = 3
    daemons: int = 0
    fresh: bool = False
    flags: tuple[str, ...] = ()

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.etcd not in (1, 3):
            yield "etcd", f"{self.etcd} must be 1 or 3"
        for name, value, least in (("replicas", self.replicas, 1), ("daemons", self.daemons, 0)):
            if not least <= value <= 50:
                yield name, f"{value} must be from {least} to 50"


class SteadyState(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What must hold before each trial, and again after it was healed.

    Attributes:
        title: For people.
        probes: What is looked at; by default all of it.
        within: How long it may take to hold.
    """

    title: str = ""
    probes: tuple[Probe, ...] = PROBES
    within: str = "4 lease + 60s"

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.probes:
            yield "probes", f"is empty: take some of {', '.join(PROBES)}"
        yield from _lengths(within=self.within)


class Workload(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Who wants something of the cluster meanwhile.

    Attributes:
        kind: `steady`: a pod each 1/rate s; `bursts`: many at once, again and again; `openb`: the pods of a small trace
            of a GPU cluster; `lock-only`: `lockctl elect` contend for a lock of their own, no pods at all; `none`.
        rate: Pods per second, of `steady` and `openb`.
        size: Pods of one burst.
        every: Between the beginnings of two bursts.
        nodes: How many there are for the pods.
        pods-per-node: How many each of them takes.
        contenders: How many `lockctl elect` there are.
    """

    kind: Literal["steady", "bursts", "openb", "lock-only", "none"] = "steady"
    rate: float | None = None
    size: int | None = None
    every: str | None = None
    nodes: int | None = None
    pods_per_node: int | None = None
    contenders: int | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        for field in ("rate", "size", "every", "nodes", "pods_per_node", "contenders"):
            name = field.replace("_", "-")
            if getattr(self, field) is not None and name not in _FIELDS[self.kind]:
                yield name, f"is no matter of {self.kind}: {_told(_FIELDS[self.kind])}"
        for field, value, least, most in (
            ("rate", self.rate, 0.1, 1000),
            ("size", self.size, 1, 5000),
            ("nodes", self.nodes, 1, 5000),
            ("pods-per-node", self.pods_per_node, 1, 1000),
            ("contenders", self.contenders, 1, 50),
        ):
            if value is not None and not least <= value <= most:
                yield field, f"{value} must be from {least} to {most}"
        yield from _lengths(every=self.every)


_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "steady": ("rate", "nodes", "pods-per-node"),
    "bursts": ("size", "every", "nodes", "pods-per-node"),
    "openb": ("rate",),
    "lock-only": ("contenders",),
    "none": (),
}


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One fault: at whom, when, for how long. Without a trigger it follows the action before at once.

    Attributes:
        fault: Its name; `chaosctl list --faults` tells them.
        target: A role, resolved when it is fired; by default the leader, where the fault is aimed at somebody.
        at: After so long, counted from the trial's beginning: `2s`, or drawn from the seed between two: `1s..4s`.
        after: An event since the action before was fired.
        when: A condition.
        nth: The n-th such event, or the n-th time that the condition comes to hold.
        delay: How long to wait after the trigger.
        lasts: When it is undone, counted from its firing; `until-over`: once it has done all that it does by itself,
            as a rolling restart; by default at the end of the trial, as soon as the last action was fired.
        parameters: The fault's own.
    """

    fault: str
    target: str | None = None
    at: str | None = None
    after: str | None = None
    when: str | None = None
    nth: int = 1
    delay: str | None = None
    lasts: str | None = None
    parameters: dict[str, Any] = {}

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.target is not None and (wrong := roles.problem(self.target)) is not None:
            yield "target", wrong
        yield from trigger.problems(at=self.at, after=self.after, when=self.when, nth=self.nth, delay=self.delay)
        if self.lasts != UNTIL_OVER:
            yield from _lengths(lasts=self.lasts)

    @property
    def role(self) -> Role:
        return Role.parse(self.target or "leader")

    @property
    def trigger(self) -> Trigger:
        """When it is fired; the fields are right by then."""
        delay = Length.parse(self.delay) if self.delay is not None else Length()
        if self.at is not None:
            earliest, latest = trigger.moments(self.at)
            return Trigger("at", earliest=earliest, latest=latest, delay=delay)
        if self.after is not None:
            return Trigger("after", self.after, self.nth, delay=delay)
        if self.when is not None:
            return Trigger("when", self.when, self.nth, delay=delay)
        return Trigger("next", delay=delay)


class Drawn(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Actions drawn from the seed, beside those of the method.

    Attributes:
        actions: How many.
        within: They are fired within so long after the trial's beginning, at moments that are drawn too.
        among: What is drawn from; without triggers.
    """

    actions: int
    within: str
    among: tuple[Action, ...]

    def problems(self) -> Iterator[tuple[str, str]]:
        if not 1 <= self.actions <= MOST_ACTIONS:
            yield "actions", f"{self.actions} must be from 1 to {MOST_ACTIONS}"
        if not self.among:
            yield "among", "is empty: list the actions to draw from"
        for index, action in enumerate(self.among):
            yield from _untriggered(f"among[{index}]", action)
        yield from _lengths(within=self.within)


class Expectations(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What each trial must show beside the checks that always hold.

    Attributes:
        leader: `changes`: another one leads in the end; `stays`: the term goes on; `any`.
        takeover: How terms that begin may begin; by default in any way.
        failover-at-least: From the first fault until the next term begins.
        failover-at-most: The same.
        client-gap-at-most: The longest time in which clients waited and nothing was acknowledged.
        sometimes: Conditions that must have come up in some trial, so that rare paths are known to be hit.
    """

    leader: Literal["changes", "stays", "any"] = "any"
    takeover: tuple[Literal["first", "release", "expiry", "evidence"], ...] = ()
    failover_at_least: str | None = None
    failover_at_most: str | None = None
    client_gap_at_most: str | None = None
    sometimes: tuple[str, ...] = ()

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _lengths(
            **{
                "failover-at-least": self.failover_at_least,
                "failover-at-most": self.failover_at_most,
                "client-gap-at-most": self.client_gap_at_most,
            }
        )
        if self.leader == "stays":
            for name in ("takeover", "failover_at_least", "failover_at_most"):
                if getattr(self, name):
                    yield name.replace("_", "-"), "makes no sense where the leader stays: leave one of the two out"


class Scenario(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """An experiment.

    Attributes:
        title: What is done, in a few words.
        description: What it teaches, in one sentence.
        tags: For `chaosctl list --tag`.
        trials: How often it is done, unless the command says otherwise.
        configuration: The cluster that it wants.
        steady-state-hypothesis: What must hold before each trial, and again after it was healed.
        workload: Who wants something of the cluster meanwhile.
        method: What is done to it, one after the other; an action need not be undone before the next one is fired.
        drawn: Actions drawn from the seed, beside those.
        rollbacks: What is done at the end of each trial in any case, beside undoing every fault.
        expectations: What each trial must show beside the checks that always hold.
    """

    title: str
    description: str
    tags: tuple[str, ...] = ()
    trials: int = 3
    configuration: Configuration = Configuration()
    steady_state_hypothesis: SteadyState = SteadyState()
    workload: Workload = Workload()
    method: tuple[Action, ...] = ()
    drawn: Drawn | None = None
    rollbacks: tuple[Action, ...] = ()
    expectations: Expectations = Expectations()

    def problems(self) -> Iterator[tuple[str, str]]:
        for name, text in (("title", self.title), ("description", self.description)):
            if not text.strip():
                yield name, "must not be empty"
        if not 1 <= self.trials <= MOST_ACTIONS:
            yield "trials", f"{self.trials} must be from 1 to {MOST_ACTIONS}"
        for index, action in enumerate(self.rollbacks):
            yield from _untriggered(f"rollbacks[{index}]", action)
        for index, action in enumerate(self.method):
            if action.after == "healed" and not any(each.lasts for each in self.method[:index]):
                yield f"method[{index}].after", "'healed' never comes: no action before it has lasts"
        for path, action in self.actions():
            yield from self._staged(path, action)

    def actions(self) -> Iterator[tuple[str, Action]]:
        """Every action, with its path."""
        drawn = self.drawn.among if self.drawn is not None else ()
        for where, found in (("method", self.method), ("drawn.among", drawn), ("rollbacks", self.rollbacks)):
            yield from ((f"{where}[{index}]", action) for index, action in enumerate(found))

    def _staged(self, path: str, action: Action) -> Iterator[tuple[str, str]]:
        """Can anybody ever have the role? Can the event ever come?"""
        if action.target is not None and roles.problem(action.target) is None:
            role = action.role
            if role.kind == "lockd" and not self.configuration.daemons:
                yield f"{path}.target", f"{role} is nobody: set configuration.daemons"
            if role.kind.startswith("lock-") and self.workload.kind != "lock-only":
                yield f"{path}.target", f"{role} is nobody: the workload is {self.workload.kind}, not lock-only"
            most = {"replica": self.configuration.replicas, "etcd": self.configuration.etcd}.get(role.kind)
            if role.name and most is not None and int(role.name.rpartition("-")[2]) > most:
                yield f"{path}.target", f"{role} is nobody: configuration asks for {most}"
        if self.workload.kind in ("lock-only", "none"):
            for field, what in (("after", action.after), ("when", action.when)):
                if what in ("bind", "pod-created", "bind-in-flight"):
                    yield f"{path}.{field}", f"{what!r} never comes: the workload {self.workload.kind} has no pods"


def _untriggered(path: str, action: Action) -> Iterator[tuple[str, str]]:
    for field in ("at", "after", "when", "delay"):
        if getattr(action, field) is not None:
            yield f"{path}.{field}", "has no place here: when it is fired is not for the action to say"


def _lengths(**fields: str | None) -> Iterator[tuple[str, str]]:
    for name, text in fields.items():
        if text is not None and (wrong := length.problem(text)) is not None:
            yield name, wrong


def _told(fields: Iterable[str]) -> str:
    names = ", ".join(fields)
    return f"it knows {names}" if names else "it knows nothing of the kind"
