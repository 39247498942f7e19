"""ImageLocality: prefers nodes that have the pod's images already, above all large ones that many nodes have."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from replica.framework.interface import HIGHEST_SCORE

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.cache.nodes import Amounts, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "ImageLocality"

MEBI: Final = 1 << 20
LEAST: Final = 23 * MEBI
"""Bytes that count for nothing."""

MOST: Final = 1000 * MEBI
"""Bytes that count in full, for each container."""


class ImageLocality:
    """Score. An image counts with its size on the node, times the share of nodes that have it.

    That share keeps the first node that pulled an image from drawing all its pods.
    """

    name = NAME
    signs_spec = True
    across_nodes = True

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        if not nodes.facts.any_images():
            return None
        total: Amounts | None = None
        images = images_of(pod.spec)
        for name in images:
            image = nodes.facts.image(name)
            if image.sizes is not None:
                counted = (nodes.cut(image.sizes) * (image.holders / nodes.total)).astype(np.int64)
                total = counted if total is None else total + counted
        if total is None:
            return None
        most = MOST * len(images)
        return (np.clip(total, LEAST, most) - LEAST) * HIGHEST_SCORE // (most - LEAST)

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        node = nodes.objects[row]
        if node is None or not node.images:
            return 0
        images = images_of(pod.spec)
        total = sum(
            int(size * (nodes.facts.image(name).holders / nodes.total))
            for name in images
            if (size := node.images.get(name))
        )
        most = MOST * len(images)
        return (min(max(total, LEAST), most) - LEAST) * HIGHEST_SCORE // (most - LEAST)

    def signature(self, pod: Pod) -> Hashable:
        # Which they are matters only as far as some node has them: see `across`.
        return len(pod.spec.images)

    def across(self, pod: Pod, nodes: Nodes) -> Hashable:
        """The images that some node has, how many have each, and how many nodes there are."""
        if not nodes.facts.any_images():
            return ()
        holders = ((name, nodes.facts.image(name).holders) for name in images_of(pod.spec))
        held = tuple(each for each in holders if each[1])
        return (held, nodes.total) if held else ()


@lru_cache(maxsize=4096)
def images_of(spec: PodSpec) -> tuple[str, ...]:
    """A pod's images by the names that nodes have them under: one without a tag is the latest."""
    return tuple(name if name.rfind(":") > name.rfind("/") else f"{name}:latest" for name in spec.images)


def make(_args: Mapping[str, Any], _handle: Handle) -> ImageLocality:
    return ImageLocality()
