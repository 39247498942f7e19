"""Variables of a compose file: of the environment, or of an .env file. It needs nothing but Python, as tools do."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_LINE: Final = re.compile(r"""^\s*(?:export\s+)?(?P<name>\w+)\s*=\s*(?P<quote>["']?)(?P<value>.*?)(?P=quote)\s*$""")


def variable(name: str, file: Path) -> str:
    """What a variable is set to, as compose has it; "": to nothing.

    Raises:
        OSError: The file is there and can't be read.
    """
    return os.environ.get(name) or (written(file.read_text(encoding="utf-8")) if file.is_file() else {}).get(name, "")


def written(text: str) -> dict[str, str]:
    """The variables that an .env file sets. Pure."""
    found = filter(None, map(_LINE.match, text.splitlines()))
    return {line["name"]: line["value"] for line in found}
