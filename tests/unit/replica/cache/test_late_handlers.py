"""Handlers that come late are told of what is there and then of every change, without a gap and without a double."""

from __future__ import annotations

import threading

from hypothesis import example, given
from hypothesis import strategies as st

from component.lifecycle import Group
from lockd.etcd.model import WatchEvent
from lockd.ports import KeyValue
from replica.api.codec import decode_pod
from replica.api.kinds import POD
from replica.cache.barrier import Barrier
from replica.cache.informer import SharedInformer
from tests.harness.clock import ManualClock
from tests.harness.stored import PREFIX, pod_key, pod_value

NAMES = "abc"
STOP = threading.Event()

names = st.sampled_from(NAMES)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), names),
        st.tuples(st.just("delete"), names),
        st.tuples(st.just("recreate"), names),
        st.tuples(st.just("relist"), st.sets(names), st.sets(names)),
        st.tuples(st.just("apply")),
        st.tuples(st.just("tell"), st.integers(0, 3)),
        st.tuples(st.just("join"), st.booleans()),
        st.tuples(st.just("resync")),
    ),
    max_size=50,
)


class View:
    """A handler that keeps what it is told, and objects to what makes no sense."""

    def __init__(self, *, resync):
        self.held = {}
        self.resync = resync

    def on_add(self, obj, *, initial):
        assert obj.path not in self.held, "an add of what it knows"
        self.held[obj.path] = obj

    def on_update(self, old, new):
        assert self.held[old.path] is old, "an update from a state that it was never told of"
        assert new.create_revision == old.create_revision, "an update from one object to another"
        assert new.mod_revision > old.mod_revision or self.resync, "told again of what did not change"
        self.held[new.path] = new

    def on_delete(self, obj, *, stale):
        assert self.held.pop(obj.path) is obj


class World:
    """etcd's keys as a dict, an informer driven by hand, and handlers as they come."""

    def __init__(self):
        self.clock = ManualClock()
        self.informer = SharedInformer(
            POD, PREFIX, decode=decode_pod, barrier=Barrier(), group=Group("test"), resync=60.0, clock=self.clock
        )
        self.revision = 1
        self.stored = {}
        """Name -> (mod revision, create revision)."""
        self.views = []
        self.relist(set(), set())

    def _event(self, name, value, created=0):
        self.informer.apply([WatchEvent(pod_key(name), value, self.revision, created)])
        self.informer.mark(self.revision)

    def put(self, name):
        self.revision += 1
        created = self.stored.get(name, (0, self.revision))[1]
        self.stored[name] = (self.revision, created)
        self._event(name, pod_value(name), created)

    def delete(self, name):
        if self.stored.pop(name, None):
            self.revision += 1
            self._event(name, None)

    def recreate(self, name):
        self.delete(name)
        self.put(name)

    def relist(self, gone, made):
        """A list after a gap of the watch, in which some have gone, some were made (anew), and all others stayed."""
        self.stored = {name: at for name, at in self.stored.items() if name not in gone | made}
        self.revision += 1
        for name in sorted(made):
            self.revision += 1
            self.stored[name] = (self.revision, self.revision)
        kvs = [KeyValue(pod_key(name), pod_value(name), *at) for name, at in self.stored.items()]
        self.informer.replace(kvs, self.revision)
        self.informer.mark(self.revision)

    def apply(self):
        self.informer.step(STOP, 0)

    def join(self, resync):
        view = View(resync=resync)
        listener = self.informer.add_handler(view, name=str(len(self.views)), resync=resync)
        self.views.append((view, listener))

    def tell(self, most):
        """Hand every listener up to so many of what waits for it."""
        for view, listener in self.views:
            for _ in range(min(most, len(listener))):
                entry = listener._buffer.popleft()
                if isinstance(entry, int):
                    listener._pass(entry)
                else:
                    entry.tell(view)

    def resync(self):
        self.clock.advance(60.0)
        self.apply()

    def settle(self):
        while self.informer.waiting or self.informer.passed < self.revision:
            self.apply()
        self.tell(10_000)


@given(steps)
@example([("put", "a"), ("join", False), ("apply",), ("relist", set(), set())])
@example([("put", "a"), ("apply",), ("join", True), ("relist", set(), {"a"}), ("resync",), ("join", False)])
def test_whoever_joins_when_sees_the_same(script):
    world = World()
    for name, *arguments in script:
        getattr(world, name)(*arguments)
    world.settle()
    held = {obj.path: obj for obj in world.informer.lister.list()}
    assert {path: (obj.mod_revision, obj.create_revision) for path, obj in held.items()} == {
        f"default/{name}": at for name, at in world.stored.items()
    }
    for view, listener in world.views:
        assert view.held == held
        assert listener.has_synced
        assert listener.passed == world.revision
