"""The compose project that a run makes for itself."""

import json
from pathlib import Path

import pytest

from chaos.cluster.plan import Plan
from chaos.compose.bringing import image
from chaos.compose.project import Project
from chaos.compose.settings import written
from chaos.proxy.link import STRANGER, Link

FOLDER = Path("/run/cluster-1")


def project(**fields):
    plan = Plan(**{"folder": FOLDER, "members": 3, "replicas": 2, "daemons": 1, **fields})
    names = (*Project(plan=plan, name="").members(), *plan.names(), *plan.daemon_names())
    return Project(plan=plan, name="p", ports={name: 30000 + index for index, name in enumerate(names)})


def services(**fields):
    return project(**fields).document()["services"]


def test_it_has_as_many_of_each_as_the_plan_says():
    assert sorted(services()) == ["etcd-1", "etcd-2", "etcd-3", "lockd-1", "replica-1", "replica-2"]
    roles = {name: each["labels"]["lockd.role"] for name, each in services().items()}
    assert roles == {name: name.rpartition("-")[0] for name in roles}


def test_members_stay_away_when_they_end_and_others_come_back():
    assert {name for name, each in services().items() if "restart" in each} == {"lockd-1", "replica-1", "replica-2"}
    assert all(each["init"] for each in services().values())


def test_each_is_reached_at_its_own_port_of_loopback_alone():
    ports = [port for each in services().values() for port in each["ports"]]
    assert len(set(ports)) == len(ports) == 6
    assert all(port.startswith("127.0.0.1:3000") for port in ports)


def test_each_start_writes_a_trace_of_its_own_where_this_host_finds_it():
    one = services()["replica-1"]
    assert one["command"][:2] == ["sh", "-c"]
    assert f"--trace-file={FOLDER}/trace/replica-1.$$(date +%s%N).jsonl" in one["command"][2]
    assert one["volumes"] == [shared("trace")]


def shared(name, folder=FOLDER):
    """At the same path on this host and inside."""
    return {"type": "bind", "source": f"{folder}/{name}", "target": f"{folder}/{name}"}


def test_a_folder_may_be_called_what_it_likes():
    one = services(folder=Path("/run/a b:c/$x"))["replica-1"]
    assert "--trace-file='/run/a b:c/$$x/trace/replica-1.'$$(date" in one["command"][2]
    assert one["volumes"] == [shared("trace", "/run/a b:c/$$x")]


def test_flags_of_the_plan_come_last_and_dollars_are_kept_from_compose():
    assert services(flags=("--x=$y",))["replica-1"]["command"][-1] == "--x=$$y"


def test_without_links_everybody_dials_everybody():
    one = services()["replica-1"]
    assert one["environment"]["ETCDCTL_ENDPOINTS"] == "etcd-1:2379,etcd-2:2379,etcd-3:2379"
    assert "--presence-advertise=replica-1:10260" in one["command"]


def test_with_links_each_has_doors_of_its_own():
    made = project(proxied=True)
    doors = made.doors()
    assert len({port for link, port in doors.items() if link.destination.startswith("etcd-")}) == 9
    assert doors[Link("replica-2", "replica-1")] == doors[Link(STRANGER, "replica-1")]
    found = made.document()["services"]
    mine = found["replica-1"]["environment"]["ETCDCTL_ENDPOINTS"].split(",")
    assert mine == [f"links:{doors[Link('replica-1', f'etcd-{number}')]}" for number in (1, 2, 3)]
    assert set(mine).isdisjoint(found["replica-2"]["environment"]["ETCDCTL_ENDPOINTS"].split(","))
    plan = json.loads(found["links"]["command"][-1])
    assert {Link(source, destination): port for source, destination, port in plan["doors"]} == doors
    assert plan["targets"] == {
        **{f"etcd-{number}": f"etcd-{number}:2379" for number in (1, 2, 3)},
        **{f"replica-{number}": f"replica-{number}:10260" for number in (1, 2)},
    }


def test_a_library_is_shared_where_one_is_preloaded():
    given = services(environment={"replica-1": {"LD_PRELOAD": f"{FOLDER}/clocks/x.so"}})["replica-1"]
    assert shared("clocks") in given["volumes"]
    assert given["environment"]["LD_PRELOAD"] == f"{FOLDER}/clocks/x.so"


@pytest.mark.parametrize(("variable", "expected"), [({"X_IMAGE": "mine"}, "mine"), ({}, "usual")])
def test_an_image_is_named_by_its_variable(monkeypatch, tmp_path, variable, expected):
    monkeypatch.setattr("chaos.compose.bringing.SETTINGS", tmp_path / ".env")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert image("X_IMAGE", "usual") == expected


def test_a_source_tree_may_name_an_image(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("ETCD_IMAGE=other\nX_IMAGE=local:debian\n")
    monkeypatch.setattr("chaos.compose.bringing.SETTINGS", tmp_path / ".env")
    assert image("X_IMAGE", "usual") == "local:debian"


def test_an_env_file_is_read_as_compose_reads_it():
    text = "# A=comment\n\nA=1\n B = two words \nC=\"x=y\"\nexport D='4'\nE=\nA=2\nnothing\n"
    assert written(text) == {"A": "2", "B": "two words", "C": "x=y", "D": "4", "E": ""}
