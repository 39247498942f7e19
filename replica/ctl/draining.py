"""Which pods of a node a drain evicts, which it leaves, and which stand in its way: kubectl's rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replica.ctl.getting import Stored

MIRROR: Final = "kubernetes.io/config.mirror"
CONTROLLERS: Final = frozenset({"ReplicationController", "ReplicaSet", "Job", "StatefulSet", "DaemonSet"})


class DrainRefused(LockdError):
    """Pods stand in the way of a drain.

    Attributes:
        problems: One line for each reason.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a drain may do beyond the harmless."""

    ignore_daemon_sets: bool = False
    delete_local_data: bool = False
    force: bool = False


@dataclass(slots=True)
class Sorted:
    """The pods of a node.

    Attributes:
        evict: Those to evict, in their order.
        warnings: What is done all the same, or left, one line each.
        problems: Why the node can't be drained, one line each.
    """

    evict: list[Stored] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def sort_pods(pods: Iterable[Stored], allowed: Allowed) -> Sorted:
    """What is to become of each pod of a node."""
    found = Sorted()
    daemons: list[Stored] = []
    local: list[Stored] = []
    bare: list[Stored] = []
    for pod in pods:
        metadata = pod.manifest.get("metadata") or {}
        if MIRROR in (metadata.get("annotations") or {}):
            continue
        owner = _controller(metadata)
        ended = getattr(pod.object, "terminal", False)
        if owner == "DaemonSet" and not ended:
            daemons.append(pod)
            continue
        if not ended and _has_local_data(pod.manifest):
            local.append(pod)
        if not ended and owner not in CONTROLLERS:
            bare.append(pod)
        found.evict.append(pod)
    _judge(found, daemons, allowed.ignore_daemon_sets, *_WORDS["daemons"])
    _judge(found, local, allowed.delete_local_data, *_WORDS["local"])
    _judge(found, bare, allowed.force, *_WORDS["bare"])
    return found


_WORDS: Final = {
    "daemons": (
        "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)",
        "ignoring DaemonSet-managed Pods",
    ),
    "local": (
        "cannot delete Pods with local storage (use --delete-emptydir-data to override)",
        "deleting Pods with local storage",
    ),
    "bare": (
        "cannot delete Pods that declare no controller (use --force to override)",
        "deleting Pods that declare no controller",
    ),
}


def _judge(found: Sorted, pods: list[Stored], allowed: bool, problem: str, warning: str) -> None:
    if pods:
        names = ", ".join(pod.object.path for pod in pods)
        (found.warnings if allowed else found.problems).append(f"{warning if allowed else problem}: {names}")


def _controller(metadata: dict[str, Any]) -> str:
    """The kind of the owner that controls a pod, or ""."""
    for owner in metadata.get("ownerReferences") or []:
        if isinstance(owner, dict) and owner.get("controller") is True:
            return str(owner.get("kind") or "")
    return ""


def _has_local_data(manifest: dict[str, Any]) -> bool:
    volumes = (manifest.get("spec") or {}).get("volumes") or []
    return any(isinstance(volume, dict) and "emptyDir" in volume for volume in volumes)
