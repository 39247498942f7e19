"""The command `chaosctl`; `python -m chaos` is the same."""

from __future__ import annotations

from component.start import start


def main() -> None:
    start("chaos.ctl")


if __name__ == "__main__":
    main()
