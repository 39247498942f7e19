"""What containers wrote, as files of a folder."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from chaos.compose.engine import EngineError
from chaos.compose.roster import Roster
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chaos.compose.container import Container
    from chaos.compose.engine import Engine


def gather(engine: Engine, containers: Iterable[Container], folder: Path, *, since: float = 0.0) -> None:
    """Write `<name>.log` of everybody who has a role. Logs that the engine doesn't have are told there in their place.

    Args:
        since: In wall seconds: containers of somebody's own may have written for months.

    Raises:
        OSError: A file can't be written.
    """
    for name, each in Roster.of(containers).everybody.items():
        with contextlib.suppress(Gone):
            try:
                said = engine.logs(each.id, since)
            except EngineError as error:  # its logging driver keeps none, perhaps
                said = f"its logs can't be had: {error}\n".encode()
            (folder / f"{name}.log").write_bytes(said)
