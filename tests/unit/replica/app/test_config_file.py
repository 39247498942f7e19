from __future__ import annotations

import pytest
import yaml

from component.strict import Seconds
from lockd.errors import ConfigError
from replica.app import config_file
from replica.app.profiles import problems_of, profiles_of, spelled_out, warnings_of
from replica.app.scheme import Configuration, LeaderElection, PluginSet, PluginUse, Profile
from replica.framework.profile import Point
from replica.plugins import in_tree

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
LATER = ("VolumeBinding", "DynamicResources")
"""Plugins of kube-scheduler that aren't built here."""


def text(**fields):
    return yaml.safe_dump({**HEAD, **fields})


def read(**fields):
    """The configuration of a file."""
    return config_file.parse(text(**fields)).configuration


def problems(**fields):
    """All that is wrong with a file, its plugins too."""
    try:
        found = config_file.parse(text(**fields))
    except ConfigError as error:
        return list(error.problems)
    return list(problems_of(found.configuration.completed(), in_tree.registry()))


def profile(**fields):
    return {"profiles": [{"schedulerName": "one", **fields}]}


def plugins(**points):
    return profile(plugins=points)


def config(name, **args):
    return profile(pluginConfig=[{"name": name, "args": args}])


def test_an_empty_file_of_the_kind_says_the_defaults():
    found = read()
    assert found == Configuration()
    assert found.completed().profiles == (Profile(scheduler_name="default-scheduler"),)
    assert found.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration=Seconds(15),
        renew_deadline=Seconds(10),
        retry_period=Seconds(2),
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    )
    assert (found.pod_initial_backoff_seconds, found.pod_max_backoff_seconds) == (1, 10)
    assert found.percentage_of_nodes_to_score is None
    assert not found.delay_cache_until_active


def test_json_is_read_too():
    assert (
        config_file.parse(
            '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 4}'
        ).configuration.parallelism
        == 4
    )


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("", "holds 0 documents: put one KubeSchedulerConfiguration into it"),
        ("a: 1\n---\nb: 2\n", "holds 2 documents: put one KubeSchedulerConfiguration into it"),
        ("[]", "holds []: put one KubeSchedulerConfiguration into it"),
        ("a: [", "line 2: "),
        ("a: 1\na: 2\n", 'document 1: line 2: "a" is given twice in one object'),
        ("kind: Policy\napiVersion: v1\n", "kind: Policy was removed: put plugins"),
        ("kind: Pod\napiVersion: v1\n", 'kind: "Pod" must be KubeSchedulerConfiguration'),
        ("kind: KubeSchedulerConfiguration\n", "apiVersion: null must be kubescheduler.config.k8s.io/v1"),
        *(
            (
                f"kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/{version}\nx: 1\n",
                f"apiVersion: kubescheduler.config.k8s.io/{version} was removed: use kubescheduler.config.k8s.io/v1",
            )
            for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")
        ),
    ],
)
def test_what_is_no_configuration(content, want):
    with pytest.raises(ConfigError) as caught:
        config_file.parse(content)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(want)


FIELDS = [
    ({"leaderElection": []}, "leaderElection: [] must be an object"),
    (
        {"leaderElection": {"leaderElect": "yes please"}},
        'leaderElection.leaderElect: "yes please" must be true or false',
    ),
    ({"leaderElection": {"leaseDuration": 15}}, "leaderElection.leaseDuration: 15 must be a duration"),
    ({"leaderElection": {"leaseDuration": "15"}}, "leaderElection.leaseDuration: invalid duration '15'"),
    ({"leaderElection": {"renewDeadline": "x"}}, "leaderElection.renewDeadline: invalid duration 'x'"),
    ({"leaderElection": {"retryPeriod": True}}, "leaderElection.retryPeriod: true must be a duration"),
    (
        {"leaderElection": {"resourceLock": "endpoints"}},
        "leaderElection.resourceLock: 'endpoints' was removed: use 'leases'",
    ),
    ({"leaderElection": {"resourceLock": "configmaps"}}, "leaderElection.resourceLock: 'configmaps' was removed"),
    ({"leaderElection": {"resourceLock": "x"}}, "leaderElection.resourceLock: 'x' is no lock: use 'leases'"),
    ({"leaderElection": {"resourceName": 5}}, "leaderElection.resourceName: 5 must be a text"),
    ({"leaderElection": {"resourceNamespace": {}}}, "leaderElection.resourceNamespace: {} must be a text"),
    (
        {"leaderElection": {"leaseDurationSeconds": 15}},
        "leaderElection.leaseDurationSeconds: unknown field, did you mean",
    ),
    ({"clientConnection": {"qps": "50"}}, 'clientConnection.qps: "50" must be a number'),
    ({"clientConnection": {"burst": 1.5}}, "clientConnection.burst: 1.5 must be a whole number"),
    ({"clientConnection": {"burst": -1}}, "clientConnection.burst: -1 must not be negative"),
    ({"clientConnection": {"kubeconfig": 1}}, "clientConnection.kubeconfig: 1 must be a text"),
    ({"clientConnection": {"kubeConfig": "x"}}, "clientConnection.kubeConfig: unknown field, did you mean kubeconfig?"),
    ({"parallelism": 0}, "parallelism: 0 must be 1 or more"),
    ({"parallelism": "16"}, 'parallelism: "16" must be a whole number'),
    ({"enableProfiling": 1}, "enableProfiling: 1 must be true or false"),
    ({"enableContentionProfiling": "no"}, 'enableContentionProfiling: "no" must be true or false'),
    ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: 101 must be from 0 to 100"),
    ({"percentageOfNodesToScore": -1}, "percentageOfNodesToScore: -1 must be from 0 to 100"),
    ({"percentageOfNodesToScore": 5.5}, "percentageOfNodesToScore: 5.5 must be a whole number"),
    ({"percentageOfPlacementsToScore": 101}, "percentageOfPlacementsToScore: 101 must be from 0 to 100"),
    ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: 0 must be 1 or more"),
    ({"podInitialBackoffSeconds": "1s"}, 'podInitialBackoffSeconds: "1s" must be a whole number'),
    ({"podMaxBackoffSeconds": 4, "podInitialBackoffSeconds": 5}, "podMaxBackoffSeconds: 4 must not be less than"),
    ({"podMaxBackoffSeconds": []}, "podMaxBackoffSeconds: [] must be a whole number"),
    ({"delayCacheUntilActive": "true"}, 'delayCacheUntilActive: "true" must be true or false'),
    ({"extenders": [{"urlPrefix": "x"}]}, "extenders[0].urlPrefix: 'x' is no http:// or https:// address"),
    (
        {"extenders": [{"urlPrefix": "http://x", "bindVerb": "b"}, {"urlPrefix": "http://y", "bindVerb": "b"}]},
        "extenders[1].bindVerb: only one extender may bind",
    ),
    ({"extenders": {}}, "extenders: {} must be a list"),
    ({"profiles": {}}, "profiles: {} must be a list"),
    ({"profiles": ["x"]}, 'profiles[0]: "x" must be an object'),
    ({"profiles": [{"schedulerName": "a"}, {}]}, "profiles[1].schedulerName: is required where there are several"),
    (
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        "profiles[1].schedulerName: 'a' is the name of profiles[0]",
    ),
    (profile(schedulerName=1), "profiles[0].schedulerName: 1 must be a text"),
    (profile(percentageOfNodesToScore=101), "profiles[0].percentageOfNodesToScore: 101 must be from 0 to 100"),
    (profile(percentageOfPlacementsToScore=-1), "profiles[0].percentageOfPlacementsToScore: -1 must be from 0 to 100"),
    (profile(plugin=1), "profiles[0].plugin: unknown field, did you mean plugins?"),
    (plugins(scores={}), "profiles[0].plugins.scores: unknown field, did you mean score?"),
    (plugins(score=[]), "profiles[0].plugins.score: [] must be an object"),
    (plugins(score={"enable": []}), "profiles[0].plugins.score.enable: unknown field, did you mean enabled?"),
    (plugins(score={"enabled": ["ImageLocality"]}), 'profiles[0].plugins.score.enabled[0]: "ImageLocality" must be an'),
    (plugins(score={"enabled": [{"weight": 1}]}), "profiles[0].plugins.score.enabled[0].name: is required"),
    (plugins(score={"enabled": [{"name": ""}]}), "profiles[0].plugins.score.enabled[0].name: '' is no plugin"),
    (plugins(score={"enabled": [{"name": "*"}]}), "profiles[0].plugins.score.enabled[0].name: '*' is no plugin: only"),
    (
        plugins(score={"enabled": [{"name": "NodeResourcesFit", "weight": -1}]}),
        "profiles[0].plugins.score.enabled[0].weight: -1",
    ),
    (
        plugins(score={"enabled": [{"name": "NodeResourcesFit", "weight": "2"}]}),
        'profiles[0].plugins.score.enabled[0].weight: "2"',
    ),
    (
        plugins(filter={"enabled": 2 * [{"name": "NodeName"}]}),
        "profiles[0].plugins.filter.enabled[1].name: 'NodeName' is given twice",
    ),
    (plugins(multiPoint={"disabled": [{"name": ""}]}), "profiles[0].plugins.multiPoint.disabled[0].name: is empty"),
    (plugins(placementScore={"enabled": [{"name": "X"}]}), "profiles[0].plugins.placementScore.enabled: placements of"),
    (
        plugins(score={"enabled": [{"name": "Nope"}]}),
        "profiles[0].plugins.score.enabled[0].name: no plugin is named 'Nope'",
    ),
    (
        plugins(multiPoint={"enabled": [{"name": "Nope"}]}),
        "profiles[0].plugins.multiPoint.enabled[0].name: no plugin is",
    ),
    *(
        (
            plugins(multiPoint={"enabled": [{"name": name}]}),
            f"profiles[0].plugins.multiPoint.enabled[0].name: '{name}' isn't built here",
        )
        for name in LATER
    ),
    (profile(pluginConfig={}), "profiles[0].pluginConfig: {} must be a list"),
    (profile(pluginConfig=[{}]), "profiles[0].pluginConfig[0].name: is required"),
    (profile(pluginConfig=[{"name": ""}]), "profiles[0].pluginConfig[0].name: must not be empty"),
    (
        profile(pluginConfig=[{"name": "NodeName", "arg": {}}]),
        "profiles[0].pluginConfig[0].arg: unknown field, did you mean args",
    ),
    (profile(pluginConfig=[{"name": "NodeName", "args": []}]), "profiles[0].pluginConfig[0].args: must be an object"),
    (
        profile(pluginConfig=2 * [{"name": "NodeResourcesFit"}]),
        "profiles[0].pluginConfig[1].name: 'NodeResourcesFit' is given",
    ),
    (config("Nope"), "profiles[0].pluginConfig[0].name: no plugin is named 'Nope'"),
    (
        config("NodeResourcesFit", scoringStrategy={"type": "Random"}),
        'profiles[0].pluginConfig[0].args.scoringStrategy.type: "Random" must be one of',
    ),
    (
        config("NodeResourcesFit", kind="NodeAffinityArgs"),
        'profiles[0].pluginConfig[0].args.kind: "NodeAffinityArgs" must be NodeResourcesFitArgs',
    ),
    (
        config("InterPodAffinity", hardPodAffinityWeight=101),
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: 101",
    ),
    (config("DefaultPreemption", x=1), "profiles[0].pluginConfig[0].args.x: unknown field"),
    (
        config("PodTopologySpread", defaultingType="None"),
        'profiles[0].pluginConfig[0].args.defaultingType: "None" must',
    ),
    (config("NodeAffinity", addedAffinity=1), "profiles[0].pluginConfig[0].args.addedAffinity: 1 must be an object"),
    ({"algorithmSource": {"provider": "x"}}, "algorithmSource: was removed with Policy and AlgorithmProvider"),
    ({"hardPodAffinitySymmetricWeight": 1}, "hardPodAffinitySymmetricWeight: was moved: it is hardPodAffinityWeight"),
    ({"schedulerName": "x"}, "schedulerName: was moved: it is profiles[].schedulerName"),
    ({"healthzBindAddress": "0.0.0.0:10251"}, "healthzBindAddress: was removed: use --bind-address"),
    ({"nothing": 1}, "nothing: unknown field"),
]


@pytest.mark.parametrize(("fields", "want"), FIELDS, ids=[want for _, want in FIELDS])
def test_one_line_with_its_path_for_each_problem(fields, want):
    found = problems(**fields)
    assert len(found) == 1, found
    assert found[0].startswith(want)


def test_every_problem_at_once():
    found = problems(
        parallelism="x",
        podInitialBackoffSeconds=0,
        leaderElection={"leaseDuration": 1, "resourceLock": "y"},
        algorithmSource={},
        profiles=[{"schedulerName": "a", "plugins": {"score": {"enabled": [{"name": "*"}]}}}, {"x": 1}],
    )
    assert [problem.partition(": ")[0] for problem in found] == [
        "algorithmSource",
        "leaderElection.leaseDuration",
        "parallelism",
        "profiles[0].plugins.score.enabled[0].name",
        "profiles[1].x",
        "podInitialBackoffSeconds",
    ]


def test_a_file_is_named_with_its_problems(tmp_path):
    path = tmp_path / "scheduler.yaml"
    with pytest.raises(ConfigError, match=r"--config .*scheduler\.yaml: can't be read: No such file"):
        config_file.read(path)
    path.write_text(text(parallelism=0))
    with pytest.raises(ConfigError, match=r"--config .*scheduler\.yaml: parallelism: 0 must be 1 or more"):
        config_file.read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="can't be read"):
        config_file.read(path)


def test_what_means_nothing_here_is_warned_of_once_each():
    found = config_file.parse(
        text(
            clientConnection={"kubeconfig": "/etc/kubernetes/scheduler.conf", "qps": 50, "burst": 100},
            parallelism=16,
            enableProfiling=True,
            enableContentionProfiling=True,
            percentageOfPlacementsToScore=0,
            profiles=[{"schedulerName": "a", "percentageOfPlacementsToScore": 5}],
        )
    )
    assert [warning.partition(":")[0] for warning in found.warnings] == [
        "clientConnection",
        "parallelism",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfPlacementsToScore",
        "profiles[0].percentageOfPlacementsToScore",
    ]
    assert config_file.parse(text(podMaxBackoffSeconds=20)).warnings == ()


def test_plugins_that_are_not_built_may_be_disabled_and_have_arguments():
    fields = profile(
        plugins={
            "multiPoint": {"disabled": [{"name": name} for name in LATER]},
            "filter": {"disabled": [{"name": "*"}]},
        },
        pluginConfig=[{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 600}}],
    )
    assert problems(**fields) == []
    assert list(warnings_of(read(**fields))) == [
        "profiles[0].pluginConfig[0]: VolumeBinding isn't built here: its args change nothing"
    ]


def test_profiles_become_the_frameworks():
    fields = {
        "percentageOfNodesToScore": 30,
        "profiles": [
            {
                "schedulerName": "a",
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["x/y"]}}],
            },
            {
                "schedulerName": "b",
                "percentageOfNodesToScore": 70,
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "NodeName", "weight": 4}], "disabled": [{"name": "NodePorts"}]},
                    "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
                },
            },
        ],
    }
    a, b = profiles_of(read(**fields).completed())
    assert (a.scheduler_name, a.percentage, a.points) == ("a", 30, {})
    assert a.args == {"NodeResourcesFit": {"ignoredResources": ["x/y"]}}
    assert (b.scheduler_name, b.percentage, b.args) == ("b", 70, {})
    assert [(use.name, use.weight) for use in b.uses(Point.SCORE, lambda _: True)] == [("NodeResourcesFit", 5)]
    assert ("NodeName", 4) in [(use.name, use.weight) for use in b.general()]
    assert profiles_of(Configuration().completed())[0].percentage is None


def test_spelled_out_it_names_every_plugin_and_argument():
    whole = spelled_out(Configuration().completed(), in_tree.registry())
    (only,) = whole.profiles
    assert [use.name for use in only.plugins.multi_point.enabled] == [use.name for use in in_tree.DEFAULTS]
    args = {entry.name: entry.args for entry in only.plugin_config}
    assert args["NodeResourcesFit"]["kind"] == "NodeResourcesFitArgs"
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"
    assert "NodeName" not in args


def test_spelled_out_it_keeps_what_was_said():
    fields = profile(
        plugins={"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}]}},
        pluginConfig=[{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 60}}],
    )
    (only,) = spelled_out(read(**fields), in_tree.registry()).profiles
    assert only.plugins.multi_point == PluginSet(
        enabled=(PluginUse(name="PrioritySort"),), disabled=(PluginUse(name="*"),)
    )
    assert [(entry.name, entry.args) for entry in only.plugin_config] == [("VolumeBinding", {"bindTimeoutSeconds": 60})]
