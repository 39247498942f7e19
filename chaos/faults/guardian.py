"""The guard's own process: it keeps what heals each fault, and does it all when whoever gave it has gone.

It reads lines from standard input: `+ <number> <remedy>` to keep one, `- <number>` to forget it, and answers each with
its number. The end of input means that nobody will heal any more.
"""

from __future__ import annotations

import signal
import sys
from typing import TextIO

from chaos.faults import remedies
from component.console import note


def keep(lines: TextIO, answers: TextIO) -> dict[str, remedies.Remedy]:
    """Keep remedies until the input ends; what is left is to be done."""
    kept: dict[str, remedies.Remedy] = {}
    for line in lines:
        sign, number, *rest = line.rstrip("\n").split(" ", 2)
        if sign == "+":
            kept[number] = remedies.decode(rest[0])
        else:
            kept.pop(number, None)
        try:
            print(number, file=answers, flush=True)  # a pipe between two programs of ours
        except OSError:
            break  # nobody reads: gone
    return kept


def main() -> None:
    """Keep, then heal what is left, newest first; no signal from a terminal ends that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    left = keep(sys.stdin, sys.stdout)
    for remedy in reversed(left.values()):
        try:
            note(f"chaosctl has gone: {remedy.do()}")
        except Exception as error:  # noqa: BLE001  # the others are to be done all the same
            note(f"chaosctl has gone, and a fault could not be healed: {error}")


if __name__ == "__main__":
    main()
