from __future__ import annotations

import json
import socket

import pytest

from lockd.errors import ConfigError
from lockd.etcd.loopback import free_ports
from lockd.etcd.plan import Plan


def test_a_folder_that_has_served_before_keeps_its_ports_and_token(tmp_path):
    first = Plan.of(tmp_path / "new", 3)
    assert Plan.of(tmp_path / "new", 3) == first
    assert len({port for pair in first.ports.values() for port in pair}) == 6


def test_two_clusters_do_not_share_a_token(tmp_path):
    assert Plan.of(tmp_path / "a", 1).token != Plan.of(tmp_path / "b", 1).token


def test_flags_name_all_members(tmp_path):
    plan = Plan.of(tmp_path, 3)
    flags = plan.flags("etcd-2", "https")
    assert f"--listen-client-urls=https://127.0.0.1:{plan.ports['etcd-2'][0]}" in flags
    (cluster,) = (flag for flag in flags if flag.startswith("--initial-cluster="))
    assert [part.partition("=")[0] for part in cluster.removeprefix("--initial-cluster=").split(",")] == list(
        plan.ports
    )


@pytest.mark.parametrize("members", [0, 2, 5])
def test_other_numbers_of_members_are_refused(tmp_path, members):
    with pytest.raises(ConfigError, match=f"1 member or 3, not {members}"):
        Plan.of(tmp_path, members)


def test_a_folder_of_another_number_of_members_is_refused(tmp_path):
    Plan.of(tmp_path, 1)
    with pytest.raises(ConfigError, match="holds an etcd of 1 members, not 3"):
        Plan.of(tmp_path, 3)


@pytest.mark.parametrize("text", ["no JSON", "[]", json.dumps({"token": "x"})])
def test_a_broken_plan_is_one_clear_line(tmp_path, text):
    (tmp_path / "members.json").write_text(text)
    with pytest.raises(ConfigError, match="can't hold an etcd's data"):
        Plan.of(tmp_path, 1)


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't hold an etcd's data"):
        Plan.of(tmp_path / "file", 1)


def test_ports_are_free_and_not_for_outgoing_connections():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert max(ports) < 32768
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports[0]))
