"""The proxy in a container of its own: `python -m chaos.proxy.sidecar PLAN`, asked through `chaos.proxy.bridge`.

PLAN is JSON: `doors` has source, destination and port of each link, `targets` the `host:port` of each destination.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any

from chaos.proxy.addresses import Addresses
from chaos.proxy.bridge import NAME
from chaos.proxy.door import bound_to
from chaos.proxy.exchange import Exchange
from chaos.proxy.link import STRANGER, Link
from chaos.proxy.serving import serve
from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.proxy.loop import Loop
    from chaos.proxy.route import Address, Route

ANYWHERE = "0.0.0.0"


class ContainerExchange(Exchange):
    """Who dials is told by the address, where others are by their names, and the doors by a plan."""

    def __init__(self, loop: Loop, plan: dict[str, Any], addresses: Addresses, own: str) -> None:
        super().__init__(loop)
        self._ports = {Link(source, destination): int(port) for source, destination, port in plan["doors"]}
        self._targets: dict[str, str] = plan["targets"]
        self._addresses = addresses
        self._own = own
        self.open([link for link in self._ports if link.source != STRANGER])

    def bind(self, link: Link) -> tuple[socket.socket, Address]:
        port = self._ports[link]
        return bound_to(ANYWHERE, port), (self._own, port)

    def target(self, name: str) -> Address | None:
        host, _, port = self._targets[name].rpartition(":")
        address = self._addresses.of(host)
        return (address, int(port)) if address else None

    def who(self, routes: Mapping[str, Route], dialler: Address, door: Address) -> str:  # noqa: ARG002
        name = self._addresses.name_of(dialler[0])
        return name if name in routes else STRANGER


def main(text: str) -> None:
    """Serve until SIGTERM."""
    plan = json.loads(text)
    addresses = Addresses([target.rpartition(":")[0] for target in plan["targets"].values()], clock=SystemClock())
    addresses.follow()
    own = socket.gethostbyname(socket.gethostname())
    serve(NAME, lambda loop: ContainerExchange(loop, plan, addresses, own))


if __name__ == "__main__":
    main(sys.argv[1])
