"""Keys and certificates that protect nothing: valid for a hundred years, on loopback, in tests.

`ca` has signed `server` (127.0.0.1), `elsewhere` (another host's name) and `client` (common name root); `stranger`,
whom nobody trusts, has signed `impostor`. `jwt` is a pair of keys for etcd's tokens.
"""

from __future__ import annotations

from pathlib import Path


def path(name: str) -> Path:
    """The file of this name, such as `client.key`."""
    return Path(__file__).with_name(name)
