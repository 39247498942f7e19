"""The command `replicactl`; `python -m replica.ctl` is the same."""

from __future__ import annotations

from component.start import start


def main() -> None:
    start("replica.ctl.main")


if __name__ == "__main__":
    main()
