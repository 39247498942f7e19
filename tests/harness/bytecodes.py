"""Counts of bytecodes: what steps cost the interpreter, whatever else the machine does meanwhile."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT: Final = Path(__file__).parents[2]


class Steps:
    """Bytecodes by step, and by function.

    Attributes:
        counts: By step.
        functions: By step and function, such as `replica/cache/indexer.py:put`.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.functions: Counter[tuple[str, str]] = Counter()

    def take(self, name: str, step: Callable[[], object]) -> None:
        """Count what this thread runs of a step."""
        codes: Counter[Any] = Counter()

        def each(frame: Any, event: str, _arg: Any) -> Any:
            if event == "opcode":
                codes[frame.f_code] += 1
            return each

        def enter(frame: Any, _event: str, _arg: Any) -> Any:
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
            return each

        sys.settrace(enter)
        try:
            step()
        finally:
            sys.settrace(None)
        self.counts[name] += codes.total()
        for code, count in codes.items():
            path = Path(code.co_filename)
            place = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else Path(path.name)
            self.functions[name, f"{place}:{code.co_qualname}"] += count

    def report(self, who: str, pods: int, *, functions: int = 0) -> str:
        """What all of it comes to for each of so many pods.

        Args:
            functions: How many of those that cost most are named for each step.
        """
        told = {name: round(count / pods) for name, count in self.counts.items()}
        lines = [f"  {who}: {sum(told.values())} bytecodes a pod: {told}"]
        for step in told if functions else ():
            most = Counter({name: count for (at, name), count in self.functions.items() if at == step})
            lines += [f"    {step} {count / pods:6.1f} {name}" for name, count in most.most_common(functions)]
        return "\n" + "\n".join(lines) + "\n"
