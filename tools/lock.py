"""Pin what pyproject.toml asks for in requirements.lock: `make lock`; with --check only look at the file.

The file holds names, versions and hashes and no address: where packages come from is the installer's affair.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
PIN = re.compile(r"[A-Za-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def compile_lock() -> None:
    if importlib.util.find_spec("uv") is None:
        subprocess.run([sys.executable, "-m", "pip", "--quiet", "install", "uv"], check=True)
    options = "--universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-header --no-annotate"
    scope = "--all-extras --group dev --quiet --output-file requirements.lock pyproject.toml"
    command = [sys.executable, "-m", "uv", "pip", "compile", *options.split(), *scope.split()]
    subprocess.run(command, cwd=ROOT, check=True)


def stray_lines() -> list[str]:
    """Lines that are neither a pinned package nor a hash of one."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not (PIN.fullmatch(line) or HASH.fullmatch(line))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file holds anything else")
    if not parser.parse_args().check:
        compile_lock()
    if stray := stray_lines():
        sys.exit(f"lock: requirements.lock holds more than names, versions and hashes: {stray[0][:80]!r}")


if __name__ == "__main__":
    main()
