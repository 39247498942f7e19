"""The command `lockd`; `python -m lockd.daemon` is the same."""

from __future__ import annotations

from component.start import start


def main() -> None:
    start("lockd.daemon.command")


if __name__ == "__main__":
    main()
