"""A replica's own binds come back by the watch and are not decoded again."""

from __future__ import annotations

from replica.api.codec import decode_pod
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World


def test_own_binds_are_recognised_and_are_what_decoding_gives():
    with World() as world:
        world.add_node("a")
        names = [f"p{number}" for number in range(10)]
        world.add_pods(*names)
        world.lead()
        world.wait_bound(*names)
        eventually(lambda: world.assumed.counts() == (10, 0), within=WITHIN)
        reflector = world.informers.pods.reflector
        assert (reflector.recognised, reflector.decoded) == (10, 10)
        for name in names:
            cached = world.informers.pods.lister.get(name, "default")
            assert cached == decode_pod(world.etcd.get(term.pod_key(name)))
