"""`chaosctl`, as it is, on clusters whose replicas have a bug.

`python -m tests.chaos.planted.chaosctl BUG run NAME ...`; BUG is a module of this folder.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

from chaos.__main__ import main
from chaos.runner import commands
from chaos.runner.order import Order
from tests.chaos.planted.patching import PatchError

if __name__ == "__main__":
    bug = f"tests.chaos.planted.{sys.argv.pop(1)}"
    import_module(bug)  # one that isn't there is said here
    if vars(commands).get("Order") is not Order or "program" not in Order.__dataclass_fields__:
        raise PatchError("chaos.runner.commands makes no Order with a program any more")
    commands.Order = partial(Order, program=(sys.executable, "-m", bug))  # type: ignore[misc]
    main()
