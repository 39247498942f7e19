"""The options that all commands share: where etcd is, under which prefix, and where spans go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from component.durations import DURATION
from component.options import with_options
from lockd.errors import ConfigError
from lockd.etcd.connection import DEFAULT_ENDPOINTS, Connection, listed
from lockd.etcd.tls import credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.etcd.gateway import Gateway

F = TypeVar("F", bound="Callable[..., Any]")

DEFAULT_PREFIX: Final = "/lockd"
USAGE: Final = 2
"""The exit code for what only another command line can mend."""

_KUBERNETES: Final = b"k8s\0"
_SAMPLE: Final = 100
"""Values looked at under each first part of the keys below the prefix."""


class FileType(click.Path):
    """A file's path; an empty one is refused, since it would become the folder that the command runs in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty: name a file, or leave the option out", param, ctx)
        return super().convert(value, param, ctx)


_FILE: Final = FileType(dir_okay=False, path_type=Path)


class Usage(click.ClickException):
    """What the user must write differently: one line on stderr, exit code 2."""

    exit_code = USAGE


class PrefixType(click.ParamType[str]):
    """A prefix of keys: begins with a slash, ends without one."""

    name = "prefix"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        prefix = str(value).rstrip("/")
        if not prefix:
            self.fail("the prefix must not be empty or '/': write one such as /lockd", param, ctx)
        if not prefix.startswith("/") or "//" in prefix or not prefix.isprintable():
            self.fail(f"{prefix[:60]!r} is no prefix of keys: write one such as /lockd", param, ctx)
        return prefix


PREFIX: Final = PrefixType()


def connection_options(command: F) -> F:
    """Give a command the shared options as `connection` (Connection), `prefix` (str) and `trace_file` (Path or None).

    A flag wins over its environment variable, which is etcdctl's own where etcdctl has one. What can't be used raises
    Usage.
    """
    return with_options(command, _OPTIONS, _connection)


def _connection(values: dict[str, Any]) -> dict[str, Any]:
    user, password = _user(values.pop("user"), values.pop("password"))
    fields = {name: values.pop(name) for name in ("cacert", "cert", "key", "command_timeout")}
    endpoints, names = (listed(values.pop(each)) for each in ("endpoints", "tls_server_name"))
    try:
        connection = Connection(endpoints=endpoints, names=names, user=user, password=password, **fields)
        if connection.secure:
            credentials(connection)
    except ConfigError as error:
        raise Usage("; ".join(error.problems)) from error
    return {"connection": connection}


_OPTIONS: Final = (
    click.option(
        "--endpoints",
        envvar="ETCDCTL_ENDPOINTS",
        default=",".join(DEFAULT_ENDPOINTS),
        show_default=True,
        metavar="HOST:PORT,...",
        help="etcd's members.",
    ),
    click.option(
        "--cacert", envvar="ETCDCTL_CACERT", type=_FILE, help="Authorities that etcd's certificate must be of."
    ),
    click.option("--cert", envvar="ETCDCTL_CERT", type=_FILE, help="Client certificate."),
    click.option("--key", envvar="ETCDCTL_KEY", type=_FILE, help="The client certificate's key."),
    click.option(
        "--tls-server-name",
        envvar="LOCKD_TLS_SERVER_NAME",
        default="",
        metavar="NAME,...",
        help="What members' certificates must be for: one name, or one each.  [default: hosts of the endpoints]",
    ),
    click.option("--user", envvar="ETCDCTL_USER", metavar="NAME[:PASSWORD]", help="etcd user."),
    click.option("--password", envvar="ETCDCTL_PASSWORD", help="The user's password."),
    click.option(
        "--command-timeout",
        envvar="ETCDCTL_COMMAND_TIMEOUT",
        type=DURATION,
        default="5s",
        show_default=True,
        help="When a command gives up.",
    ),
    click.option(
        "--prefix",
        envvar="LOCKD_PREFIX",
        type=PREFIX,
        default=DEFAULT_PREFIX,
        show_default=True,
        help="Where all keys are.",
    ),
    click.option(
        "--trace-file",
        envvar="LOCKD_TRACE_FILE",
        type=_FILE,
        help="Write spans here, as OTLP JSON, one request a line.",
    ),
)


def _user(user: str | None, password: str | None) -> tuple[str | None, str | None]:
    """etcdctl's two ways to give a password."""
    if user is None or password is not None:
        return user, password
    name, colon, rest = user.partition(":")
    if not colon:
        raise Usage(f"no password for user {user!r}: give --user {user}:PASSWORD, --password or ETCDCTL_PASSWORD")
    return name, rest


def refuse_kubernetes(gateway: Gateway, prefix: str, *, timeout: float) -> None:
    """Raise Usage (exit code 2) if Kubernetes keeps its data under `prefix`: nothing here may touch it.

    Raises:
        StoreError: etcd can't be asked.
    """
    found = kubernetes_key(gateway, prefix, timeout=timeout)
    if found is not None:
        raise Usage(f"{found} holds Kubernetes' data: choose another --prefix than {prefix}, or another etcd")


def kubernetes_key(gateway: Gateway, prefix: str, *, timeout: float) -> str | None:
    """A key under `prefix` whose value is Kubernetes', or None.

    Looks at the first values under each part that follows the prefix in a key: Kubernetes marks all its values, and
    keeps each kind under a part of its own.

    Raises:
        StoreError: etcd can't be asked.
    """
    root = f"{prefix}/"
    start = root
    while True:
        reply = gateway.range(root, prefix=True, start=start, limit=_SAMPLE, timeout=timeout)
        for kv in reply.kvs:
            if kv.value.startswith(_KUBERNETES):
                return kv.key
        if not reply.more:
            return None
        first, last = (kv.key[len(root) :].partition("/")[0] for kv in (reply.kvs[0], reply.kvs[-1]))
        # A page of one part stands for that part: go on behind it, "0" being what follows "/".
        start = f"{root}{last}0" if first == last else f"{reply.kvs[-1].key}\0"
