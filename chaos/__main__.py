"""`python -m chaos` is `chaosctl`."""

from __future__ import annotations

from chaos.ctl import main

if __name__ == "__main__":
    main(prog_name="chaosctl")
