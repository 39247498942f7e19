"""The reflector decodes each value once at most, and its own process's writes not at all."""

from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from lockd.etcd.model import WatchEvent
from lockd.ports import KeyValue
from replica.api.codec import decode_pod
from replica.api.kinds import POD
from replica.cache.delta_fifo import DeltaFIFO, DeltaType
from replica.cache.reflector import EXPECTED_LIMIT, Reflector
from tests.harness.stored import PREFIX, pod_key, pod_value


class Decoder:
    def __init__(self):
        self.keys = []

    def __call__(self, kv):
        self.keys.append(kv.key)
        return decode_pod(kv)


@pytest.fixture
def decoder():
    return Decoder()


@pytest.fixture
def fifo():
    return DeltaFIFO()


@pytest.fixture
def reflector(fifo, decoder):
    return Reflector(POD, PREFIX, fifo, decode=decoder, keep=lambda pod: not pod.terminal)


def put(name, revision, *, created=None, **fields):
    return WatchEvent(pod_key(name), pod_value(name, **fields), revision, created or revision)


def gone(name, revision):
    return WatchEvent(pod_key(name), None, revision)


def listed(name, revision, **fields):
    return KeyValue(pod_key(name), pod_value(name, **fields), revision, revision)


def deltas(fifo):
    batch = fifo.pop_batch(1000, threading.Event(), 0, SystemClock())
    return {key: [delta.type for delta in found] for key, found in batch.deltas}


def test_events_become_deltas_of_decoded_objects(reflector, fifo):
    reflector.apply([put("a", 5), put("b", 6), put("a", 7, node="n"), gone("b", 8)])
    assert fifo.newest("default/a").node == "n"
    assert fifo.newest("default/a").mod_revision == 7
    assert deltas(fifo) == {
        "default/a": [DeltaType.ADDED, DeltaType.UPDATED],
        "default/b": [DeltaType.ADDED, DeltaType.DELETED],
    }


def test_a_list_decodes_only_what_changed_since(reflector, fifo, decoder):
    reflector.apply([put("a", 5), put("b", 6), put("c", 7)])
    decoder.keys.clear()
    reflector.replace([listed("a", 5), listed("b", 9, node="n"), listed("d", 8)], 10)
    assert decoder.keys == [pod_key("b"), pod_key("d")]
    assert {name: fifo.newest(f"default/{name}") is not None for name in "abcd"} == {
        "a": True,
        "b": True,
        "c": False,
        "d": True,
    }


def test_what_is_known_already_is_not_put_in_again(reflector, fifo, decoder):
    reflector.replace([listed("a", 5)], 6)
    deltas(fifo)
    reflector.apply([put("a", 5), put("a", 4)])
    assert deltas(fifo) == {}
    assert len(decoder.keys) == 1


def test_terminal_pods_are_left_out(reflector, fifo):
    reflector.apply([put("a", 5), put("b", 6, phase="Succeeded")])
    assert list(deltas(fifo)) == ["default/a"]
    reflector.apply([put("a", 7, phase="Failed")])
    assert deltas(fifo) == {"default/a": [DeltaType.DELETED]}
    reflector.replace([listed("a", 7, phase="Failed"), listed("c", 8)], 9)
    assert list(deltas(fifo)) == ["default/c"]


def test_what_can_be_told_without_decoding_is_not_decoded(fifo, decoder):
    def renew(known, kv):
        return known.on("n", mod_revision=kv.mod_revision) if kv.mod_revision == 7 else None

    reflector = Reflector(POD, PREFIX, fifo, decode=decoder, renew=renew)
    for event in (put("a", 5), put("a", 7, created=5)):
        reflector.apply([event])
    assert (reflector.decoded, fifo.newest("default/a").node) == (1, "n")
    reflector.apply([put("a", 8, created=5)])
    assert (reflector.decoded, len(decoder.keys)) == (2, 2)
    assert (fifo.newest("default/a").node, fifo.newest("default/a").mod_revision) == ("", 8)


def test_a_value_that_cannot_be_read_is_logged_and_counts_as_absent(reflector, fifo, caplog):
    reflector.apply([put("a", 5), put("b", 6)])
    deltas(fifo)
    reflector.apply([WatchEvent(pod_key("a"), b"\xff\xff", 7, 5), put("b", 8)])
    assert deltas(fifo) == {"default/a": [DeltaType.DELETED], "default/b": [DeltaType.UPDATED]}
    assert [record.getMessage() for record in caplog.records] == ["value can't be read"]


def test_a_decoder_that_breaks_does_not_end_the_rest(fifo, caplog):
    def broken(kv):
        raise ZeroDivisionError(kv.key) if kv.key.endswith("a") else AssertionError

    reflector = Reflector(POD, PREFIX, fifo, decode=broken)
    reflector.apply([put("a", 5), put("b", 6)])
    assert deltas(fifo) == {}
    assert len(caplog.records) == 2


def test_keys_that_are_no_objects_are_ignored(reflector, fifo):
    value = pod_value("a")
    for key in ("/t/pods/a", "/t/pods/a/b/c", "/t/pods//a", "/t/pods/a/"):
        reflector.apply([WatchEvent(key, value, 5, 5)])
    reflector.replace([KeyValue("/t/pods/a", value, 5, 5)], 9)
    assert deltas(fifo) == {}


# --- own writes


def bound(reflector, decoder):
    """A pod that is cached, its bound form, and the value that this process is about to put."""
    reflector.apply([put("a", 5)])
    decoder.keys.clear()
    pod = reflector._fifo.newest("default/a")
    return pod.on("n", token=41), pod_value("a", node="n", token=41)


def test_an_own_write_that_comes_back_is_not_decoded(reflector, fifo, decoder):
    obj, value = bound(reflector, decoder)
    reflector.expect(pod_key("a"), value, obj)
    reflector.apply([WatchEvent(pod_key("a"), value, 7, 5)])
    newest = fifo.newest("default/a")
    assert decoder.keys == []
    assert (reflector.recognised, reflector.decoded) == (1, 1)
    assert (newest.node, newest.mod_revision, newest.create_revision, newest.token) == ("n", 7, 5, 41)


def test_an_own_write_recognised_is_what_decoding_would_have_given(reflector, fifo, decoder):
    obj, value = bound(reflector, decoder)
    reflector.expect(pod_key("a"), value, obj)
    event = WatchEvent(pod_key("a"), value, 7, 5)
    reflector.apply([event])
    assert fifo.newest("default/a") == decode_pod(KeyValue(event.key, value, 7, 5))


def test_an_own_write_may_come_back_in_a_list(reflector, fifo, decoder):
    obj, value = bound(reflector, decoder)
    reflector.expect(pod_key("a"), value, obj)
    reflector.replace([KeyValue(pod_key("a"), value, 7, 5)], 9)
    assert decoder.keys == []
    assert fifo.newest("default/a").node == "n"


@pytest.mark.parametrize("other", [put("a", 6, cpu="200m", created=5), gone("a", 6)])
def test_any_other_change_voids_the_expectation(reflector, fifo, decoder, other):
    obj, value = bound(reflector, decoder)
    reflector.expect(pod_key("a"), value, obj)
    reflector.apply([other])
    newest = fifo.newest("default/a")
    assert newest is None or newest.node == ""
    decoder.keys.clear()
    reflector.apply([WatchEvent(pod_key("a"), value, 7, 7)])
    assert decoder.keys == [pod_key("a")]
    assert fifo.newest("default/a").create_revision == 7


def test_a_write_that_was_refused_is_forgotten(reflector, decoder):
    obj, value = bound(reflector, decoder)
    reflector.expect(pod_key("a"), value, obj)
    reflector.forget(pod_key("a"))
    reflector.forget(pod_key("a"))
    reflector.apply([WatchEvent(pod_key("a"), value, 7, 5)])
    assert decoder.keys == [pod_key("a")]


class OneAtATime(dict):
    def __init__(self, lock):
        self._lock = lock

    def __iter__(self):
        assert self._lock.locked()
        return super().__iter__()

    def pop(self, *key):
        assert self._lock.locked()
        return super().pop(*key)


def test_what_comes_back_is_not_taken_out_while_another_thread_looks_for_the_oldest(reflector, decoder, monkeypatch):
    """A dictionary that changes between two steps of an iteration raises, and a bind would be lost by that."""
    monkeypatch.setattr("replica.cache.reflector.EXPECTED_LIMIT", 2)
    obj, value = bound(reflector, decoder)
    reflector._expected = OneAtATime(reflector._lock)
    for name in "xyza":
        reflector.expect(pod_key(name), value, obj)
    reflector.apply([WatchEvent(pod_key("a"), value, 7, 5)])
    reflector.forget(pod_key("z"))
    assert (reflector.recognised, len(reflector._expected)) == (1, 0)


def test_writes_that_never_come_back_do_not_pile_up(reflector, decoder):
    obj, value = bound(reflector, decoder)
    for number in range(EXPECTED_LIMIT + 10):
        reflector.expect(f"/t/pods/default/{number}", value, obj)
    assert len(reflector._expected) == EXPECTED_LIMIT
    assert "/t/pods/default/0" not in reflector._expected
