"""What is read out of `docker inspect`."""

import copy

import pytest

from chaos.compose.container import Container, nanoseconds

ID = "4f2a" * 16
DOCUMENT = {
    "Id": ID,
    "Name": "/lockd-replica-1-1",
    "State": {
        "Status": "running",
        "Running": True,
        "Paused": False,
        "Restarting": False,
        "Pid": 4711,
        "ExitCode": 0,
        "StartedAt": "2026-01-02T03:04:05.123456789Z",
    },
    "Config": {
        "Hostname": "replica-1",
        "Image": "lockd:local",
        "Labels": {"lockd.role": "replica", "com.docker.compose.project": "lockd"},
        "Entrypoint": None,
        "Cmd": ["replica", "run"],
    },
    "HostConfig": {"RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0}},
    "NetworkSettings": {
        "Ports": {
            "10259/tcp": [{"HostIp": "0.0.0.0", "HostPort": "32001"}],
            "53/udp": [{"HostPort": "1"}],
            "7/tcp": None,
        },
        "Networks": {"lockd_cluster": {"IPAddress": "172.18.0.5", "Aliases": ["replica-1", ID[:12]]}},
    },
}


def told(**state):
    document = copy.deepcopy(DOCUMENT)
    document["State"] |= state
    return Container.of(document)


def test_all_that_a_fault_must_know_is_read():
    found = told()
    assert (found.name, found.hostname, found.pid, found.role) == ("lockd-replica-1-1", "replica-1", 4711, "replica")
    assert found.ports == {10259: "127.0.0.1:32001"}
    assert [(each.network, each.aliases, each.address) for each in found.networks] == [
        ("lockd_cluster", ("replica-1",), "172.18.0.5")
    ]
    assert found.command == ("replica", "run")
    assert found.restarts


def test_one_that_waits_for_its_next_start_does_not_run():
    found = told(Restarting=True, Pid=0)
    assert (found.running, found.pid) == (False, 0)


def test_one_that_is_paused_runs():
    found = told(Paused=True)
    assert (found.running, found.paused) == (True, True)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01T00:00:01.5Z", 15 * 10**8),
        ("1970-01-01T01:00:01.000000007+01:00", 10**9 + 7),
        ("0001-01-01T00:00:00Z", 0),
    ],
)
def test_stamps_keep_all_their_digits(stamp, expected):
    assert nanoseconds(stamp) == expected


def test_what_is_no_stamp_is_refused():
    with pytest.raises(ValueError, match="yesterday"):
        nanoseconds("yesterday")


def test_a_published_port_goes_before_an_address():
    found = told()
    assert found.dialled(10259) == "127.0.0.1:32001"
    assert found.dialled(2379) == "172.18.0.5:2379"


def test_a_label_names_another_port():
    document = copy.deepcopy(DOCUMENT)
    document["Config"]["Labels"]["lockd.port"] = "80"
    assert Container.of(document).dialled(10259) == "172.18.0.5:80"


def test_who_is_in_no_network_is_dialled_nowhere():
    document = copy.deepcopy(DOCUMENT)
    document["NetworkSettings"] = {"Ports": {}, "Networks": {}}
    assert Container.of(document).dialled(10259) == ""


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ([{"HostIp": "", "HostPort": "1"}], "127.0.0.1:1"),
        ([{"HostIp": "::", "HostPort": "2"}, {"HostIp": "0.0.0.0", "HostPort": "1"}], "127.0.0.1:1"),
        ([{"HostIp": "::", "HostPort": "2"}], "127.0.0.1:2"),
        ([{"HostIp": "::1", "HostPort": "2"}], "[::1]:2"),
        ([{"HostIp": "192.0.2.1", "HostPort": "1"}], "192.0.2.1:1"),
    ],
)
def test_a_published_port_is_dialled_where_it_is_bound(bound, expected):
    document = copy.deepcopy(DOCUMENT)
    document["NetworkSettings"]["Ports"] = {"10259/tcp": bound}
    assert Container.of(document).dialled(10259) == expected


def test_who_shares_the_network_of_the_host_is_dialled_there():
    document = copy.deepcopy(DOCUMENT)
    document["NetworkSettings"] = {"Ports": {}, "Networks": {"host": {"IPAddress": ""}}}
    assert Container.of(document).dialled(10259) == "127.0.0.1:10259"


def test_a_url_is_told_by_a_label_and_nobody_has_one_who_is_not_reached():
    document = copy.deepcopy(DOCUMENT)
    assert Container.of(document).url(10259) == "http://127.0.0.1:32001"
    document["Config"]["Labels"]["lockd.serves"] = "https"
    assert Container.of(document).url(10259) == "https://127.0.0.1:32001"
    document["NetworkSettings"] = {"Ports": {}, "Networks": {}}
    assert Container.of(document).url(10259) == ""


def test_addresses_that_their_owner_chose_are_known():
    document = copy.deepcopy(DOCUMENT)
    assert Container.of(document).networks[0].fixed == ()
    network = document["NetworkSettings"]["Networks"]["lockd_cluster"]
    network["IPAMConfig"] = {"IPv4Address": "172.18.0.5", "IPv6Address": "fd00::5"}
    assert Container.of(document).networks[0].fixed == ("172.18.0.5", "fd00::5")


def test_of_one_that_has_ended_the_ports_are_known_that_it_will_have_again():
    """Otherwise whoever asks it by no address asks another."""
    document = copy.deepcopy(DOCUMENT)
    document["NetworkSettings"] = {"Ports": {}, "Networks": {}}
    document["HostConfig"]["PortBindings"] = {
        "10259/tcp": [{"HostIp": "127.0.0.1", "HostPort": "32001"}],
        "2379/tcp": [{"HostIp": "", "HostPort": ""}],  # the engine is to choose one
    }
    assert Container.of(document).ports == {10259: "127.0.0.1:32001"}
