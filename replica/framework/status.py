"""What a plugin says of a pod: a code and the reasons, in kube-scheduler's words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """How a plugin's step ended."""

    SUCCESS = "Success"
    ERROR = "Error"
    """Something is broken: the cycle ends with an event and the pod is tried again after its backoff."""
    UNSCHEDULABLE = "Unschedulable"
    """Not now; removing pods from the node may help."""
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Not now, and no preemption would help."""
    WAIT = "Wait"
    """Permit only: hold the pod until it is allowed or rejected."""
    SKIP = "Skip"
    """PreFilter, PreScore: leave out this plugin's Filter or Score for this pod. Bind: ask the next plugin."""
    PENDING = "Pending"
    """Not before something outside the cluster has happened."""


REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING})
"""Codes by which a plugin refuses a pod, as against failing."""


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons.

    Attributes:
        reasons: Each in kube-scheduler's words, such as `Insufficient cpu`.
        plugin: Who said it; "" before the runtime has filled it in.
        error: The exception behind `Code.ERROR`, when there is one.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        return self.code in REJECTIONS

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """The same, said by `plugin`."""
        return self if self.plugin else Status(self.code, self.reasons, plugin, self.error)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """Refused; preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Refused; preemption won't help."""
    return Status(Code.UNRESOLVABLE, reasons)


def failure(error: BaseException) -> Status:
    """An exception as a status."""
    return Status(Code.ERROR, (str(error) or type(error).__name__,), error=error)


class PluginFailed(Exception):
    """A plugin raised, or answered what it must not: this pod's cycle ends, the next one goes on.

    Attributes:
        plugin: Its name.
        point: The extension point, such as `Filter`.
        reason: What it said.
    """

    def __init__(self, plugin: str, point: str, reason: str) -> None:
        super().__init__(f"running {point} plugin {plugin!r}: {reason}")
        self.plugin = plugin
        self.point = point
        self.reason = reason


def as_failure(error: Exception, plugin: str, point: str) -> PluginFailed:
    """What a plugin raised, with its name."""
    return error if isinstance(error, PluginFailed) else PluginFailed(plugin, point, str(error) or repr(error))


def as_status(answer: object) -> Status:
    """What a plugin answered, which must be a status.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(answer, Status):
        return answer
    raise TypeError(f"answered {type(answer).__name__}, not a Status")
