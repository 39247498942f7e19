"""Runs: pods that follow each other and are alike, so that most of what was found for one holds for the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from replica.api.pods import Pod
    from replica.cache.census import Census
    from replica.cache.nodes import Nodes
    from replica.framework.outlook import Told
    from replica.framework.standing import Standing


class Run:
    """What holds from one pod of a run to the next, whatever came to nodes in between.

    It ends with the first pod that isn't like those before, and with the first node that changes.

    Args:
        pod: The first; the others have its namespace, labels, owner and specification.
        signature: What the plugins of the profile read of it.

    Attributes:
        standing: How the nodes stand for all of them, by all plugins but relational ones.
    """

    __slots__ = ("_nodes", "_pod", "_serial", "_signature", "_told", "_version", "standing")

    def __init__(self, pod: Pod, nodes: Nodes, signature: Hashable, standing: Standing) -> None:
        self.standing = standing
        self._pod = pod
        self._signature = signature
        self._nodes = nodes
        self._serial = nodes.facts.changes.serial
        self._told: Told | None = None
        self._version = 0

    def takes(self, pod: Pod, nodes: Nodes, signature: Hashable) -> bool:
        """Is a pod of the run, and are the nodes what they were but for pods on them?"""
        first = self._pod
        return (
            pod.spec is first.spec
            and pod.labels == first.labels
            and pod.owner == first.owner
            and pod.namespace == first.namespace
            and nodes is self._nodes
            and nodes.facts.changes.serial == self._serial
            and signature == self._signature
        )

    def hear(self, told: Told, census: Census) -> None:
        """What relational plugins say of one of the pods: it is kept if it lasts."""
        self._told, self._version = told if told.lasting else None, census.version

    def told(self, census: Census) -> Told | None:
        """What they said before, if they would say it again."""
        if self._told is None:
            return None
        census.sync()
        return self._told if census.version == self._version else None
