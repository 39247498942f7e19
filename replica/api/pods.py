"""Pods."""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from replica.api.kinds import POD, Kind
from replica.api.objects import Object
from replica.api.podspec import PodSpec

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""The label that names a pod's PodGroup."""


class Pod(Object, frozen=True, gc=False, kw_only=True):
    """A pod.

    Attributes:
        spec: Shared by all pods made from one template.
        node: The node it is bound to, or "".
        phase: As its user says; there is no kubelet here to say it.
        deleting: Is it marked for deletion?
        started: RFC 3339: when it began to run as far as anybody said, else when it was created.
        nominated: The node where preemption promised it room, or "".
        unready: Does its `Ready` condition say that it isn't? Of one that has none nobody says so.
        ends: RFC 3339: when a pod that preemption marked for deletion is taken away, or "".
        owner: Kind, name and uid of what controls it (`metadata.ownerReferences`), or "".
        value: The stored envelope while the pod is pending (a bind or a status is made from it); None once it is bound
            or has ended, so that a cache of many pods stays small.
    """

    KIND: ClassVar[Kind] = POD

    spec: PodSpec = PodSpec()
    node: str = ""
    phase: str = ""
    deleting: bool = False
    started: str = ""
    nominated: str = ""
    unready: bool = False
    ends: str = ""
    owner: str = ""
    value: bytes | None = None

    @property
    def terminal(self) -> bool:
        """Has it ended? Then it takes no room on its node."""
        return self.phase in TERMINAL_PHASES

    @property
    def pending(self) -> bool:
        return not self.node and not self.terminal

    @property
    def needs_volumes(self) -> bool:
        """Does it need what this scheduler can't give, such as volumes? `spec.unsupported` says what."""
        return bool(self.spec.unsupported)

    @property
    def group(self) -> str:
        """The name of its PodGroup, or ""."""
        return self.labels.get(GROUP_LABEL, "")

    def on(self, node: str, *, mod_revision: int = 0, token: int = 0) -> Pod:
        """The same pod bound to `node`: assumed (revisions as they were), or as written at `mod_revision`."""
        return msgspec.structs.replace(
            self,
            node=node,
            nominated="",
            value=None,
            mod_revision=mod_revision or self.mod_revision,
            token=token or self.token,
        )
