"""The command `lockctl`; `python -m lockd.ctl` is the same."""

from __future__ import annotations

from component.start import start


def main() -> None:
    start("lockd.ctl.commands")


if __name__ == "__main__":
    main()
