from __future__ import annotations

import click
import pytest
import yaml
from click.testing import CliRunner

from component.strict import Seconds
from lockd.errors import ConfigError
from lockd.etcd.connection import Connection
from replica.app.config import complete
from replica.app.options import Options, given_flags, given_names, run_options
from replica.app.refused import REFUSED

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@click.command()
@run_options
@click.option("--password", default=None)
@click.pass_context
def command(ctx, password, **flags):  # it is there to be left out
    ctx.obj.update(options=Options(**flags, given=given_names()), flags=given_flags())


def options(*words):
    """What a command line says."""
    found = {}
    result = CliRunner().invoke(command, words, obj=found)
    assert result.exit_code == 0, result.output
    return found["options"], found["flags"]


def refusal(*words):
    """What is said of a command line that isn't taken."""
    result = CliRunner().invoke(command, words, obj={})
    assert result.exit_code == 2
    return result.output


def configured(*words):
    said, flags = options(*words)
    return complete(said, Connection(endpoints=("127.0.0.1:1",)), "/lockd", None, flags=flags)


def problems(*words):
    with pytest.raises(ConfigError) as caught:
        configured(*words)
    return caught.value.problems


@pytest.fixture
def file(tmp_path):
    """Writes a configuration file and gives the flag that names it."""

    def write(**fields):
        path = tmp_path / "scheduler.yaml"
        path.write_text(yaml.safe_dump({**HEAD, **fields}))
        return f"--config={path}"

    return write


def test_without_a_file_the_flags_decide():
    config = configured(
        "--leader-elect-lease-duration=30s",
        "--leader-elect-renew-deadline=20s",
        "--leader-elect-retry-period=3s",
        "--leader-elect-resource-name=n",
        "--leader-elect-resource-namespace=ns",
        "--scheduler-name=mine",
        "--pod-max-in-unschedulable-pods-duration=1m",
    )
    assert (config.election.lease_duration, config.election.renew_deadline, config.election.retry_period) == (30, 20, 3)
    assert (config.lock.namespace, config.lock.name) == ("ns", "n")
    assert config.scheduler_name == "mine"
    assert config.scheduler.leader_election.lease_duration == Seconds(30)
    assert config.unschedulable_seconds == 60
    assert config.warnings == ()
    assert config.leader_elect


def test_a_file_decides(file):
    config = configured(
        file(
            leaderElection={"leaseDuration": "40s", "renewDeadline": "30s", "resourceName": "filed"},
            podMaxBackoffSeconds=20,
            profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}],
        )
    )
    assert (config.election.lease_duration, config.election.renew_deadline, config.election.retry_period) == (40, 30, 2)
    assert config.lock.name == "filed"
    assert config.scheduler.pod_max_backoff_seconds == 20
    assert [profile.scheduler_name for profile in config.scheduler.profiles] == ["a", "b"]
    assert config.scheduler_name == "a"
    assert config.warnings == ()


ELECTION = [
    ("--leader-elect-lease-duration=50s", "lease_duration", Seconds(50)),
    ("--leader-elect-renew-deadline=12s", "renew_deadline", Seconds(12)),
    ("--leader-elect-retry-period=1s", "retry_period", Seconds(1)),
    ("--leader-elect-resource-name=flagged", "resource_name", "flagged"),
    ("--leader-elect-resource-namespace=flagged", "resource_namespace", "flagged"),
]


@pytest.mark.parametrize(("flag", "field", "want"), ELECTION)
def test_a_flag_of_the_election_overrides_the_file_and_leaves_the_rest(file, flag, field, want):
    filed = {
        "leaderElect": True,
        "leaseDuration": "40s",
        "renewDeadline": "30s",
        "retryPeriod": "3s",
        "resourceName": "filed",
        "resourceNamespace": "filed",
    }
    before = configured(file(leaderElection=filed)).scheduler.leader_election
    after = configured(file(leaderElection=filed), flag).scheduler.leader_election
    assert getattr(after, field) == want
    others = {name for name in before.__struct_fields__ if name != field}
    assert all(getattr(after, name) == getattr(before, name) for name in others)


def test_a_flag_at_its_default_overrides_if_it_was_given(file):
    said = file(leaderElection={"leaseDuration": "40s"})
    assert configured(said).election.lease_duration == 40
    assert configured(said, "--leader-elect-lease-duration=15s").election.lease_duration == 15


def test_another_flag_that_the_file_decides_is_ignored_with_one_warning(file):
    config = configured(file(profiles=[{"schedulerName": "a"}]), "--scheduler-name=b")
    assert config.scheduler_name == "a"
    assert config.warnings == ("--scheduler-name: --config decides, by profiles[].schedulerName",)


def test_a_flag_that_is_in_no_file_counts_beside_it(file):
    config = configured(file(), "--pod-max-in-unschedulable-pods-duration=2m", "--identity=me")
    assert (config.unschedulable_seconds, config.election.identity) == (120, "me")


def test_what_is_wrong_with_the_election_is_named_by_its_path_in_a_file(file):
    (found,) = problems(file(leaderElection={"leaseDuration": "5s"}))
    assert "scheduler.yaml: leaderElection.leaseDuration: lease duration (5s) must exceed renew deadline (10s)" in found
    (found,) = problems(file(leaderElection={"resourceName": "a/b"}))
    assert "leaderElection.resourceName: resource name 'a/b' must not contain '/'" in found
    assert problems("--leader-elect-lease-duration=5s") == ("lease duration (5s) must exceed renew deadline (10s)",)


def test_problems_of_plugins_and_of_the_rest_come_together(file):
    found = problems(
        file(leaderElection={"retryPeriod": "9s"}, profiles=[{"pluginConfig": [{"name": "NodeName"}, {"name": "X"}]}]),
        "--tls-min-version=old",
    )
    assert [each.partition(": ")[0] for each in found[:1]] == ["--tls-min-version old is not served"]
    assert "leaderElection.renewDeadline: renew deadline (10s) must exceed 1.2 x retry period (9s)" in found[1]
    assert "profiles[0].pluginConfig[1].name: no plugin is named 'X'" in found[2]


def test_what_comes_of_it_is_spelled_out():
    (profile,) = configured().scheduler.profiles
    assert "NodeResourcesFit" in [use.name for use in profile.plugins.multi_point.enabled]
    assert profile.plugin_config


def test_every_flag_is_told_but_no_secret():
    _, flags = options("-v=4", "--password=hush", "--leader-elect-retry-period=1500ms")
    assert flags["v"] == "4"
    assert flags["leader-elect"] == "true"
    assert flags["leader-elect-retry-period"] == "1.5s"
    assert flags["password"] == "<redacted>"  # noqa: S105  # the opposite
    assert not flags.keys() & REFUSED.keys()


@pytest.mark.parametrize("words", [("-v=4",), ("-v", "4"), ("-v4",), ("--v=4",)])
def test_verbosity_is_taken_as_go_writes_it(words):
    assert options(*words)[0].verbosity == 4


@pytest.mark.parametrize(
    ("word", "want"), [("--leader-elect", True), ("--leader-elect=true", True), ("--leader-elect=false", False)]
)
def test_whether_to_elect(word, want):
    assert options(word, "-v=1")[0].leader_elect is want


@pytest.mark.parametrize("name", REFUSED)
def test_a_flag_that_means_nothing_here_is_refused_with_why(name):
    for words in ([f"--{name}=x"], [f"--{name}"], [f"--{name}", "x"]):
        assert f"--{name}: {REFUSED[name]}" in refusal(*words)


@pytest.mark.parametrize("lock", ["endpoints", "configmaps", "endpointsleases", "configmapsleases", "x"])
def test_only_leases_are_a_lock(lock):
    assert "use 'leases'" in refusal(f"--leader-elect-resource-lock={lock}")
