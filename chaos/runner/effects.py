"""Which faults leave nothing to undo, and which go on by themselves."""

from __future__ import annotations

from typing import Final

ONCE: Final = frozenset({"kill", "terminate", "compact", "move-leader", "defragment", "rolling-restart"})
"""Faults that leave nothing to undo."""

AGAIN: Final = frozenset({"crash-loop", "rolling-restart"})
"""Faults that end processes which were not there yet when they were applied."""

IN_TURN: Final = frozenset({"rolling-restart"})
"""Faults that are done to one target after the other: to the first of them when applied."""

ENDS: Final = frozenset({"kill", "terminate"})
"""Faults that end processes at once. Healing starts an etcd member again; a replica comes back by itself."""

NETWORK: Final = frozenset({"cut", "delay", "fail-first", "drop-reply"})
"""Faults of links: of two on one link the newer one counts."""

CUT: Final = frozenset({"cut", "isolate"})
"""Faults whose reach a judge must know."""
