"""Pin what pyproject.toml asks for in requirements.lock: `make lock`; with --check only look at the files.

What an image needs to run, and what its build takes besides, are in files of their own under compose/, with the very
pins of the first. All hold names, versions and hashes and no address: where packages come from is the installer's
affair.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
RUNNING = ROOT / "compose" / "requirements.lock"
BUILDING = ROOT / "compose" / "build.lock"
PIN = re.compile(r"[A-Za-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def compile_lock(lock: Path, *scope: str, packages: str | None = None) -> None:
    """Write one of the files.

    Args:
        packages: What is asked for, one a line; None: what pyproject.toml asks for.
    """
    options = (
        "--universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-header --no-annotate --quiet"
    )
    source = "pyproject.toml" if packages is None else "-"
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        *options.split(),
        *scope,
        "--output-file",
        str(lock),
        source,
    ]
    subprocess.run(command, cwd=ROOT, check=True, input=packages, text=True)


def compile_locks() -> None:
    if importlib.util.find_spec("uv") is None:
        subprocess.run([sys.executable, "-m", "pip", "--quiet", "install", "uv"], check=True)
    compile_lock(LOCK, "--all-extras", "--group", "dev")
    compile_lock(RUNNING, "--constraint", LOCK.name)
    compile_lock(BUILDING, "--constraint", LOCK.name, packages="hatchling\nsetuptools\n")


def lines_of(lock: Path) -> list[str]:
    return lock.read_text(encoding="utf-8").splitlines()


def stray_lines(lines: Iterable[str]) -> list[str]:
    """Lines that are neither a pinned package nor a hash of one."""
    return [line for line in lines if not (PIN.fullmatch(line) or HASH.fullmatch(line))]


def pins(lines: Iterable[str]) -> set[str]:
    """The pins alone, without the hashes that follow them."""
    return {line for line in lines if PIN.fullmatch(line)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file holds anything else")
    if not parser.parse_args().check:
        compile_locks()
    pinned = pins(lines_of(LOCK))
    for lock in (LOCK, RUNNING, BUILDING):
        name = lock.relative_to(ROOT)
        if stray := stray_lines(lines_of(lock)):
            sys.exit(f"lock: {name} holds more than names, versions and hashes: {stray[0][:80]!r}")
        if other := sorted(pins(lines_of(lock)) - pinned):
            sys.exit(f"lock: {name} pins what requirements.lock does not: {other[0][:80]!r}: run make lock")


if __name__ == "__main__":
    main()
