"""How a command's process begins: Ctrl-C ends it quietly while it still loads its code."""

from __future__ import annotations

import importlib
import signal


def start(module: str) -> None:
    """Import `module` and call its `main`.

    Until that is there, Ctrl-C ends the process as it ends one of C: at once, without a traceback, and a shell says
    130. A signal that is ignored, as in the background of a script, stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    main = importlib.import_module(module).main
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    main()
