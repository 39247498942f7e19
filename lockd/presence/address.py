"""Addresses as people write them: `host:port`, an IPv6 host in brackets."""

from __future__ import annotations

_WILDCARDS = frozenset({"", "0.0.0.0", "::", "0", "*"})


def parse(address: str) -> tuple[str, int]:
    """Host, without brackets, and port.

    Raises:
        ValueError: One line that says what is wrong with it.
    """
    host, colon, port = address.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or (":" in bare) != (bare != host) or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is no HOST:PORT: write one such as 127.0.0.1:0 or [::1]:0")
    return bare, int(port)


def join(host: str, port: int) -> str:
    """`host:port`, with brackets where the host needs them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_wildcard(host: str) -> bool:
    """Does it mean every interface, so that nobody can dial it?"""
    return host in _WILDCARDS
