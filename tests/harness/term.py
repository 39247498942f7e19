"""A term for the work of a leader, and the etcd that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.fencing import Guard, Token
from lockd.leadership import Leadership
from replica.api import codec
from replica.api.keys import object_key
from replica.api.kinds import POD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from component.clock import Clock
    from replica.api.pods import Pod
    from tests.harness.fake_etcd import FakeEtcd

PREFIX = "/t"
TERM = f"{PREFIX}/terms/kube-system/kube-scheduler"


def begin(etcd: FakeEtcd, clock: Clock, *, identity: str = "me", gate: float = 1e9) -> Leadership:
    """Write a term key, and give the leadership it stands for."""
    value = identity.encode()
    token = Token(etcd.put(TERM, value))
    return Leadership(
        identity=identity,
        guard=Guard(TERM, token, value),
        traceparent="00-" + "ab" * 16 + "-" + "cd" * 8 + "-01",
        gate=clock.now() + gate,
        work_timeout=20.0,
        clock=clock,
        refused=lambda _token: None,
    )


def depose(etcd: FakeEtcd) -> None:
    """Another replica begins its term."""
    etcd.put(TERM, b"somebody else")


def pod_key(name: str, namespace: str = "default") -> str:
    return object_key(PREFIX, POD, name, namespace)


def store(etcd: FakeEtcd, pods: Iterable[Pod]) -> list[Pod]:
    """Write pods as a user would, and give them as they are read back."""
    found = []
    for pod in pods:
        assert pod.value is not None
        etcd.put(pod_key(pod.name, pod.namespace), pod.value)
        found.append(read(etcd, pod.name, pod.namespace))
    return found


def read(etcd: FakeEtcd, name: str, namespace: str = "default") -> Pod:
    """A pod as etcd has it."""
    kv = etcd.get(pod_key(name, namespace))
    assert kv is not None, f"no pod {namespace}/{name}"
    return codec.decode_pod(kv)
