from __future__ import annotations

import random
import threading
from collections import Counter

import pytest

from lockd.errors import HistoryLost, NoSpace, OutcomeUnknown, TooLarge, Unavailable
from lockd.fencing import ObjectWrite
from replica.api import codec
from replica.binder import Binder
from replica.binding import MOST_BYTES, Binding, Fate
from replica.gathering import ENOUGH, MOMENT
from tests.harness import term
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.flaky import FlakySender
from tests.harness.objects import pod
from tests.harness.wait import eventually

ATTEMPT = 1.25


class Setting:
    """A binder, the etcd behind it, and what became of each pod."""

    def __init__(self, **options):
        self.clock = ManualClock()
        self.etcd = FakeEtcd()
        self.sender = FlakySender(self.etcd)
        self.leadership = term.begin(self.etcd, self.clock)
        self.batches = []
        self.binder = Binder(
            self.sender, self.leadership, clock=self.clock, judged=self.batches.append, attempt=ATTEMPT, **options
        )
        self.serial = 0

    @property
    def fates(self):
        return {verdict.binding.pod.name: verdict.fate for batch in self.batches for verdict in batch}

    def bindings(self, count=1, *, node="n1", filler=0):
        names = [f"p{self.serial + number}" for number in range(count)]
        self.serial += count
        annotations = {"filler": "x" * filler}
        pods = term.store(
            self.etcd, [pod(name, affinity=None, **({"comment": annotations} if filler else {})) for name in names]
        )
        return [self.binding(each, node) for each in pods]

    def binding(self, found, node):
        value = codec.bound(found.value, node, int(self.leadership.token), at="2030-01-01T00:00:00Z")
        return Binding(found, node, ObjectWrite(term.pod_key(found.name), found.mod_revision, value))

    def submit(self, *bindings):
        self.submit_groups(*((each,) for each in bindings))

    def submit_groups(self, *groups):
        self.binder.submit(groups)
        self.binder.step()
        self.binder.step()

    def node_of(self, name):
        return term.read(self.etcd, name).node

    def label(self, name):
        """A user changes the pod."""
        kv = self.etcd.get(term.pod_key(name))
        envelope = codec.parse_envelope(kv.key, kv.value)
        self.etcd.put(kv.key, codec.encode(envelope.manifest, node=envelope.node_name, status=b""))


@pytest.fixture
def at():
    return Setting()


def sizes(at):
    return [len(sent.txn.then) for sent in at.sender.sent]


def test_an_idle_binder_sends_at_once_and_alone(at):
    (binding,) = at.bindings()
    at.submit(binding)
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND}
    assert at.node_of("p0") == "n1"
    assert sizes(at) == [1]
    assert at.binder.busy == 0


def test_the_token_is_in_what_is_stored_and_the_pod_is_scheduled(at):
    (binding,) = at.bindings()
    at.submit(binding)
    kv = at.etcd.get(term.pod_key("p0"))
    assert codec.parse_envelope(kv.key, kv.value).fencing_token == at.leadership.token
    assert codec.status_of(kv.value).scheduled.status == "True"


def test_what_comes_while_all_places_are_taken_goes_together():
    at = Setting(in_flight=2)
    at.sender.plan.extend(["held", "held"])
    for binding in at.bindings(2):
        at.submit(binding)
        at.clock.advance(MOMENT)
        at.binder.step()
    for binding in at.bindings(5):
        at.submit(binding)
        at.binder.step()
    at.clock.advance(MOMENT)
    at.binder.step()
    assert sizes(at) == [1, 1]
    at.sender.commit(at.sender.sent[0])
    at.binder.step()
    at.binder.step()
    assert sizes(at) == [1, 1, 5]
    assert at.binder.busy == 1


def test_what_comes_while_one_is_on_its_way_goes_together_after_a_moment(at):
    at.sender.plan.append("held")
    for binding in at.bindings(3):
        at.submit(binding)
    assert sizes(at) == [1]
    at.clock.advance(MOMENT)
    at.binder.step()
    assert sizes(at) == [1, 2]


def test_enough_for_a_batch_waits_for_nobody(at):
    at.sender.plan.append("held")
    at.submit(*at.bindings())
    at.submit(*at.bindings(ENOUGH - 1))
    assert sizes(at) == [1]
    at.submit(*at.bindings())
    assert sizes(at) == [1, ENOUGH]


def test_a_batch_holds_120_pods_at_most(at):
    at.submit(*at.bindings(250))
    at.binder.step()
    at.binder.step()
    assert sizes(at) == [120, 120, 10]
    assert set(at.fates.values()) == {Fate.BOUND}


def test_a_batch_holds_a_mebibyte_at_most(at):
    bindings = at.bindings(5, filler=400_000)
    at.submit(*bindings)
    at.binder.step()
    assert sizes(at) == [2, 2, 1]
    assert sum(len(each.write.value) for each in bindings[:2]) < MOST_BYTES


def test_one_pod_refused_does_not_keep_the_others(at):
    first, second, third = at.bindings(3)
    at.label("p1")
    at.submit(first, second, third)
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND, "p1": Fate.CONFLICT, "p2": Fate.BOUND}
    assert at.node_of("p1") == ""


@pytest.mark.parametrize("how", ["deleted", "created anew", "bound elsewhere", "undecodable"])
def test_a_pod_that_is_no_longer_what_was_scheduled_is_a_conflict(at, how):
    (binding,) = at.bindings()
    key = term.pod_key("p0")
    match how:
        case "deleted":
            at.etcd.delete(key)
        case "created anew":
            at.etcd.delete(key)
            at.etcd.put(key, pod("p0", node="n1").value or codec.encode(b'{"metadata":{"uid":"new"}}', node="n1"))
        case "bound elsewhere":
            at.etcd.put(key, codec.bound(binding.pod.value, "n2", 0, at=""))
        case "undecodable":
            at.etcd.put(key, b"\xff\xff")
    at.submit(binding)
    at.binder.step()
    ((verdict,),) = at.batches
    assert verdict.fate is Fate.CONFLICT
    assert verdict.revision == at.etcd.revision


def test_a_bind_whose_reply_was_lost_is_known_by_its_node_when_sent_again(at):
    at.sender.plan.append("lost")
    at.submit(*at.bindings(2))
    at.binder.step()
    at.binder.step()
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND, "p1": Fate.BOUND}
    assert [sent.copy for sent in at.sender.sent] == [0, 1]
    assert at.sender.sent[0].txn is at.sender.sent[1].txn


def test_p6_a_bind_that_was_overwritten_since_is_still_ours(at):
    at.sender.plan.append("silent")
    at.submit(*at.bindings())
    at.label("p0")
    at.clock.advance(ATTEMPT)
    at.binder.step()
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND}
    assert at.batches[0][0].found.mod_revision == at.etcd.revision


def test_p5_an_error_of_a_resend_does_not_settle_the_first_copy(at):
    at.sender.plan.extend(["held", NoSpace("full"), Unavailable("no"), TooLarge("no"), *["held"] * 9])
    at.submit(*at.bindings())
    for _ in range(4):
        at.clock.advance(ATTEMPT)
        at.binder.step()
        at.binder.step()
    assert len(at.sender.sent) > 4
    assert at.fates == {}
    at.sender.commit(at.sender.sent[0])
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND}
    assert sum(map(len, at.batches)) == 1


def test_a_silent_copy_stays_open_while_the_next_goes_to_another_member(at):
    at.sender.plan.append("held")
    at.submit(*at.bindings())
    at.clock.advance(ATTEMPT - 0.01)
    at.binder.step()
    assert len(at.sender.sent) == 1
    at.clock.advance(0.02)
    at.binder.step()
    assert [sent.copy for sent in at.sender.sent] == [0, 1]
    at.binder.step()
    assert at.fates == {"p0": Fate.BOUND}
    assert at.sender.sent[0].cancelled


def test_the_late_reply_of_another_copy_changes_nothing_any_more(at):
    at.sender.plan.append("held")
    at.submit(*at.bindings())
    at.clock.advance(ATTEMPT)
    at.binder.step()
    at.binder.step()
    at.sender.sent[0].answer(OutcomeUnknown("cancelled"))
    at.sender.commit(at.sender.sent[0])
    at.binder.step()
    assert sum(map(len, at.batches)) == 1


def test_the_first_failure_is_followed_at_once_and_further_ones_after_a_pause(at):
    at.sender.plan.extend([Unavailable("down")] * 4)
    at.submit(*at.bindings())
    sent = []
    for _ in range(8):
        at.binder.step()
        sent.append(len(at.sender.sent))
    assert sent[-1] == 2  # the second failure waits
    at.clock.advance(0.05)
    at.binder.step()
    assert len(at.sender.sent) == 3


def test_p18_a_refused_guard_ends_the_term_at_once(at):
    first, second = at.bindings(2)
    term.depose(at.etcd)
    at.submit(first, second)
    assert at.leadership.lost.is_set()
    assert at.fates == {"p0": Fate.FENCED, "p1": Fate.FENCED}
    assert at.node_of("p0") == ""


def test_p25_after_the_term_each_pod_is_judged_by_what_it_shows(at):
    at.sender.plan.append("silent")
    first, second = at.bindings(2)
    at.label("p1")
    at.submit(first, second)
    term.depose(at.etcd)
    at.clock.advance(ATTEMPT)
    at.binder.step()
    at.binder.step()
    assert at.leadership.lost.is_set()
    assert at.fates == {"p0": Fate.BOUND, "p1": Fate.FENCED}


def test_a_restored_etcd_with_the_same_revision_refuses(at):
    (binding,) = at.bindings()
    lowered = at.leadership.guard.token
    at.etcd._now[term.TERM] = at.etcd._now[term.TERM].__class__(term.TERM, b"somebody else", lowered, lowered)
    at.submit(binding)
    assert at.fates == {"p0": Fate.FENCED}


def test_a_batch_that_is_too_large_is_halved_until_it_fits(at):
    at.sender.largest = 2_500
    at.submit(*at.bindings(16))
    for _ in range(12):
        at.binder.step()
    assert set(at.fates.values()) == {Fate.BOUND}
    assert len(at.fates) == 16
    assert max(len(sent.txn.then) for sent in at.sender.sent[1:]) < 16
    # What was learned holds for what comes later.
    before = len(at.sender.sent)
    at.submit(*at.bindings(16))
    for _ in range(12):
        at.binder.step()
    assert not any(isinstance(sent.replies[0], TooLarge) for sent in at.sender.sent[before:])


def test_a_pod_that_is_too_large_fails_alone(at):
    at.sender.largest = 100_000
    small, large, other = (*at.bindings(), *at.bindings(filler=200_000), *at.bindings())
    at.submit(small, large, other)
    for _ in range(8):
        at.binder.step()
    assert at.fates == {"p0": Fate.BOUND, "p1": Fate.TOO_LARGE, "p2": Fate.BOUND}


def test_a_group_is_bound_as_a_whole_or_not_at_all(at):
    bindings = at.bindings(3)
    alone = at.bindings()[0]
    at.label("p1")
    at.submit_groups(tuple(bindings), (alone,))
    assert at.fates == {"p0": Fate.CONFLICT, "p1": Fate.CONFLICT, "p2": Fate.CONFLICT, "p3": Fate.BOUND}
    assert [at.node_of(name) for name in ("p0", "p1", "p2", "p3")] == ["", "", "", "n1"]


def test_the_operations_of_a_large_group_are_counted(at):
    first, second = at.bindings(50), at.bindings(30)
    at.submit_groups(tuple(first), tuple(second))
    assert sizes(at) == [1, 1]
    assert set(at.fates.values()) == {Fate.BOUND}


def test_nothing_is_sent_once_the_gate_is_closed(at):
    at.clock.set(at.leadership.deadline)
    at.submit(*at.bindings())
    assert at.sender.sent == []
    at.leadership.lost.set()
    at.binder.run()
    assert at.fates == {"p0": Fate.NOT_SENT}


def test_no_copy_is_sent_once_the_gate_is_closed(at):
    at.sender.plan.append("held")
    at.submit(*at.bindings())
    at.clock.set(at.leadership.deadline)
    at.binder.step()
    assert len(at.sender.sent) == 1


def test_at_a_lost_term_what_is_in_flight_is_unsettled_and_the_rest_is_not_sent():
    at = Setting(in_flight=1)
    at.sender.plan.append("held")
    for binding in at.bindings(2):
        at.submit(binding)
    at.leadership.lost.set()
    at.binder.run()
    assert at.fates == {"p0": Fate.UNSETTLED, "p1": Fate.NOT_SENT}
    assert at.sender.sent[0].cancelled


def test_a_drain_waits_for_what_is_in_flight_and_no_more():
    at = Setting(in_flight=1)
    at.sender.plan.append("held")
    for binding in at.bindings(2):
        at.submit(binding)
    at.binder.drain(at.clock.now() + 5.0)
    running = threading.Thread(target=at.binder.run, daemon=True)
    running.start()
    eventually(lambda: at.fates == {"p1": Fate.NOT_SENT}, within=5)
    at.sender.commit(at.sender.sent[0])
    running.join(5)
    assert at.fates == {"p1": Fate.NOT_SENT, "p0": Fate.BOUND}
    at.binder.submit([(each,) for each in at.bindings()])
    assert at.fates["p2"] is Fate.NOT_SENT


def test_a_drain_ends_at_its_deadline(at):
    at.sender.plan.append("held")
    at.submit(*at.bindings())
    at.binder.drain(at.clock.now() + 5.0)
    at.binder.step()
    at.clock.advance(5.0)
    at.binder.run()
    assert at.fates == {"p0": Fate.UNSETTLED}
    assert at.binder.busy == 0


def test_another_etcd_ends_the_work(at):
    at.sender.plan.append(HistoryLost("restored"))
    at.binder.submit([(each,) for each in at.bindings()])
    at.binder.step()
    at.binder.drain(at.clock.now() + 5.0)
    with pytest.raises(HistoryLost):
        at.binder.run()
    assert at.fates == {"p0": Fate.UNSETTLED}


STEPS = ("ok", "ok", "ok", "lost", "silent", "held", "held", Unavailable("u"), OutcomeUnknown("o"), NoSpace("n"))


class Storm(Setting):
    """Drawn faults, until all is said and done."""

    def __init__(self, draw):
        super().__init__(in_flight=draw.randrange(1, 5))
        self.draw = draw
        if draw.random() < 0.3:
            self.sender.largest = draw.randrange(600, 4000)

    @property
    def unanswered(self):
        return [sent for sent in self.sender.sent if not sent.replies]

    def happen(self):
        draw = self.draw
        name = f"p{draw.randrange(self.serial)}" if self.serial else ""
        match draw.randrange(10):
            case 0 | 1 | 2:
                self.sender.plan.append(draw.choice(STEPS))
                self.submit(*self.bindings(draw.randrange(1, 6)))
            case 3 if name and self.etcd.get(term.pod_key(name)) is not None:
                draw.choice((self.label, lambda gone: self.etcd.delete(term.pod_key(gone))))(name)
            case 4 if self.unanswered:
                self.sender.commit(draw.choice(self.unanswered))
            case 5 if draw.random() < 0.1:
                term.depose(self.etcd)
            case _:
                self.clock.advance(draw.random() * ATTEMPT)
        self.binder.step()

    def end(self):
        self.sender.plan.clear()
        if self.leadership.lost.is_set() or self.draw.random() < 0.2:
            self.leadership.lost.set()
        else:
            self.binder.drain(self.clock.now() + 60.0)
            for _ in range(60):
                self.clock.advance(ATTEMPT)
                self.binder.step()
        self.binder.run()

    def ever_bound(self):
        """The pods that were bound at any time."""
        return {
            event.key
            for event in self.etcd._log
            if event.value and event.key != term.TERM and codec.parse_envelope(event.key, event.value).node_name
        }


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_each_bind_has_one_verdict_and_it_is_true(seed):
    storm = Storm(random.Random(seed))  # noqa: S311  # drawn faults, no secret
    for _ in range(80):
        storm.happen()
    storm.end()
    verdicts = [verdict for batch in storm.batches for verdict in batch]
    assert sorted(Counter(verdict.binding.pod.name for verdict in verdicts).values()) == [1] * storm.serial
    for sent in storm.unanswered:
        # Copies that are still on their way arrive after all: what was said must stay true.
        storm.sender.commit(sent)
    bound = storm.ever_bound()
    for verdict in verdicts:
        if verdict.fate is Fate.BOUND:
            assert verdict.binding.write.key in bound
        elif verdict.fate in {Fate.FENCED, Fate.NOT_SENT, Fate.TOO_LARGE}:
            assert verdict.binding.write.key not in bound
