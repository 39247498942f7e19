"""Each check of processes is red on the smallest record that breaks its rule, and green on one that just keeps it."""

import json

import pytest

from chaos.checks import CHECKS, judge, judged
from chaos.effect import Effect
from chaos.record import CutOff, LogLine, Record
from tests.harness.history import LOCK, HistoryMaker, pod
from tests.harness.records import account, action, end, operation, record, renewal, span, term


@pytest.fixture
def made():
    made = HistoryMaker()
    made.node("n1")  # 2
    made.first = made.acquire("A")  # 3
    return made


def breaches(check, made, **fields):
    return [(each.check, each.identity) for each in CHECKS[check](record(made, **fields))]


class TestBeliefs:
    """The default takeover is by expiry: nothing is allowed."""

    def of(self, made, *, lost, began, takeover="expiry", **fields):
        made.second = made.acquire("B")  # 4
        older = account("A", term(made.first, began=3.0, lost=lost))
        newer = account("B", term(made.second, began=began, takeover=takeover))
        return breaches("beliefs", made, accounts=(older, newer), **fields)

    def test_one_after_the_other(self, made):
        assert self.of(made, lost=4.0, began=4.0) == []

    def test_one_beside_the_other(self, made):
        assert self.of(made, lost=4.1, began=4.0) == [("belief-overlap", "A")]

    def test_clocks_that_may_be_off_by_as_much_show_nothing(self, made):
        assert self.of(made, lost=4.002, began=4.0) == []

    def test_the_smallest_evidence_is_two_beginnings_and_an_end(self, made):
        self.of(made, lost=4.1, began=4.0)
        accounts = (account("A", term(3, began=3.0, lost=4.1)), account("B", term(4, began=4.0)))
        (found,) = CHECKS["beliefs"](record(made, accounts=accounts))
        assert found.message == "replica-A and replica-B both believed to lead for 0.100 s"
        assert found.evidence == (
            "+2.000 s  replica-A told that its term 3 began",
            "+3.000 s  replica-B told that its term 4 began",
            "+3.100 s  replica-A told that it stopped",
            "allowed: none after a takeover by expiry; the clocks are known to 2.0 ms",
        )

    def test_after_evidence_it_may_take_until_the_record_is_seen(self, made):
        assert self.of(made, lost=4.9, began=4.0, takeover="evidence") == []

    def test_after_evidence_it_may_not_take_for_ever(self, made):
        assert self.of(made, lost=5.1, began=4.0, takeover="evidence") == [("belief-overlap", "A")]

    def test_who_is_cut_off_has_until_its_gate(self, made):
        # acquired by a send at 3.0 - 0.01: its gate is at 4.99; renewed at 4.5: at 6.5
        older = account("A", term(made.first, began=3.0, lost=6.4), renewal(made.first, 4, 4.5))
        made.renew("A")
        token = made.acquire("B")
        newer = account("B", term(token, began=5.0, takeover="evidence"))
        cut = action(Effect.CUT, "A", 4.8, 100.0)
        assert breaches("beliefs", made, accounts=(older, newer), actions=(cut,)) == []
        later = account("A", term(made.first, began=3.0, lost=6.6), renewal(made.first, 4, 4.5))
        assert breaches("beliefs", made, accounts=(later, newer), actions=(cut,)) == [("belief-overlap", "A")]

    def test_who_stood_still_has_until_it_has_read_the_clock(self, made):
        pause = action(Effect.PAUSE, "A", 3.5, 20.0)
        assert self.of(made, lost=21.5, began=7.0, actions=(pause,)) == []

    def test_who_stood_still_may_not_go_on_for_ever(self, made):
        pause = action(Effect.PAUSE, "A", 3.5, 20.0)
        assert self.of(made, lost=22.5, began=7.0, actions=(pause,)) == [("belief-overlap", "A")]

    def test_a_pause_is_known_by_the_name_of_the_process_too(self, made):
        pause = action(Effect.PAUSE, "daemon", 3.5, 20.0, target="replica-A")
        assert self.of(made, lost=21.5, began=7.0, actions=(pause,)) == []

    def test_another_ones_pause_excuses_nothing(self, made):
        pause = action(Effect.PAUSE, "C", 3.5, 20.0)
        assert self.of(made, lost=7.5, began=7.0, actions=(pause,)) == [("belief-overlap", "A")]

    def test_who_was_killed_believes_nothing_after_that(self, made):
        kill = action(Effect.KILL, "A", 3.9)
        assert self.of(made, lost=None, began=4.0, actions=(kill,), exits=(end("A", -9, 4.2),)) == []

    def test_who_told_of_no_end_believes_until_its_gate(self, made):
        assert self.of(made, lost=None, began=4.0, exits=(end("A", 1, 4.5),)) == [("belief-overlap", "A")]
        assert self.of(made, lost=None, began=4.995, exits=(end("A", 1, 9.0),)) == []

    def test_who_is_still_there_and_told_of_no_end_believes_still(self, made):
        assert self.of(made, lost=None, began=900.0) == [("belief-overlap", "A")]

    def test_other_locks_are_other_beliefs(self, made):
        token = made.acquire("B", lock="other/lock")
        older = account("A", term(made.first, began=3.0, lost=9.0))
        newer = account("B", term(token, began=4.0, lock="other/lock"))
        assert breaches("beliefs", made, accounts=(older, newer)) == []

    def test_beside_a_key_written_by_hand_until_it_is_seen(self, made):
        by_hand = action(Effect.KEYS, "", 3.8)
        assert self.of(made, lost=4.5, began=4.0, actions=(by_hand,)) == []
        assert self.of(made, lost=9.5, began=4.0, actions=(by_hand,)) == [("belief-overlap", "A")]


class TestRealTime:
    def test_a_later_write_has_a_later_revision(self, made):
        done = (operation(1.0, 2.0, 2, mark="uid-n1", what="read"), operation(2.5, 3.0, 3, outcome="applied"))
        assert breaches("real-time", made, operations=done) == []

    def test_a_reply_of_the_past(self, made):
        done = (operation(3.0, 3.5, 3), operation(3.6, 3.7, 2))
        assert breaches("real-time", made, operations=done) == [("time-order", "")]

    def test_what_overlaps_may_come_in_any_order(self, made):
        done = (operation(3.0, 3.65, 3), operation(3.6, 3.7, 2))
        assert breaches("real-time", made, operations=done) == []

    def test_a_read_may_share_the_revision_and_a_write_may_not(self, made):
        first, read = operation(2.0, 2.5, 2), operation(2.6, 2.7, 2)
        assert breaches("real-time", made, operations=(first, read)) == []
        write = operation(2.6, 2.7, 2, mark="uid-n1")
        assert ("time-order", "") in breaches("real-time", made, operations=(first, write))

    def test_replicas_are_held_to_it_as_clients_are(self, made):
        made.renew("A")  # 4
        told = account("A", renewal(made.first, 4, 3.9))
        assert breaches("real-time", made, accounts=(told,)) == []
        read = operation(3.0, 3.1, 5)
        assert breaches("real-time", made, accounts=(told,), operations=(read,)) == [("time-order", "")]

    def test_nothing_is_seen_before_it_was_sent(self, made):
        early = operation(2.5, 2.6, 2, mark="uid-n1")
        assert breaches("real-time", made, operations=(early,)) == [("before-its-cause", "")]
        unknown = operation(2.5, None, None, mark="uid-n1")
        assert breaches("real-time", made, operations=(unknown,)) == [("before-its-cause", "")]

    def test_an_unknown_outcome_may_be_either(self, made):
        done = (operation(1.5, None, None, mark="uid-n1"), operation(1.5, None, None, mark="uid-never"))
        assert breaches("real-time", made, operations=done) == []

    def test_told_applied_and_not_there(self, made):
        for revision, mark in ((3, "uid-n1"), (2, "uid-never")):
            told = operation(1.0, 9.0, revision, mark=mark)
            assert breaches("real-time", made, operations=(told,)) == [("untrue-outcome", "")]

    def test_told_refused_and_there(self, made):
        told = operation(1.0, 9.0, 2, mark="uid-n1", outcome="refused")
        assert breaches("real-time", made, operations=(told,)) == [("untrue-outcome", "")]
        assert breaches("real-time", made, operations=(operation(1.0, 9.0, 2, mark="no", outcome="refused"),)) == []

    def test_a_write_that_took_effect_twice(self, made):
        made.pod("p")  # 4
        made.pod("p", cpu="2")  # 5: the same life
        told = operation(3.5, None, None, mark="uid-p")
        assert breaches("real-time", made, operations=(told,)) == []
        made.delete("pods/default/p")
        made.pod("p")
        assert breaches("real-time", made, operations=(told,)) == [("untrue-outcome", "")]

    def test_a_cut_off_history_contradicts_nobody(self, made):
        told = operation(1.0, 9.0, 3, mark="uid-never")
        judged_by = Record(ledger=type(record(made).ledger).of(made.history(compacted=2)), operations=(told,))
        assert CHECKS["real-time"](judged_by) == ()

    def test_a_holder_that_never_knew_of_its_term(self, made):
        # renew deadline 2 s and a second of slack after revision 3 was seen
        lived = account("A", span("other", 1.0, 6.1))
        assert breaches("real-time", made, accounts=(lived,)) == [("untold-term", "A")]
        assert breaches("real-time", made, accounts=(account("A", span("other", 1.0, 5.9)),)) == []
        assert breaches("real-time", made, accounts=(account("A", span("other", 1.0, 6.1), term(3, began=3.0)),)) == []

    def test_a_term_that_was_ended_before_its_holder_could_hear_of_it(self, made):
        lived = account("A", span("other", 1.0, 100.0))
        made.commit({f"leases/{LOCK}": None})  # 4: by hand, a second after its acquire
        assert breaches("real-time", made, accounts=(lived,)) == []
        made.acquire("A")  # 5: of which it tells
        told = account("A", span("other", 1.0, 100.0), term(5, began=5.0))
        assert breaches("real-time", made, accounts=(told,)) == []

    def test_a_term_that_another_ended_before_its_holder_could_hear_of_it(self, made):
        made.acquire("B")  # 4
        lived = account("A", span("other", 1.0, 100.0))
        assert breaches("real-time", made, accounts=(lived,)) == []

    def test_a_term_that_was_ended_too_late_for_that(self, made):
        made.revision = 6
        made.commit({f"leases/{LOCK}": None})  # 7
        lived = account("A", span("other", 1.0, 100.0))
        assert breaches("real-time", made, accounts=(lived,)) == [("untold-term", "A")]

    def test_a_holder_that_acquired_again_while_its_term_stood(self, made):
        token = made.acquire("A")  # 4
        twice = account("A", term(token, began=4.0), span("other", 1.0, 4.5))
        (found,) = CHECKS["real-time"](record(made, accounts=(twice,)))
        assert (found.check, found.identity, found.token) == ("untold-term", "A", 3)
        assert found.evidence == (
            "+2.000 s  the watch brought revision 3, at which its term began",
            "+3.000 s  it began term 4 in its place",
        )

    def test_a_renewal_ends_no_term(self, made):
        made.renew("A")  # 4
        lived = account("A", span("other", 1.0, 6.1))
        assert breaches("real-time", made, accounts=(lived,)) == [("untold-term", "A")]


class TestLiveness:
    """A lease of 3 s, a poll of 1.1 s and a second of slack: 5.1 s; 2.5 s more where requests may be held back."""

    def of(self, made, *actions, until=1000.0):
        return breaches("liveness", made, actions=actions, until=until)

    def test_somebody_led_in_time(self, made):
        made.renew("A")  # 4
        assert self.of(made, action(Effect.KILL, "B", 3.5), until=5.0) == []

    def test_nobody_led_any_more(self, made):
        made.revision = 8
        made.acquire("B")  # 9
        assert self.of(made, action(Effect.KILL, "A", 3.8)) == [("no-leader", "")]
        assert self.of(made, action(Effect.KILL, "A", 3.9)) == []

    def test_requests_that_were_held_back_may_cost_nearly_another_lease(self, made):
        made.revision = 10
        made.acquire("B")  # 11
        assert self.of(made, action(Effect.CUT, "A", 3.1, 3.5)) == []
        assert self.of(made, action(Effect.KILL, "A", 3.5)) == [("no-leader", "")]

    def test_what_is_not_watched_long_enough_is_not_judged(self, made):
        assert self.of(made, action(Effect.KILL, "A", 3.8), until=8.8) == []
        assert self.of(made, action(Effect.KILL, "A", 3.8), until=9.0) == [("no-leader", "")]

    def test_it_counts_from_the_last_fault_that_is_over(self, made):
        made.revision = 19
        made.acquire("B")  # 20
        long = action(Effect.PAUSE, "A", 3.5, 18.0)
        assert self.of(made, action(Effect.KILL, "C", 4.0), long) == []

    def test_each_quiet_time_counts(self, made):
        made.revision = 49
        made.acquire("B")  # 50
        assert self.of(made, action(Effect.KILL, "A", 4.0), action(Effect.KILL, "C", 49.5)) == [("no-leader", "")]

    def test_a_key_written_by_hand_is_no_sign_of_life(self, made):
        made.renew("stranger")  # 4
        assert self.of(made, action(Effect.KEYS, "", 3.5, revisions=(4,))) == [("no-leader", "")]

    def test_where_nobody_is_left_who_stood_by_somebody_has_to_start_first(self, made):
        made.revision = 20
        made.acquire("B")  # 21
        line = LogLine(at=2.0, level="INFO", event="standing by")
        both = (account("A", lines=(line,)), account("C", lines=(line,)))
        kill = (action(Effect.KILL, "A", 3.5), action(Effect.KILL, "C", 3.5))
        gone = (end("A", -9, 3.6), end("C", -9, 3.6))
        assert breaches("liveness", made, actions=kill, accounts=both, exits=gone) == []
        assert breaches("liveness", made, actions=kill, accounts=both, exits=gone[:1]) == [("no-leader", "")]

    def test_a_release_is_no_sign_of_life(self, made):
        made.release()  # 4
        assert self.of(made, action(Effect.STOP, "A", 3.5)) == [("no-leader", "")]


class TestExits:
    """Exit bound 0.5 s, drain 5 s, a second of slack."""

    def test_each_reason_has_its_code(self, made):
        made.accounts = (account("C", term(3, began=3.0, lost=4.0)),)
        exits = (end("A", -9, 4.0), end("B", 0, 5.0, asked=4.0), end("C", 1, 4.1))
        kill = action(Effect.KILL, "A", 3.9)
        assert breaches("exits", made, exits=exits, actions=(kill,), accounts=made.accounts) == []

    @pytest.mark.parametrize(("code", "asked"), [(0, None), (-9, None), (-11, 4.0), (1, 4.0), (3, None)], ids=str)
    def test_no_other(self, made, code, asked):
        assert breaches("exits", made, exits=(end("A", code, 4.5, asked),)) == [("exit-code", "A")]

    def test_who_lost_its_lease_while_it_was_asked_to_end_may_say_so(self, made):
        lost = account("A", term(3, began=3.0, lost=4.2))
        assert breaches("exits", made, exits=(end("A", 1, 4.5, asked=4.0),), accounts=(lost,)) == []

    def test_who_could_not_reach_etcd_while_it_was_to_end_may_have_lost_its_lease(self, made):
        def of(*actions, code=1, members=3):
            exits = (end("A", code, 6.0, asked=4.0),)
            return breaches("exits", made, exits=exits, actions=actions, members=members)

        def member(number, at, healed, fault="kill"):
            name = f"etcd-{number}"
            return action(Effect.STORE, name, at, healed, target=name, fault=fault)

        assert of() == [("exit-code", "A")]
        for during in ((5.9, 9.0), (3.0, 4.1)):
            assert of(action(Effect.CUT, "A", *during)) == []
            assert of(action(Effect.STORE, "", *during, target="cluster", fault="quorum-loss")) == []
            assert of(action(Effect.STORE, "", *during, target="cluster", fault="no-space")) == []
            assert of(member(1, *during), member(2, *during)) == []
            assert of(member(1, *during), members=1) == []
        for during in ((6.1, 9.0), (3.0, 4.0)):
            assert of(action(Effect.CUT, "A", *during)) == [("exit-code", "A")]
            assert of(action(Effect.STORE, "", *during, target="cluster", fault="quorum-loss")) == [("exit-code", "A")]
        assert of(action(Effect.CUT, "A", 3.0, 9.0), code=3) == [("exit-code", "A")]
        assert of(action(Effect.CUT, "B", 3.0, 9.0)) == [("exit-code", "A")]
        assert of(action(Effect.CUT, "A", 3.0, 9.0, parameters={"members": 1})) == [("exit-code", "A")]
        assert of(action(Effect.STORE, "", 3.0, 9.0, target="cluster", fault="compact")) == [("exit-code", "A")]
        assert of(member(1, 3.0, 9.0)) == [("exit-code", "A")]
        assert of(member(1, 3.0, 5.0), member(2, 5.0, 9.0)) == [("exit-code", "A")]
        assert of(member(1, 3.0, 5.0), member(2, 4.9, 9.0)) == []
        slow = (member(1, 3.0, 9.0, fault="delay"), member(2, 3.0, 9.0, fault="delay"))
        assert of(*slow) == [("exit-code", "A")]

    def test_a_switchover_asks_too(self, made):
        made.commit({f"switchovers/{LOCK}": b"{}"})
        assert breaches("exits", made, exits=(end("A", 0, 4.5),)) == []

    def test_a_loop_of_kills_meets_those_who_come_after(self, made):
        loop = action(Effect.KILL, "A", 3.5, 9.0)
        again = end("A2", -9, 7.0)
        again = type(again)(name="replica-A", identity="A2", code=-9, at=7.0)
        assert breaches("exits", made, exits=(end("A", -9, 3.6), again), actions=(loop,)) == []
        late = type(again)(name="replica-A", identity="A3", code=-9, at=11.0)
        assert breaches("exits", made, exits=(late,), actions=(loop,)) == [("exit-code", "A3")]

    def test_who_lost_its_lease_is_gone_within_the_exit_bound(self, made):
        lost = (account("A", term(3, began=3.0, lost=4.0)),)
        assert breaches("exits", made, exits=(end("A", 1, 5.4),), accounts=lost) == []
        assert breaches("exits", made, exits=(end("A", 1, 5.6),), accounts=lost) == [("exit-late", "A")]
        assert breaches("exits", made, accounts=lost) == [("exit-late", "A")]
        assert breaches("exits", made, accounts=lost, until=5.0) == []

    def test_of_a_client_nobody_knows_whether_it_is_there(self, made):
        stop = (action(Effect.STOP, "lockctl", 4.0, target="lockctl-1"),)
        assert breaches("exits", made, actions=stop) == []

    def test_a_process_that_stands_still_can_not_end(self, made):
        lost = (account("A", term(3, began=3.0, lost=4.0)),)
        pause = action(Effect.PAUSE, "A", 4.1, 10.0)
        assert breaches("exits", made, exits=(end("A", 1, 11.0),), accounts=lost, actions=(pause,)) == []
        other = action(Effect.PAUSE, "B", 4.1, 10.0)
        found = breaches("exits", made, exits=(end("A", 1, 11.0),), accounts=lost, actions=(other,))
        assert found == [("exit-late", "A")]

    def test_who_is_asked_to_end_has_a_drain_beside(self, made):
        stop = (action(Effect.STOP, "A", 4.0),)
        assert breaches("exits", made, exits=(end("A", 0, 10.4),), actions=stop) == []
        assert breaches("exits", made, exits=(end("A", 0, 10.6),), actions=stop) == [("exit-late", "A")]
        assert breaches("exits", made, actions=stop) == [("exit-late", "A")]

    def test_a_leader_that_is_cut_off_ends_by_its_gate_and_the_exit_bound(self, made):
        leads = (account("A", term(3, began=3.0)),)
        cut = (CutOff(identity="A", at=4.0),)
        assert breaches("exits", made, accounts=leads, cut_off=cut, exits=(end("A", 1, 7.4),)) == []
        assert breaches("exits", made, accounts=leads, cut_off=cut, exits=(end("A", 1, 7.6),)) == [("exit-late", "A")]
        short = (CutOff(identity="A", at=4.0, until=6.0),)
        assert breaches("exits", made, accounts=leads, cut_off=short) == []

    def test_a_fault_that_cuts_it_off_from_all_members_counts_as_that(self, made):
        leads = (account("A", term(3, began=3.0)),)
        for parameters, late in (({}, True), ({"off": "presence"}, False), ({"members": 1}, False)):
            cut = action(Effect.CUT, "A", 4.0, 900.0, parameters=parameters)
            found = breaches("exits", made, accounts=leads, actions=(cut,), exits=(end("A", 1, 7.6),))
            assert bool(found) is late

    def test_a_term_held_for_a_client_ends_without_the_process(self, made):
        served = (account("D", term(3, began=3.0, lost=4.0, lock="other/lock")),)
        assert breaches("exits", made, accounts=served) == []

    def test_a_standby_that_is_cut_off_stays(self, made):
        assert breaches("exits", made, accounts=(account("B"),), cut_off=(CutOff(identity="B", at=4.0),)) == []


class TestFaults:
    def test_each_took_effect_and_was_undone(self, made):
        done = (action(Effect.KILL, "A", 1.0), action(Effect.PAUSE, "B", 2.0, 3.0))
        assert breaches("faults", made, actions=done) == []

    @pytest.mark.parametrize(
        "fields", [{"proof": ""}, {"healing": ""}, {"healed_at": None}], ids=["no proof", "no healing", "never healed"]
    )
    def test_what_was_not_seen_did_not_happen(self, made, fields):
        assert breaches("faults", made, actions=(action(Effect.PAUSE, "A", 2.0, 3.0, **fields),)) == [
            ("fault-unproven", "A")
        ]

    @pytest.mark.parametrize(("at", "ineffective"), [(4.9, False), (5.1, True), (8.9, True), (9.1, False)])
    def test_who_stands_still_begins_nothing(self, made, at, ineffective):
        pause = action(Effect.PAUSE, "A", 4.0, 9.0)
        told = account("A", span("anything", at, at + 9.0))
        found = breaches("faults", made, actions=(pause,), accounts=(told,))
        assert found == ([("fault-ineffective", "A")] if ineffective else [])
        assert breaches("faults", made, actions=(pause,), accounts=(account("B", *told.spans),)) == []

    @pytest.mark.parametrize(
        ("parameters", "ineffective"), [({}, True), ({"off": "presence"}, False), ({"members": 1}, False)], ids=str
    )
    def test_who_is_cut_off_from_etcd_renews_nothing(self, made, parameters, ineffective):
        cut = action(Effect.CUT, "A", 4.0, 9.0, parameters=parameters)
        renewed = account("A", renewal(3, 4, 6.0))
        assert bool(breaches("faults", made, actions=(cut,), accounts=(renewed,))) is ineffective
        later = account("A", renewal(3, 4, 6.0, 9.1))
        assert breaches("faults", made, actions=(cut,), accounts=(later,)) == []

    def test_who_was_let_go_on_may_do_so_before_that_is_seen(self, made):
        told = account("A", span("other", 8.5, 8.6))
        assert breaches("faults", made, actions=(action(Effect.PAUSE, "A", 4.0, 9.0),), accounts=(told,))
        assert (
            breaches("faults", made, actions=(action(Effect.PAUSE, "A", 4.0, 9.0, lifted_at=8.4),), accounts=(told,))
            == []
        )

    def test_of_two_cuts_the_newer_one_counts(self, made):
        cuts = (action(Effect.CUT, "A", 4.0, 9.0), action(Effect.CUT, "A", 6.5, 9.0, parameters={"members": 1}))
        late, later = account("A", renewal(3, 4, 5.5, 6.6)), account("A", renewal(3, 4, 5.5, 6.4))
        assert breaches("faults", made, actions=cuts, accounts=(late,)) == []
        assert breaches("faults", made, actions=cuts, accounts=(later,)) == [("fault-ineffective", "A")]


class TestEvidence:
    """A leads from revision 3 on, is replaced at 4, and marks at 5 that it had been alive."""

    def of(self, made, *actions, marked=True, takeover="evidence", **fields):
        made.commit({f"leases/{LOCK}": made.lease("B", takeover=takeover), f"terms/{LOCK}": made.term("B")})
        value = {"identity": "A", "deposedToken": made.first} if marked else {"identity": "A"}
        made.commit({f"candidates/{LOCK}/A": json.dumps(value).encode()})
        return breaches("evidence", made, actions=actions, **fields)

    def test_nothing_had_ended_its_connections(self, made):
        assert self.of(made) == [("unfounded-evidence", "A")]

    def test_who_told_nothing_was_dead(self, made):
        told = account("A", span("other", 3.9, 4.0005))
        assert self.of(made, marked=False, accounts=(told,)) == []

    def test_who_went_on_was_not(self, made):
        told = account("A", span("other", 4.1, 4.2))
        assert self.of(made, marked=False, accounts=(told,)) == [("unfounded-evidence", "A")]

    def test_who_was_replaced_otherwise_may_go_on(self, made):
        told = account("A", span("other", 4.1, 4.2))
        assert self.of(made, marked=False, takeover="expiry", accounts=(told,)) == []

    @pytest.mark.parametrize(
        ("parameters", "during", "founded"),
        [
            ({"off": "presence", "mode": "reset"}, (3.5, 9.0), True),
            ({"off": "all", "mode": "refuse"}, (1.0, 3.1), True),
            ({"off": "presence", "mode": "black-hole"}, (3.5, 9.0), False),
            ({"off": "presence"}, (3.5, 9.0), False),
            ({"mode": "reset"}, (3.5, 9.0), False),
            ({"off": "presence", "mode": "reset"}, (4.1, 9.0), False),
            ({"off": "presence", "mode": "reset"}, (1.0, 2.9), False),
        ],
        ids=str,
    )
    def test_a_fault_that_ends_connections_is_reason_enough(self, made, parameters, during, founded):
        cut = action(Effect.CUT, "A", *during, fault="cut", parameters=parameters)
        assert self.of(made, cut) == ([] if founded else [("unfounded-evidence", "A")])

    def test_another_fault_is_none(self, made):
        assert self.of(made, action(Effect.PAUSE, "A", 3.5, 9.0)) == [("unfounded-evidence", "A")]


class TestBarrier:
    """A binds `p` at revision 5; B leads from 6 on."""

    def of(self, made, *, bound=True, again=False):
        made.pod("p")  # 4
        if bound:
            made.bind("p", "n1")  # 5
        token = made.acquire("B")  # 6, or 5
        if again:
            made.delete("pods/default/p")
            made.pod("p", uid="another")
        made.bind("p", "n1")
        refused = LogLine(
            at=9.0,
            level="info",
            event="bind refused",
            fields={"pod": "default/p", "node": "n2", "revision": made.revision},
        )
        told = account("B", term(token, began=float(token)), lines=(refused,))
        return CHECKS["barrier"](record(made, accounts=(told,)))

    def test_a_pod_that_had_its_node_before(self, made):
        (found,) = self.of(made)
        assert (found.check, found.identity, found.token) == ("stale-view", "B", 6)
        assert found.evidence == (
            "revision 5  pods/default/p was bound to n1 with token 3",
            "revision 6  the term of replica-B began",
            "revision 7  its bind of pods/default/p to n2 was refused",
        )

    def test_a_pod_that_got_its_node_later(self, made):
        assert self.of(made, bound=False) == ()

    def test_another_pod_of_that_name(self, made):
        assert self.of(made, again=True) == ()


class TestByHand:
    def test_what_a_fault_wrote_is_nobodys_fault(self, made):
        garbage = made.commit({f"leases/{LOCK}": b"garbage"})
        assert [each.check for each in judge(record(made))] == ["lease-not-holder"]
        by_hand = action(Effect.KEYS, "", 3.5, revisions=(garbage,))
        assert CHECKS["one-term"](record(made, actions=(by_hand,))) == ()


def test_a_record_of_history_alone_breaks_no_check_of_processes(made):
    made.commit({"pods/default/p": pod("p", node="n1", token=made.first)})
    found = judged(Record(ledger=record(made).ledger))
    assert set(found) == set(CHECKS)
    assert not any(found.values())
