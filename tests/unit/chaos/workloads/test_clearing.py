"""What a workload made is removed from a cluster that stays, and nothing else."""

from itertools import islice

from chaos.workloads import making, pods
from chaos.workloads.pace import Steady
from lockd.ports import Put, Txn
from replica.api.keys import object_key
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway


def test_only_what_it_made_goes():
    gateway = MemoryGateway()
    drafts = [*making.nodes(2), *islice(making.pods(), 60)]
    keys = {draft.name: object_key("/lockd", draft.kind, draft.name, draft.namespace) for draft in drafts}
    values = {keys[draft.name]: draft.created(uid=pods._uid(draft), at="2026-01-01T00:00:00Z") for draft in drafts}
    strange = {
        keys["node-001"]: drafts[1].created(uid="somebody-else", at="2026-01-01T00:00:00Z"),
        "/lockd/pods/chaos/mine": b"x",
        "/lockd/leases/a/b": b"y",
    }
    for key, value in (values | strange).items():
        gateway.txn(Txn((), (Put(key, value),)), timeout=1.0)
    made = pods.PodWorkload(
        gateway, "/lockd", nodes=making.nodes(2), pods=making.pods(), pace=Steady(1.0), clock=ManualClock()
    )
    made.clear()
    assert {kv.key for kv in gateway.list("/lockd/", timeout=1.0).kvs} == set(strange)
    made.clear()
