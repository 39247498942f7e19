from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest

from lockd.errors import ConfigError
from replica.framework.arguments import Arguments, WithArguments
from replica.framework.cycle_state import CycleState
from replica.framework.interface import Handle, PreFilterResult
from replica.framework.profile import PluginSet, Point, Profile, Use
from replica.framework.profiles import runtimes_of
from replica.framework.registry import Registry
from replica.framework.runtime import Runtime
from replica.framework.status import SKIP, SUCCESS, Code, PluginFailed, Status, unschedulable
from replica.plugins import in_tree
from replica.queue.pod import QueuedPod
from tests.harness.framework import handle, runtime_of, table_of
from tests.harness.objects import node, pod


class Spy:
    """Notes in `calls` what it is asked, and answers what the test says."""

    def __init__(self, name, calls, status=SUCCESS, seconds=0.0):
        self.name, self.calls, self.status, self.seconds = name, calls, status, seconds

    def note(self, point):
        self.calls.append(f"{self.name}.{point}")
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


class Reserves(Spy):
    def reserve(self, state, pod, node_name):
        return self.note("reserve")

    def unreserve(self, state, pod, node_name):
        self.note("unreserve")


class Permits(Spy):
    def permit(self, state, pod, node_name):
        return self.note("permit"), self.seconds


class Binds(Spy):
    def pre_bind(self, state, pod, node_name):
        return self.note("pre_bind")

    def bind(self, state, pod, node_name):
        return self.note("bind")

    def post_bind(self, state, pod, node_name):
        self.note("post_bind")


class Sorts:
    def __init__(self, name):
        self.name = name

    def sort_key(self, queued):
        return queued.queued_at


class Gates(Spy):
    def pre_enqueue(self, pod):
        return self.note("pre_enqueue")


def run(runtime, point):
    return getattr(runtime, point)(CycleState(), pod(uid="u"), "a")


def test_reserve_runs_all_and_undoes_all_in_reverse_when_one_fails():
    calls = []
    plugins = [Reserves("A", calls), Reserves("B", calls, unschedulable("full")), Reserves("C", calls)]
    status = run(runtime_of(*plugins), "reserve")
    assert (status.code, status.plugin, status.message) == (Code.UNSCHEDULABLE, "B", "full")
    assert calls == ["A.reserve", "B.reserve", "C.unreserve", "B.unreserve", "A.unreserve"]


def test_unreserve_goes_on_past_a_plugin_that_raises():
    calls = []
    run(runtime_of(Reserves("A", calls), Reserves("B", calls, ValueError("x"))), "unreserve")
    assert calls == ["B.unreserve", "A.unreserve"]


def test_permit_waits_for_all_that_say_so():
    used = handle()
    plugins = [Permits("A", [], Status(Code.WAIT), 5.0), Permits("B", []), Permits("C", [], Status(Code.WAIT), 1e9)]
    status = run(runtime_of(*plugins, with_handle=used), "permit")
    assert status.code is Code.WAIT
    (waiting,) = used.waiting.all()
    now = used.clock.now()
    assert waiting.deadlines == {"A": now + 5.0, "C": now + 900.0}


def test_permit_refused_by_one_holds_nobody():
    used = handle()
    plugins = [Permits("A", [], Status(Code.WAIT), 5.0), Permits("B", [], unschedulable("no"))]
    status = run(runtime_of(*plugins, with_handle=used), "permit")
    assert (status.code, status.plugin) == (Code.UNSCHEDULABLE, "B")
    assert len(used.waiting) == 0


def profile_with(first, *rest):
    return Profile(defaults=(*(Use(each.name) for each in (first, *rest)), *in_tree.DEFAULTS))


def registry_with(*plugins):
    registry = in_tree.registry()
    for plugin in plugins:
        registry.register(plugin.name, lambda _args, _handle, made=plugin: made)
    return registry


def test_bind_takes_the_first_plugin_that_does_not_skip():
    calls = []
    skips = Binds("Skips", calls, SKIP)
    runtime = Runtime(profile_with(skips), registry_with(skips), handle())
    assert run(runtime, "bind").ok
    assert calls == ["Skips.bind"]
    assert not runtime.binds_at_once


def test_bind_without_anybody_to_do_it_is_an_error():
    skips = Binds("Skips", [], SKIP)
    profile = Profile(
        defaults=(Use("PrioritySort"), Use("Skips")),
    )
    assert run(Runtime(profile, registry_with(skips), handle()), "bind").code is Code.ERROR


def test_what_a_plugin_raises_is_a_status_in_its_name():
    status = run(runtime_of(Binds("Bad", [], ValueError("boom"))), "pre_bind")
    assert (status.code, status.plugin) == (Code.ERROR, "Bad")
    assert status.message == "running PreBind plugin 'Bad': boom"


def test_post_bind_changes_nothing_by_raising():
    calls = []
    run(runtime_of(Binds("A", calls, ValueError("x")), Binds("B", calls)), "post_bind")
    assert calls == ["A.post_bind", "B.post_bind"]


def test_gates_keep_a_pod_out_of_the_queue():
    runtime = runtime_of()
    assert runtime.gated_by(pod()) == ""
    assert runtime.gated_by(pod(schedulingGates=[{"name": "later"}])) == "SchedulingGates"
    assert runtime_of(Gates("Broken", [], ValueError("x"))).gated_by(pod()) == "Broken"


def test_priority_goes_before_age():
    def queued(priority, at):
        return QueuedPod(pod(), queued_at=at, first_seen=at, priority=priority)

    runtime = runtime_of()
    order = sorted([queued(0, 1.0), queued(5, 9.0), queued(5, 3.0)], key=runtime.sort_key)
    assert [(each.priority, each.queued_at) for each in order] == [(5, 3.0), (5, 9.0), (0, 1.0)]


def test_plugins_register_what_may_help():
    named = {registration.plugin for registration in runtime_of().registrations()}
    filters = {"NodeName", "NodeUnschedulable", "NodeResourcesFit", "TaintToleration", "NodeAffinity", "NodePorts"}
    built = {"Coscheduling", "PodTopologySpread", "InterPodAffinity", "SchedulingGates", "SupportedFeatures"}
    assert named == filters | built


def test_signatures_agree_for_pods_of_a_kind():
    runtime = runtime_of()
    assert runtime.signature(pod(requests={"cpu": "1"})) == runtime.signature(pod(requests={"cpu": "1000m"}))
    assert runtime.signature(pod(requests={"cpu": "1"})) != runtime.signature(pod(requests={"cpu": "2"}))
    tolerant = pod(requests={"cpu": "1"}, tolerations=[{"operator": "Exists"}])
    assert runtime.signature(tolerant) != runtime.signature(pod(requests={"cpu": "1"}))


def test_a_plugin_that_cannot_tell_pods_apart_lets_none_share():
    assert runtime_of(Reserves("Blind", [])).signature(pod()) is None


# --- configuration


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (Profile(defaults=(*in_tree.DEFAULTS, Use("Nope"))), "no plugin is named 'Nope'"),
        (Profile(defaults=(Use("DefaultBinder"),)), "exactly one queueSort plugin must be enabled, not 0"),
        (Profile(defaults=(Use("PrioritySort"),)), "at least one bind plugin must be enabled"),
        (
            Profile(defaults=in_tree.DEFAULTS, points={Point.SCORE: PluginSet((Use("NodeName"),))}),
            "plugin 'NodeName' has no score",
        ),
        (
            Profile(defaults=in_tree.DEFAULTS, args={"NodeResourcesFit": {"scoringStrategy": {"type": "x"}}}),
            'scoringStrategy.type: "x" must be one of',
        ),
        (Profile(defaults=in_tree.DEFAULTS, args={"Nope": {}}), "pluginConfig names 'Nope'"),
    ],
)
def test_a_bad_profile_is_refused_with_its_name(profile, words):
    with pytest.raises(ConfigError) as caught:
        Runtime(profile, in_tree.registry(), handle())
    assert words in str(caught.value)
    assert "profile 'default-scheduler'" in str(caught.value)


def test_every_problem_is_told_at_once():
    profile = Profile(defaults=(Use("Nope"), Use("Neither")))
    with pytest.raises(ConfigError) as caught:
        Runtime(profile, in_tree.registry(), handle())
    assert len(caught.value.problems) == 2


class Scores:
    """Gives every node ten, and prepares for it."""

    name = "Ten"

    def pre_score(self, state, pod, nodes, feasible):
        return SUCCESS

    def score(self, state, pod, nodes):
        return np.full(nodes.size, 10)


@pytest.mark.parametrize(
    ("general", "score", "want"),
    [((), (), 10), ((Use("Ten", 3),), (), 30), ((Use("Ten", 3),), (Use("Ten", 7),), 70), ((), (Use("Ten"),), 10)],
)
def test_the_weight_is_what_the_score_point_says_else_multi_point(general, score, want):
    registry = in_tree.registry()
    registry.register("Ten", lambda _args, _handle: Scores())
    profile = Profile(
        defaults=(Use("PrioritySort"), Use("DefaultBinder"), Use("Ten")),
        multi_point=PluginSet(general),
        points={Point.SCORE: PluginSet(score)},
    )
    nodes = table_of([node("a"), node("b")]).snapshot()
    assert Runtime(profile, registry, handle()).place(CycleState(), pod(), nodes).score == want


class Garbage:
    """Answers at one point what nobody can use."""

    name = "Garbage"

    def __init__(self, point):
        setattr(self, point, lambda *_: 5)


@pytest.mark.parametrize("point", ["pre_filter", "pre_score", "filter", "score", "signature"])
def test_an_answer_of_another_kind_fails_the_plugin_alone(point):
    nodes = table_of([node("a"), node("b")]).snapshot()
    garbage = Garbage(point)
    if point == "filter":
        garbage.explain = lambda *_: ()
        garbage.filter = lambda *_: "x"
    if point == "score":
        garbage.score = lambda *_: "x"
    if point == "signature":

        def broken(_pod):
            raise RuntimeError("broken")

        garbage.pre_filter = lambda *_: PreFilterResult()
        garbage.signature = broken
    with pytest.raises(PluginFailed, match="'Garbage'"):
        runtime_of(garbage).place(CycleState(), pod(), nodes)


@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind", "bind"])
def test_an_answer_that_is_no_status_is_an_error(point):
    garbage = Garbage(point)
    if point == "reserve":
        garbage.unreserve = lambda *_: None
    status = run(runtime_of(garbage), point)
    if point == "bind":
        assert status.ok  # DefaultBinder comes first
    else:
        assert (status.code, status.plugin) == (Code.ERROR, "Garbage")


def test_a_signature_without_a_hash_shares_nothing():
    class Lists:
        name = "Lists"

        def pre_filter(self, state, pod, nodes):
            return PreFilterResult()

        def signature(self, pod):
            return []

    nodes = table_of([node("a")]).snapshot()
    assert runtime_of(Lists()).place(CycleState(), pod(), nodes).node_name == "a"


class Sorter:
    name = "Sorter"

    def __init__(self, key):
        self.sort_key = key


def raises(_queued):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("key", "want"),
    [
        (lambda queued: -queued.queued_at, ["late", "high", "early"]),
        (raises, ["high", "early", "late"]),
        (lambda queued: object(), ["high", "early", "late"]),
        (lambda queued: 1 if queued.key.endswith("high") else "x", ["high", "late", "early"]),
    ],
)
def test_a_queue_sort_that_fails_falls_back_to_priority_and_time(key, want):
    registry = in_tree.registry()
    registry.register("Sorter", lambda _args, _handle: Sorter(key))
    only = PluginSet((Use("Sorter"),), frozenset({"*"}))
    runtime = Runtime(Profile(defaults=in_tree.DEFAULTS, points={Point.QUEUE_SORT: only}), registry, handle())
    queued = [
        QueuedPod(pod("late"), 3.0, 3.0, 0),
        QueuedPod(pod("early"), 1.0, 1.0, 0),
        QueuedPod(pod("high"), 2.0, 2.0, 9),
    ]
    assert [each.pod.name for each in sorted(queued, key=runtime.sort_key)] == want


def test_profiles_share_one_queue_sort():
    registry = in_tree.registry()
    registry.register("Other", lambda _args, _handle: Sorts("Other"))
    other = PluginSet((Use("Other"),), frozenset({"*"}))
    a, b = (Profile(name, in_tree.DEFAULTS) for name in "ab")
    odd = Profile("odd", in_tree.DEFAULTS, points={Point.QUEUE_SORT: other})
    assert list(runtimes_of([a, b], registry, handle())) == ["a", "b"]
    assert list(runtimes_of([odd], registry, handle())) == ["odd"]
    with pytest.raises(ConfigError) as caught:
        runtimes_of([a, odd, b], registry, handle())
    assert caught.value.problems == (
        "profile 'odd': plugins.queueSort: 'Other' must be 'PrioritySort' as in 'a': all profiles share one queue",
    )


def test_profiles_sort_by_the_same_arguments():
    registry = in_tree.registry()
    registry.register("Other", lambda _args, _handle: Sorts("Other"))
    points = {Point.QUEUE_SORT: PluginSet((Use("Other"),), frozenset({"*"}))}
    pair = [Profile(name, in_tree.DEFAULTS, points=points, args={"Other": {"by": name}}) for name in "ab"]
    with pytest.raises(ConfigError, match="the args of 'Other' must be those in 'a'"):
        runtimes_of(pair, registry, handle())


def test_the_problems_of_all_profiles_come_together():
    bad = [Profile(name, in_tree.DEFAULTS, PluginSet((Use("Nope"),))) for name in "ab"]
    with pytest.raises(ConfigError) as caught:
        runtimes_of(bad, in_tree.registry(), handle())
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["profile 'a'", "profile 'b'"]


def test_a_name_taken_twice_is_refused():
    registry = in_tree.registry()
    with pytest.raises(ConfigError, match="'NodeName' is registered twice"):
        registry.register("NodeName", lambda _args, _handle: Spy("NodeName", []))


def test_a_plugin_must_go_by_the_name_it_is_registered_under():
    registry = Registry({"A": lambda _args, _handle: Spy("B", [])})
    with pytest.raises(ConfigError, match="calls itself 'B'"):
        registry.make("A", {}, handle())


def test_a_factory_gets_its_arguments_and_the_handle():
    got = {}

    def factory(args, given):
        got.update(args=args, handle=given)
        return Spy("A", [])

    used = handle()
    Registry({"A": factory}).make("A", {"x": 1}, used)
    assert got["args"] == {"x": 1}
    assert isinstance(got["handle"], Handle)


def offer(monkeypatch, value, **module):
    """A package far away offers the plugin `Far`."""
    monkeypatch.setitem(sys.modules, "far", SimpleNamespace(**module))
    point = EntryPoint("Far", value, "lockd.replica.plugins")
    monkeypatch.setattr(
        "replica.framework.registry.entry_points", lambda group: [point] if group == "lockd.replica.plugins" else []
    )


def test_plugins_of_other_packages_come_by_entry_point(monkeypatch):
    offer(monkeypatch, "far:make", make=lambda _args, _handle: Spy("Far", []))
    assert in_tree.registry().discover().make("Far", {}, handle()).name == "Far"


class FarArgs(Arguments, frozen=True, kw_only=True):
    reach: int = 3


def test_they_may_have_arguments_of_a_class_of_their_own(monkeypatch):
    got = []

    def make(args, _handle):
        got.append(args)
        return Spy("Far", [])

    offer(monkeypatch, "far:make", make=WithArguments(FarArgs, make))
    registry = in_tree.registry().discover()
    assert registry.arguments("Far") is FarArgs
    assert registry.arguments("NodeName") is None
    registry.make("Far", {"reach": 5}, handle())
    assert got == [FarArgs(reach=5)]
    with pytest.raises(ConfigError) as caught:
        registry.make("Far", {"reach": "5"}, handle())
    assert caught.value.problems == ("plugin 'Far': reach: \"5\" must be a whole number",)


@pytest.mark.parametrize(
    ("value", "module", "words"),
    [
        ("far:nothing", {}, "plugin 'Far' can't be loaded from far:nothing"),
        ("farther:make", {}, "plugin 'Far' can't be loaded from farther:make"),
        ("far:make", {"make": 5}, "plugin 'Far' can't be loaded: far:make is no factory"),
        ("far:make", {"make": lambda: None}, "plugin 'Far' can't be made: TypeError"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named(monkeypatch, value, module, words):
    offer(monkeypatch, value, **module)
    registry = in_tree.registry().discover()
    with pytest.raises(ConfigError, match=words):
        registry.make("Far", {}, handle())
