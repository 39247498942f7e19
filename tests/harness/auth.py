"""Users, roles and passwords on an etcd, for tests of who may do what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockd.etcd import wire
from lockd.etcd.calls import Request
from lockd.etcd.channel import Method

if TYPE_CHECKING:
    from lockd.etcd.gateway import Gateway

ROOT = {"user": "root", "password": "root's own"}
READER = {"user": "reader", "password": "reader's own"}
READWRITE = 2


def call(gateway: Gateway, action: str, /, **fields: Any) -> Any:
    """Call a method of etcd's Auth service, such as `UserAdd`."""
    method = Method(
        f"Auth/{action}",
        wire.message(f"etcdserverpb.Auth{action.removeprefix('Auth')}Request"),
        wire.message(f"etcdserverpb.Auth{action.removeprefix('Auth')}Response"),
    )
    request = Request(method=method, message=method.request(**fields), write=True, linearizable=False, timeout=5.0)
    return gateway.caller.call(request)


def enable(gateway: Gateway, readable: str) -> None:
    """Have passwords asked for: `root` may do all, `reader` what lies under `readable`."""
    for user in (ROOT, READER):
        call(gateway, "UserAdd", name=user["user"], password=user["password"])
    call(gateway, "RoleAdd", name="root")
    call(gateway, "RoleAdd", name="reader")
    permission = {"permType": READWRITE, "key": readable.encode(), "range_end": f"{readable}\x7f".encode()}
    call(gateway, "RoleGrantPermission", name="reader", perm=permission)
    call(gateway, "UserGrantRole", user="root", role="root")
    call(gateway, "UserGrantRole", user="reader", role="reader")
    call(gateway, "AuthEnable")
