"""Refusals counted per reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from replica.framework.status import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.cache.nodes import Flags
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.interface import Refusal


@dataclass(slots=True)
class Reasons:
    """Reasons counted, who gave them, and the rows where preemption may help."""

    resolvable: Flags
    counts: dict[str, int] = field(default_factory=dict)
    plugins: set[str] = field(default_factory=set)

    def add(self, plugin: str, refusals: Sequence[Refusal], among: Flags) -> None:
        for refusal in refusals:
            rows = refusal.rows & among
            count = int(np.count_nonzero(rows))
            if count:
                self.plugins.add(plugin)
                self.counts[refusal.reason] = self.counts.get(refusal.reason, 0) + count
                if refusal.code is not Code.UNSCHEDULABLE:
                    self.resolvable &= ~rows

    def join(self, found: Diagnosis, rows: Flags) -> None:
        """What was found of each of these rows alone."""
        self.plugins |= found.plugins
        times = int(np.count_nonzero(rows))
        for reason, count in found.counts.items():
            self.counts[reason] = self.counts.get(reason, 0) + count * times
        if found.resolvable is None:
            self.resolvable &= ~rows
