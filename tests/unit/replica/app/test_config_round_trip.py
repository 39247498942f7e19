"""What is written with all its defaults reads back as the same configuration, whatever was said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from component.strict import Seconds
from replica.app import config_file
from replica.app.profiles import problems_of, profiles_of, spelled_out
from replica.app.scheme import Configuration, LeaderElection, PluginConfig, Plugins, PluginSet, PluginUse, Profile
from replica.framework.profile import Point
from replica.plugins import in_tree

REGISTRY = in_tree.registry()
NAMES = sorted(REGISTRY)
UNBUILT = sorted(in_tree.NOT_BUILT)

seconds = st.integers(1, 10**9).map(lambda milliseconds: Seconds(milliseconds / 1000))
percentages = st.none() | st.integers(0, 100)
labels = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
uses = st.builds(PluginUse, name=st.sampled_from(NAMES), weight=st.integers(0, 100))
disabled = st.builds(PluginUse, name=st.sampled_from([*NAMES, *UNBUILT, "*"]))
sets = st.builds(
    PluginSet,
    enabled=st.lists(uses, max_size=4, unique_by=lambda use: use.name).map(tuple),
    disabled=st.lists(disabled, max_size=3).map(tuple),
)
points = st.sampled_from(["multi_point", *(point.name.lower() for point in Point)])
plugins = st.dictionaries(points, sets, max_size=4).map(lambda said: Plugins(**said))
fit_args = st.fixed_dictionaries(
    {},
    optional={
        "ignoredResources": st.lists(labels.map(lambda name: f"example.com/{name}"), max_size=2),
        "scoringStrategy": st.fixed_dictionaries({"type": st.sampled_from(["LeastAllocated", "MostAllocated"])}),
    },
)
preemption_args = st.fixed_dictionaries({}, optional={"minCandidateNodesPercentage": st.integers(1, 100)})
configs = st.lists(
    st.builds(PluginConfig, name=st.just("NodeResourcesFit"), args=st.none() | fit_args)
    | st.builds(PluginConfig, name=st.just("DefaultPreemption"), args=preemption_args)
    | st.builds(PluginConfig, name=st.just("VolumeBinding"), args=st.dictionaries(labels, st.integers(0, 9))),
    max_size=3,
    unique_by=lambda config: config.name,
).map(tuple)
profiles = st.lists(
    st.builds(
        Profile,
        scheduler_name=labels,
        percentage_of_nodes_to_score=percentages,
        plugins=plugins,
        plugin_config=configs,
    ),
    max_size=3,
    unique_by=lambda profile: profile.scheduler_name,
).map(tuple)
elections = st.builds(
    LeaderElection,
    leader_elect=st.booleans(),
    lease_duration=seconds,
    renew_deadline=seconds,
    retry_period=seconds,
    resource_name=labels,
    resource_namespace=labels,
)
configurations = st.builds(
    Configuration,
    leader_election=elections,
    parallelism=st.none() | st.integers(1, 64),
    enable_profiling=st.none() | st.booleans(),
    percentage_of_nodes_to_score=percentages,
    pod_initial_backoff_seconds=st.integers(1, 5),
    pod_max_backoff_seconds=st.integers(5, 60),
    delay_cache_until_active=st.booleans(),
    profiles=profiles,
)


def runs(configuration):
    """What of a configuration decides: the plugins of each point of each profile, in order, and their arguments."""
    return [
        (
            profile.scheduler_name,
            profile.percentage,
            [profile.uses(point, lambda _: True) for point in Point],
            profile.names(),
        )
        for profile in profiles_of(configuration)
    ]


@given(configurations)
def test_written_and_read_it_is_the_same(said):
    completed = said.completed()
    whole = spelled_out(completed, REGISTRY)
    again = config_file.parse(config_file.render(whole)).configuration
    assert again == whole
    assert list(problems_of(again, REGISTRY)) == []
    assert spelled_out(again, REGISTRY) == whole
    assert runs(again) == runs(completed)
