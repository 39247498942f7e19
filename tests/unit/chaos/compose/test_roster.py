"""Who is who in a compose project."""

from pathlib import Path

import pytest

from chaos.compose.container import FILES, FOLDER, ONE_OFF
from chaos.compose.files import project_of
from chaos.compose.roster import Roster, chosen, natural
from chaos.errors import NoCluster
from tests.harness.containers import BEGAN, SECOND, container


def names(roster):
    return {name: each.name for name, each in roster.everybody.items()}


def test_services_that_are_named_as_roles_are_stay_what_they_are():
    found = Roster.of(
        [container("replica-2", "replica"), container("replica-10", "replica"), container("etcd-1", "etcd")]
    )
    assert names(found) == {"replica-2": "p-replica-2-1", "replica-10": "p-replica-10-1", "etcd-1": "p-etcd-1-1"}


def test_others_get_numbers_in_the_order_of_their_services():
    found = Roster.of(
        [
            container("scheduler", "replica", number=10),
            container("scheduler", "replica", number=9),
            container("db", "etcd"),
            container("lockd", "lockd"),
        ]
    )
    assert names(found) == {
        "replica-1": "p-scheduler-9",
        "replica-2": "p-scheduler-10",
        "etcd-1": "p-db-1",
        "lockd-1": "p-lockd-1",
    }


def test_a_mixture_of_both_is_numbered():
    found = Roster.of([container("replica-1", "replica"), container("spare", "replica")])
    assert names(found) == {"replica-1": "p-replica-1-1", "replica-2": "p-spare-1"}


def test_whoever_has_no_role_or_is_somebodys_own_is_left_out():
    mine = container("replica-7", "replica", labels={ONE_OFF: "True"})
    assert names(Roster.of([container("web"), container("demo", "demo"), mine])) == {}


def test_a_project_that_is_not_there_is_named_with_the_remedy():
    with pytest.raises(
        NoCluster, match=r"^no container belongs to a compose project 'q': bring it up, .*docker compose ls"
    ):
        chosen([container("replica-1", "replica")], "q")


def test_a_project_without_labels_is_told_which_to_give():
    with pytest.raises(NoCluster, match=r"labels such as lockd\.role=replica .*\(services here: db, web\)$"):
        chosen([container("web"), container("db")], "p")


def test_numbers_in_names_count_as_numbers():
    assert sorted(["n10", "n9", "n"], key=natural) == ["n", "n9", "n10"]


def test_one_that_is_made_anew_keeps_its_name_while_the_one_before_is_there():
    old = container("replica-1", "replica", id="old", running=False)
    new = container("replica-1", "replica", id="new", started=BEGAN + SECOND)
    for both in ((old, new), (new, old)):
        found = Roster.of([*both, container("replica-2", "replica")])
        assert {name: each.id[:3] for name, each in found.replicas.items()} == {"replica-1": "new", "replica-2": "p-r"}
    one = [container("", "replica", id=name) for name in "ab"]  # of no service
    assert len(Roster.of(one).replicas) == 2


def made(project, files, folder="/home/u"):
    return container("web", project=project, labels={FILES: files, FOLDER: folder})


def test_a_file_names_its_project(tmp_path):
    file = tmp_path / "docker-compose.yml"
    others = [made("other", "/etc/docker-compose.yml"), container("alone", project="")]
    assert project_of(file, [made("mine", f"{file},/etc/more.yml"), *others]) == "mine"
    assert (
        project_of(file, [made("old", "docker-compose.yml", str(tmp_path)), *others]) == "old"
    )  # as compose v1 says it


def test_a_file_of_nobody_or_of_several_is_one_line(tmp_path):
    file = tmp_path / "docker-compose.yml"
    with pytest.raises(NoCluster, match=rf"^no container was made from {file}: bring it up first"):
        project_of(file, [])
    with pytest.raises(NoCluster, match=r"name one by --project: a, b$"):
        project_of(file, [made("b", str(file)), made("a", str(file))])


def test_a_file_may_be_named_by_any_way_to_it(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    mine = [made("mine", str(tmp_path / "here" / "compose.yml"))]
    for way in ("compose.yml", "../here/compose.yml", "../link/compose.yml"):
        assert project_of(Path(way), mine) == "mine"
