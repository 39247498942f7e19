"""The flags of presence: where standbys watch over a replica while it leads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)

PRESENCE_FLAGS: Final[tuple[Callable[..., Any], ...]] = (
    click.option(
        "--leader-elect-presence", "presence", type=click.BOOL, is_flag=False, flag_value="true", default=True,
        show_default=True, help="Take over at once when the leader's process is gone, not at the end of its lease.",
    ),
    click.option(
        "--presence-bind", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT",
        help="Where standbys watch over this replica while it leads; port 0: any free one.",
    ),
    click.option(
        "--presence-advertise", default="", metavar="HOST:PORT",
        help="What they dial; needed where the bound host is every interface.  [default: the bound address]",
    ),
    click.option("--presence-cert-file", type=_FILE, default=None, help="Mutual TLS among replicas: certificate."),
    click.option("--presence-key-file", type=_FILE, default=None, help="Its key."),
    click.option("--presence-ca-file", type=_FILE, default=None, help="The authority of all replicas' certificates."),
)  # fmt: skip
