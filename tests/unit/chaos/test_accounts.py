"""Accounts out of files, their clocks measured and not assumed."""

import json
from datetime import UTC, datetime

import pytest

from chaos.history import Stamp
from chaos.measure import clocks
from chaos.measure.accounts import gather
from chaos.measure.clocks import Bracket

WALL = 1_700_000_000.0


def at(second):
    """The tool's stamp at a second of its CLOCK_BOOTTIME; its wall clock is 1,700,000,000 s ahead."""
    return Stamp(second, WALL + second)


def test_one_clock_is_the_tools_own_as_far_as_the_two_were_seen_to_agree():
    clock = clocks.shared([at(1.0), at(2.0), Stamp(3.0, WALL + 3.002)])
    assert clock.ours(WALL + 7.0) == pytest.approx(7.0)
    assert clock.error == pytest.approx(0.002, rel=1e-3)


def test_nothing_stamped_maps_nothing():
    assert clocks.shared([]) is None
    assert clocks.measured([], 0.1) is None


def test_a_commit_that_was_seen_before_it_was_sent_shows_another_clock():
    clock = clocks.shared([at(1.0)])
    assert not clocks.refuted(clock, [Bracket(WALL + 5.0, WALL + 5.1, seen=5.02)])
    assert clocks.refuted(clock, [Bracket(WALL + 5.0, WALL + 5.1, seen=4.9)])


def test_a_clock_of_its_own_is_measured_by_commits():
    shift = WALL + 3600.0
    told = [Bracket(shift + second, shift + second + 0.02, seen=second + 0.015) for second in (1.0, 2.0, 3.0)]
    clock = clocks.measured(told, 0.005)
    assert clock.ours(shift + 2.5) == pytest.approx(2.5, abs=clock.error)
    assert clock.error == pytest.approx(0.02)


def test_the_watchs_lag_is_part_of_the_error():
    told = [Bracket(WALL + 1.0, WALL + 1.001, seen=1.05)]
    assert clocks.measured(told, 0.05).error == pytest.approx(0.05)
    assert clocks.lag(clocks.shared([at(1.0)]), told) == pytest.approx(0.05)


def test_a_clock_that_is_set_is_followed():
    before = [Bracket(WALL + second, WALL + second + 0.01, seen=second) for second in (1.0, 2.0)]
    after = [Bracket(WALL + 3600 + second, WALL + 3600.01 + second, seen=second) for second in (3.0, 4.0)]
    clock = clocks.measured([*before, *after], 0.0)
    assert clock.ours(WALL + 1.5) == pytest.approx(1.5, abs=0.02)
    assert clock.ours(WALL + 3603.5) == pytest.approx(3.5, abs=0.02)
    assert clock.error < 0.02


def test_a_slow_commit_does_not_blur_what_a_quick_one_told():
    quick = Bracket(WALL + 1.0, WALL + 1.01, seen=1.005)
    slow = Bracket(WALL + 2.0, WALL + 2.9, seen=2.1)
    clock = clocks.measured([slow, quick, slow], 0.0)
    assert clock.error == pytest.approx(0.01, rel=1e-3)
    assert clock.ours(WALL + 2.0) == pytest.approx(2.0, abs=0.01)


def test_a_small_step_makes_moments_uncertain():
    told = [Bracket(WALL + 1.0, WALL + 1.01, seen=1.0), Bracket(WALL + 3.0, WALL + 3.01, seen=2.5)]
    assert clocks.measured(told, 0.0).error == pytest.approx(0.5)


def line(name, start, end, instance, **attributes):
    def value(given):
        kind = {bool: "boolValue", int: "intValue", str: "stringValue", float: "doubleValue"}[type(given)]
        return {kind: str(given) if kind == "intValue" else given}

    span = {
        "name": name,
        "spanId": "00",
        "startTimeUnixNano": str(int(start * 1e9)),
        "endTimeUnixNano": str(int(end * 1e9)),
        "attributes": [{"key": key, "value": value(given)} for key, given in attributes.items()],
    }
    resource = {"attributes": [{"key": "service.instance.id", "value": {"stringValue": instance}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}) + "\n"


def said(second, event, **fields):
    ts = datetime.fromtimestamp(WALL + second, UTC).isoformat()
    return json.dumps({"ts": ts, "level": "INFO", "logger": "x", "event": event, **fields}) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "trace").mkdir()
    (tmp_path / "log").mkdir()
    acquired = line("leader_election.acquire", WALL + 2.9, WALL + 3.1, "A", outcome="acquired")
    anchor = line("leader_election.started_leading", WALL + 3.1, WALL + 3.1, "A", token=3)
    renewed = line("leader_election.renew", WALL + 4.0, WALL + 4.1, "A", revision=4, outcome="renewed")
    (tmp_path / "trace" / "replica-1.0.jsonl").write_text(acquired + anchor + renewed + '{"torn')
    later = WALL + 3600
    shifted = line("leader_election.renew", later + 5.0, later + 5.02, "B", revision=5, outcome="renewed")
    (tmp_path / "trace" / "replica-1.1.jsonl").write_text(shifted)
    log = said(1.0, "too early") + said(2.0, "standing by", identity="A") + "Traceback\n" + said(3.1, "started leading")
    (tmp_path / "log" / "replica-1.log").write_text(
        log + said(9.0, "standing by", identity="A2") + said(9.5, "x", token=7)
    )
    return tmp_path


def seen():
    return {3: at(3.05), 4: at(4.06), 5: at(5.015)}


def test_each_process_tells_its_own(folder):
    found = {each.identity: each for each in gather(folder / "trace", folder / "log", seen())}
    assert set(found) == {"A", "A2", "B"}
    assert {each.name for each in found.values() if each.spans} == {"replica-1"}
    assert [each.start for each in found["A"].spans] == pytest.approx([2.9, 3.1, 4.0], abs=1e-6)
    assert [(round(each.at, 6), each.event) for each in found["A"].lines] == [
        (2.0, "standing by"),
        (3.1, "started leading"),
    ]
    assert found["A2"].lines[-1].fields["token"] == 7


def test_a_process_whose_clock_is_another_is_measured_apart(folder):
    found = {each.identity: each for each in gather(folder / "trace", folder / "log", seen())}
    assert found["B"].spans[0].start == pytest.approx(5.0, abs=0.1)
    assert found["A"].error < 0.001 < found["B"].error


STEPS = (3600.0, -600.0)


def commit(second, *, ahead=0.0, took=0.02, late=0.01):
    """As a clock that is so many seconds ahead tells it."""
    return Bracket(WALL + second + ahead, WALL + second + ahead + took, seen=second + took + late)


def test_of_a_clock_that_was_set_by_what_is_known_each_moment_is_told_exactly():
    base = clocks.shared([at(1.0), at(2.0), Stamp(3.0, WALL + 3.0005)])
    # the first was brought late, with all that was there before the watch
    told = [commit(1.0, late=0.4), commit(1.5), commit(2.0, ahead=3600.0), commit(9.0), commit(9.5, ahead=-600.0)]
    clock = clocks.stepped(base, told, STEPS)
    for second, ahead in ((1.0, 0.0), (1.6, 0.0), (2.2, 3600.0), (9.1, 0.0), (9.6, -600.0)):
        assert clock.ours(WALL + second + ahead) == pytest.approx(second, abs=1e-6)
    assert clock.error == pytest.approx(base.error)


@pytest.mark.parametrize("ahead", [301.0, 1800.0, -901.0])
def test_of_a_clock_that_was_set_otherwise_it_tells_nothing(ahead):
    base = clocks.shared([at(1.0)])
    assert clocks.stepped(base, [commit(1.0), commit(2.0, ahead=ahead)], STEPS) is None
    assert clocks.stepped(base, [], STEPS) is None


def test_what_lies_between_two_settings_may_belong_to_either():
    base = clocks.shared([at(1.0)])
    clock = clocks.stepped(base, [commit(1.0), commit(12.0, ahead=5.0)], (5.0,))
    assert clock.error == pytest.approx(5.0)


def test_a_process_whose_clock_a_fault_set_back_is_measured_apart(folder):
    later = WALL - 3600
    path = folder / "trace" / "replica-1.1.jsonl"
    path.write_text(line("leader_election.renew", later + 5.0, later + 5.02, "B", revision=5, outcome="renewed"))
    # nothing in what it tells contradicts that it is an hour ago
    found = {each.identity: each for each in gather(folder / "trace", None, seen(), shifted={"replica-1": {-3600.0}})}
    assert found["B"].spans[0].start == pytest.approx(5.0, abs=1e-6)
    assert found["A"].spans[0].start == pytest.approx(2.9, abs=1e-6)  # of the same name, and not set then


def test_a_process_whose_clock_was_set_otherwise_than_is_told_is_measured(folder):
    later = WALL - 3600
    path = folder / "trace" / "replica-1.1.jsonl"
    path.write_text(line("leader_election.renew", later + 5.0, later + 5.02, "B", revision=5, outcome="renewed"))
    found = {each.identity: each for each in gather(folder / "trace", None, seen(), shifted={"replica-1": {-600.0}})}
    assert found["B"].spans[0].start == pytest.approx(5.0, abs=0.2)


def test_without_a_stamp_there_is_no_clock_to_map_to(folder):
    assert gather(folder / "trace", folder / "log", {}) == ()
