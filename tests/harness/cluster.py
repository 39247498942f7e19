"""What a cluster.json may tell; none of its processes exists."""

from __future__ import annotations

from chaos.cluster.state import ClusterState, DaemonState, EndState, LinksState, LinkState, MemberState, ReplicaState
from component.process import Process

STATE = ClusterState(
    prefix="/lockd",
    endpoints=("127.0.0.1:1001",),
    supervisor=Process(10, 1000),
    etcd=(MemberState("etcd-1", "127.0.0.1:1001", 11, 1001, "/d/etcd/1"),),
    replicas=(
        ReplicaState("replica-1", "host_1", 12, 1002, "http://127.0.0.1:1002", "/d/log/1.log", "/d/trace/1.0.jsonl", 0),
    ),
    daemons=(
        DaemonState(
            "lockd-1", 13, 1003, "127.0.0.1:1003", "http://127.0.0.1:1004", "/d/log/l.log", "/d/trace/l.0.jsonl", 0
        ),
    ),
    links=LinksState(
        "no-such-links", 14, 1004, "/d/log/proxy.log", (LinkState("replica-1", "etcd-1", "127.0.0.1:1005"),)
    ),
    control="no-such-supervisor",
    ends=(EndState("replica-1", "host_0", 15, -9, 12.5), EndState("lockd-1", "127.0.0.1:1003", 16, 1, 13.5)),
)
