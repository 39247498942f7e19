from chaos.workloads.waiting import Silence, Waiting


def test_the_longest_time_between_two_answers():
    waiting = Waiting()
    waiting.asked(["a", "b", "c"], 10.0)
    assert waiting.acknowledged("a", 11.0)
    assert waiting.acknowledged("b", 14.0)
    assert waiting.acknowledged("c", 15.0)
    assert waiting.longest(0.0, 20.0) == Silence(11.0, 14.0)
    assert waiting.longest(0.0, 20.0).seconds(20.0) == 3.0


def test_idle_time_is_no_gap():
    waiting = Waiting()
    waiting.asked(["a"], 10.0)
    waiting.acknowledged("a", 10.5)
    waiting.asked(["b"], 90.0)
    waiting.acknowledged("b", 90.25)
    assert waiting.longest(0.0, 100.0) == Silence(10.0, 10.5)


def test_who_still_waits_counts_until_the_end():
    waiting = Waiting()
    waiting.asked(["a", "b"], 10.0)
    waiting.acknowledged("a", 11.0)
    found = waiting.longest(0.0, 30.0)
    assert (found, found.seconds(30.0)) == (Silence(11.0), 19.0)
    assert waiting.expected(10.0) == 0
    assert waiting.expected(10.1) == 1


def test_only_what_falls_between_the_moments_counts():
    waiting = Waiting()
    for name, asked, answered in (("a", 1.0, 9.0), ("b", 20.0, 21.0), ("c", 30.0, 39.0)):
        waiting.asked([name], asked)
        waiting.acknowledged(name, answered)
    assert waiting.longest(10.0, 29.0) == Silence(20.0, 21.0)
    assert waiting.longest(8.0, 29.0) == Silence(1.0, 9.0)
    assert waiting.longest(9.0, 20.0) is None


def test_an_answer_counts_once():
    waiting = Waiting()
    waiting.asked(["a"], 1.0)
    assert waiting.acknowledged("a", 2.0)
    assert not waiting.acknowledged("a", 3.0)
    assert not waiting.acknowledged("b", 3.0)
    assert waiting.longest(0.0, 9.0) == Silence(1.0, 2.0)
