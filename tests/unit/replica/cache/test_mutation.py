"""An object that somebody changes in a cache is found, and the object and the handler are named."""

from __future__ import annotations

import threading

import msgspec
import pytest

from component.lifecycle import Group
from lockd.etcd.model import WatchEvent
from replica.api.codec import decode_pod
from replica.api.kinds import POD
from replica.cache.barrier import Barrier
from replica.cache.informer import SharedInformer
from replica.cache.informers import Informers
from replica.cache.listener import Handlers
from replica.cache.mutation import SWITCH, Mutated, MutationDetector, from_environment
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.objects import pod
from tests.harness.stored import PREFIX, pod_key, pod_value
from tests.harness.wait import eventually


def spoil(obj):
    """What no code should do, and nothing keeps it from."""
    msgspec.structs.force_setattr(obj, "node", "n1")


@pytest.fixture
def detector():
    return MutationDetector(retired=2)


@pytest.fixture
def group():
    made = Group("test")
    yield made
    made.request_stop()
    assert made.join(30) == ()


def feed(group, detector, **handlers):
    """An informer with one handler made of these functions, told of a pod `a` at revision 5."""
    informer = SharedInformer(POD, PREFIX, decode=decode_pod, barrier=Barrier(), group=group, detector=detector)
    informer.add_handler(Handlers(add=lambda _: None), name="good")
    informer.add_handler(Handlers(**handlers), name="bad")
    informer.start()
    informer.replace([], 4)
    informer.mark(4)
    informer.apply([WatchEvent(pod_key("a"), pod_value("a"), 5, 5)])
    informer.mark(5)
    return informer


def test_a_handler_that_changes_what_it_is_told_of_ends_the_group_and_is_named(group, detector):
    informer = feed(group, detector, add=spoil)
    failure = eventually(lambda: group.failure, within=30, what="the group fails")
    assert isinstance(failure, Mutated)
    assert (failure.name, failure.by) == ("pods default/a", "pods bad")
    assert str(failure) == "the cached object pods default/a was changed by the handler of listener 'pods bad'"
    informer.close()


def test_the_object_before_an_update_is_shared_too(group, detector):
    informer = feed(group, detector, update=lambda old, _new: spoil(old))
    informer.apply([WatchEvent(pod_key("a"), pod_value("a"), 6, 5)])
    failure = eventually(lambda: group.failure, within=30, what="the group fails")
    assert (failure.name, failure.by) == ("pods default/a", "pods bad")
    informer.close()


def test_handlers_that_only_read_are_left_alone(group, detector):
    informer = feed(group, detector, add=lambda obj: obj.path, update=lambda old, new: (old.labels, new.spec))
    informer.apply([WatchEvent(pod_key("a"), pod_value("a"), 6, 5)])
    informer.apply([WatchEvent(pod_key("a"), None, 7)])
    informer.mark(7)
    eventually(lambda: informer.passed >= 7, within=30, what="all is told")
    detector.compare()
    assert group.failure is None
    informer.close()


def test_who_changes_what_a_lister_gave_is_found_at_the_next_look(detector):
    shared = pod("a")
    detector.see("pods default/a", shared)
    detector.compare()
    spoil(shared)
    with pytest.raises(Mutated, match="pods default/a was changed"):
        detector.compare()


def test_the_look_comes_each_second(detector):
    shared, clock = pod("a"), ManualClock()
    detector = MutationDetector(clock=clock)
    detector.see("pods default/a", shared)
    spoil(shared)
    found = []

    def look():
        try:
            detector.run(threading.Event())
        except Mutated as error:
            found.append(error.name)

    thread = threading.Thread(target=look)
    thread.start()
    eventually(lambda: clock.waits, within=30)
    clock.advance(1.0)
    thread.join(30)
    assert found == ["pods default/a"]


def test_an_object_that_was_replaced_is_looked_at_for_a_while_and_a_last_time(detector):
    first = pod("a")
    detector.see("a", first)
    for _ in range(2):
        detector.see("a", pod("a"))
    spoil(first)
    with pytest.raises(Mutated):
        detector.see("a", pod("a"))
    detector.compare()  # it is not kept any longer


def test_an_object_told_again_is_not_retired(detector):
    shared = pod("a")
    for _ in range(5):
        detector.see("a", shared)
    spoil(shared)
    with pytest.raises(Mutated):
        detector.check(shared, "x")


def test_an_object_that_is_gone_is_forgotten_in_the_end(detector):
    for number in range(10):
        detector.see(str(number), pod(str(number)))
        detector.see(str(number), None)
    assert len(detector._seen) == 2


def test_it_is_turned_on_by_the_environment():
    assert from_environment({}) is None
    assert from_environment({SWITCH: "false"}) is None
    assert isinstance(from_environment({SWITCH: "true"}), MutationDetector)


def test_all_informers_of_a_process_share_it(group, detector):
    etcd = FakeEtcd()
    etcd.put(pod_key("a"), pod_value("a"))
    informers = Informers(etcd, PREFIX, group=group, detector=detector)
    informers.start()
    assert informers.wait_for_sync(threading.Event(), 30)
    spoil(informers.pods.lister.get("a", "default"))
    failure = eventually(lambda: group.failure, within=30, what="the group fails")
    assert failure.name == "pods default/a"
    informers.close()
