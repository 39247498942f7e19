"""Tell where the tests may put what they throw away: `make test` asks. In memory if there is room, else on disk.

Each etcd member that a test starts sets 128 MB aside and waits for the disk at each commit. A disk that stands still
for seconds, as one does on which others write, has leases run out: then a test fails that has nothing to do with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory, and what is put there has a name of its own
FREE = 6 * 1024**3
"""Bytes that must be free there: three tests at a time took up to 2.8 GB."""

AVAILABLE = 10 * 1024**3
"""Bytes of memory that must be available: what lies there, and the tests' processes."""


def available(meminfo: str) -> int:
    """Bytes that the system can give without swapping, by the text of /proc/meminfo; 0: it doesn't say."""
    fields = (line.split() for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    return next((int(words[1]) * 1024 for words in fields), 0)


def is_roomy(folder: Path, meminfo: str) -> bool:
    """Can all of it be in `folder`, which lies in memory?"""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    return shutil.disk_usage(folder).free >= FREE and available(meminfo) >= AVAILABLE


def main() -> None:
    chosen = os.environ.get("TMPDIR")
    roomy = not chosen and is_roomy(MEMORY, Path("/proc/meminfo").read_text(encoding="ascii"))
    print(MEMORY if roomy else tempfile.gettempdir())


if __name__ == "__main__":
    main()
