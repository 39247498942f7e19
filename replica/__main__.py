"""The command `replica`; `python -m replica` is the same."""

from __future__ import annotations

from component.start import start


def main() -> None:
    start("replica.commands")


if __name__ == "__main__":
    main()
