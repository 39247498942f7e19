"""Which process dials: told from what the kernel knows of its socket, since on one host all addresses are the same."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.proxy.link import STRANGER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.proxy.route import Address

_MAPPED = "0000000000000000FFFF0000"
"""What goes before an IPv4 address in the kernel's table of IPv6's."""


def origin(pids: Mapping[str, int], dialler: Address, door: Address) -> str:
    """The name of the process, among those given, that has the other end of a connection to us; else `stranger`."""
    known = {name: _sockets(pid) for name, pid in pids.items()}
    for name, pid in pids.items():
        inode = _inode(pid, dialler, door)
        if inode:
            return next((other for other, found in known.items() if inode in found), STRANGER)
        if known[name]:
            break  # its table is that of all on this host
    return STRANGER


def _inode(pid: int, dialler: Address, door: Address) -> str:
    """Of the socket that is connected from one address to the other; "" if there is none."""
    for table, mapped in (("tcp", ""), ("tcp6", _MAPPED)):  # gRPC dials IPv4 addresses by sockets of both families
        ends = f" {mapped}{_hex(dialler)} {mapped}{_hex(door)} "
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines():
                if ends in line:
                    return line.split()[9]
    return ""


def _hex(address: Address) -> str:
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), 'little'):08X}:{port:04X}"


def _sockets(pid: int) -> frozenset[str]:
    """The inodes of a process's sockets; none if it has ended."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(entry.readlink())
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return frozenset(found)
