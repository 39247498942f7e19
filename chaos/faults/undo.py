"""What undoes a fault, step by step: each is done until it has succeeded once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from chaos.faults.errors import NotHealed
from component.process import Gone
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Undo:
    """Steps that undo what was done so far; called, it does them, newest first, and gives their proofs.

    As a context manager it does them when its block raises; otherwise they are left to whoever calls it later.
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], str]] = []

    def add(self, step: Callable[[], str]) -> None:
        """A further step, which gives its proof, or "" if it has none to give. Add it before what it undoes is done."""
        self._steps.append(step)

    def __call__(self) -> str:
        """Do what has not been done yet.

        Raises:
            NotHealed: Some could not be done: the others are, and these are kept.
        """
        proofs: list[str] = []
        problems: list[str] = []
        failed: list[Callable[[], str]] = []
        while self._steps:
            step = self._steps.pop()
            try:
                proofs.append(step())
            except (LockdError, Gone) as error:
                problems.append(str(error))
                failed.insert(0, step)
        self._steps = failed
        if problems:
            raise NotHealed("; ".join(problems))
        return "; ".join(filter(None, proofs))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self()
