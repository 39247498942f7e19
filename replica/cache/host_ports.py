"""The host ports that pods take on their nodes: by node, and by port, so that a pod asks about its own ports alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replica.api.podspec import HostPort

ANY_ADDRESS: Final = "0.0.0.0"
NONE: Final[frozenset[HostPort]] = frozenset()


class HostPorts:
    """Ports by row of a node table."""

    __slots__ = ("_by_port", "_by_row")

    def __init__(self) -> None:
        self._by_row: dict[int, frozenset[HostPort]] = {}
        self._by_port: dict[tuple[str, int], dict[str, set[int]]] = {}

    def of(self, row: int) -> frozenset[HostPort]:
        """What the row's pods take."""
        return self._by_row.get(row, NONE)

    def put(self, row: int, ports: frozenset[HostPort]) -> None:
        """The row's pods take these now."""
        before = self._by_row.get(row, NONE)
        if before == ports:
            return
        for port in before - ports:
            by_address = self._by_port[port.protocol, port.port]
            by_address[port.ip].discard(row)
            if not by_address[port.ip]:
                del by_address[port.ip]
            if not by_address:
                del self._by_port[port.protocol, port.port]
        for port in ports - before:
            self._by_port.setdefault((port.protocol, port.port), {}).setdefault(port.ip, set()).add(row)
        if ports:
            self._by_row[row] = ports
        else:
            del self._by_row[row]

    def copy(self) -> HostPorts:
        made = HostPorts()
        for row, ports in self._by_row.items():
            made.put(row, ports)
        return made

    def taken(self, wanted: Iterable[HostPort]) -> set[int]:
        """The rows where one of these ports isn't free: an address that stands for all meets every other."""
        rows: set[int] = set()
        for port in wanted:
            by_address = self._by_port.get((port.protocol, port.port), {})
            for ip, among in by_address.items():
                if meet(port.ip, ip):
                    rows |= among
        return rows

    def taken_at(self, row: int, wanted: Iterable[HostPort]) -> bool:
        """Is one of these ports not free in this row?"""
        there = self._by_row.get(row, NONE)
        return bool(there) and overlap(wanted, there)


def meet(one: str, other: str) -> bool:
    """Do two addresses to listen at have one in common?"""
    return one == other or ANY_ADDRESS in {one, other}


def overlap(some: Iterable[HostPort], others: Iterable[HostPort]) -> bool:
    """Can these ports not be taken on one node together?"""
    return any(
        (one.protocol, one.port) == (other.protocol, other.port) and meet(one.ip, other.ip)
        for one in some
        for other in others
    )
