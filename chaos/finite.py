"""Numbers of a command line that must be numbers: `nan` and `inf` are read as such, and no bound refuses `nan`."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A `click.FloatRange` of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{str(value)[:60]!r} is not finite: write a number such as 1.5", param, ctx)
        return number
