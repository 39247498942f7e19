"""Which scenario runs on what, and why not."""

import pytest
from click.testing import CliRunner

from chaos.backend.adopted import AdoptedBackend
from chaos.cluster.plan import Plan
from chaos.compose.access import Access
from chaos.compose.finding import Found, flags_of, prefix_of
from chaos.compose.roster import chosen
from chaos.ctl import main
from chaos.errors import NoCluster
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Need
from chaos.runner.choosing import Chosen
from chaos.scenario import loading
from chaos.scenario.backends import BACKENDS, backends, reasons
from chaos.scenario.faults import Registered
from chaos.scenario.model import Configuration
from chaos.timing import Timing
from tests.harness.containers import FakeEngine, container

NOT_ON = {"defragment": "compose", "hung-collector": "compose", "isolate-leader": "local"}


def scenario(name):
    return loading.load(name, Registered())


@pytest.mark.parametrize("name", loading.names())
def test_each_shipped_scenario_runs_on_both_or_says_why_not(name):
    missing = [each for each in BACKENDS if each not in backends(scenario(name))]
    assert missing == ([NOT_ON[name]] if name in NOT_ON else [])
    assert all("\n" not in why and why for each in missing for why in reasons(scenario(name), each))


def run(*words):
    return CliRunner().invoke(main, list(words))


def test_the_list_tells_it():
    said = run("list").stdout
    assert "isolate-leader: not on local: processes of one host share its network" in said
    assert "hung-collector: not on compose: " in said


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("run", "isolate-leader"), 1, "error: isolate-leader can't be run on local: processes of one host"),
        (
            ("run", "hung-collector", "--backend=compose"),
            1,
            "error: hung-collector can't be run on compose: the collector",
        ),
        (("run", "kill-leader", "--backend=local", "--project=p"), 2, "error: a compose project is no local cluster"),
        (("run", "kill-leader", "--project=p", "--compose-file=LICENSE"), 2, "error: --project and --compose-file"),
        (
            ("hurt", "leader", "--kill", "--project=p", "--compose-file=LICENSE"),
            2,
            "error: --project and --compose-file",
        ),
        (("run", "kill-leader", "--project=p", "--cacert=nowhere.pem"), 2, "error: cacert nowhere.pem can't be read"),
        (
            ("run", "kill-leader", "--endpoints=https://a:1"),
            2,
            "error: --endpoints: a cluster that is made has an etcd of its own",
        ),
        (("hurt", "leader", "--kill", "--project=p", "--key=k"), 2, "error: a client certificate needs both cert"),
        (("hurt", "leader", "--kill", "--compose-file=nowhere.yml"), 2, "error: Invalid value for '--compose-file'"),
    ],
)
def test_what_can_not_be_is_one_line(words, code, told, monkeypatch):
    monkeypatch.chdir(loading.resources.files("chaos").joinpath(".."))
    done = run(*words)
    assert done.exit_code == code, done.output
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [("hurt", "leader", "--kill", "--project=p"), ("run", "kill-leader", "--backend=compose")]
)
def test_no_engine_is_one_line(words, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    done = run(*words)
    where = f"unix://{tmp_path}/docker.sock"
    told = f"error: no Docker engine answers at {where}: start it (systemctl start docker, or Docker Desktop)\n"
    assert (done.exit_code, done.stderr) == (1, told)


def found(**fields):
    engine = FakeEngine().add(container("web", "replica", **fields))
    return Found(engine, "p", chosen(engine.containers(), "p"))


def test_the_prefix_is_what_replicas_were_told():
    assert prefix_of([]) == "/lockd"
    assert found().prefix == "/lockd"
    assert found(environment={"LOCKD_PREFIX": "/mine"}).prefix == "/mine"
    assert (
        found(environment={"LOCKD_PREFIX": "/mine"}, command=("replica", "--prefix=/a", "--prefix=/b")).prefix == "/b"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("replica", "run", "--prefix=/mine", "--leader-elect-lease-duration=3s"),
        ("replica", "run", "--prefix", "/mine", "--leader-elect-lease-duration", "3s", "--v", "2"),
        ("sh", "-c", "exec replica run --prefix '/mine' --leader-elect-lease-duration=3s"),
    ],
)
def test_flags_are_read_however_they_are_written(command):
    one = found(command=command)
    assert one.prefix == "/mine"
    assert Timing.of_flags(one.flags).lease_duration == 3.0


def test_a_line_that_is_none_of_a_shell_is_one_word():
    assert flags_of(("sh", "-c", "it's --prefix=/mine", "--a=b")) == ("--a=b",)


def test_a_project_without_an_etcd_says_what_to_name():
    with pytest.raises(NoCluster, match=r"labelled lockd\.role=etcd, .* --endpoints"):
        _ = found().members


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Configuration(), ()),
        (Configuration(replicas=1, flags=("--leader-elect-lease-duration=6s",)), ()),
        (Configuration(replicas=4, daemons=1), ("4 replicas, of 1", "1 lockd, of 0")),
        (Configuration(flags=("--leader-elect-presence=false",)), ("the flag --leader-elect-presence=false",)),
        (Configuration(fresh=True), ()),  # it takes the one that is there
    ],
)
def test_what_a_scenario_asks_for_and_a_project_is_not_made_with_is_said(wanted, expected):
    chosen = Chosen("compose", "p")
    assert chosen.unmet(wanted) == ()
    chosen._found = found(command=("replica", "run", "--leader-elect-lease-duration", "6s"))
    assert chosen.unmet(wanted) == expected


def test_a_project_that_is_there_can_not_be_given_links(tmp_path):
    backend = AdoptedBackend(found(), Access())
    with pytest.raises(NotAvailable, match=r"not made with what it takes \(links\)"):
        backend.equipped(Plan(folder=tmp_path), [Need.LINKS, Need.NETWORKS])
    plan = backend.equipped(Plan(folder=tmp_path), [Need.NETWORKS])
    assert (plan.members, plan.replicas) == (0, 1)
