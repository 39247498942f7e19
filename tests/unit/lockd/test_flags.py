from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lockd.errors import StoreError
from lockd.etcd.model import RangeReply
from lockd.flags import Usage, connection_options, kubernetes_key, refuse_kubernetes
from lockd.ports import KeyValue


@click.command
@connection_options
def command(connection, prefix, trace_file):
    click.echo(repr((connection.endpoints, connection.user, connection.password, connection.command_timeout)))
    click.echo(repr((connection.cacert, prefix, trace_file)))
    if connection.names:
        click.echo(repr(connection.names))


def run(*args, **env):
    result = CliRunner().invoke(command, args, env=env)
    assert "Traceback" not in result.output
    return result


def test_defaults_are_etcdctls():
    assert run().output.splitlines() == ["(('127.0.0.1:2379',), None, None, 5.0)", "(None, '/lockd', None)"]


def test_flags_are_read():
    result = run(
        *("--endpoints", "http://a:1,http://b:2", "--user", "root:se:cret", "--command-timeout", "500ms"),
        *("--prefix", "/x/y/", "--trace-file", "t.json"),
    )
    assert result.output.splitlines() == [
        "(('a:1', 'b:2'), 'root', 'se:cret', 0.5)",
        f"(None, '/x/y', {Path('t.json')!r})",
    ]


def test_names_of_certificates_are_read():
    words = ("--endpoints=https://10.0.0.1:1,https://10.0.0.2:1", "--tls-server-name=etcd-1, etcd-2")
    assert run(*words).output.splitlines()[-1] == "('etcd-1', 'etcd-2')"
    assert run(*words, LOCKD_TLS_SERVER_NAME="etcd").output.splitlines()[-1] == "('etcd-1', 'etcd-2')"
    assert run(words[0], LOCKD_TLS_SERVER_NAME="etcd").output.splitlines()[-1] == "('etcd',)"


def test_the_environment_is_etcdctls_and_flags_win():
    environment = {
        "ETCDCTL_ENDPOINTS": "a:1",
        "ETCDCTL_USER": "root",
        "ETCDCTL_PASSWORD": "secret",
        "ETCDCTL_COMMAND_TIMEOUT": "7s",
        "LOCKD_PREFIX": "/env",
        "LOCKD_TRACE_FILE": "env.json",
    }
    assert run(**environment).output.splitlines() == [
        "(('a:1',), 'root', 'secret', 7.0)",
        f"(None, '/env', {Path('env.json')!r})",
    ]
    result = run("--endpoints", "b:2", "--user", "me", "--prefix", "/flag", "--command-timeout", "1s", **environment)
    assert result.output.splitlines() == [
        "(('b:2',), 'me', 'secret', 1.0)",
        f"(None, '/flag', {Path('env.json')!r})",
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--endpoints", "etcd-1"), "endpoint 'etcd-1' has no port: write etcd-1:2379"),
        (("--endpoints", ","), "no endpoint is given"),
        (("--user", "root"), "no password for user 'root'"),
        (("--cert", "c.pem"), "needs both cert and key"),
        (("--tls-server-name=a,b",), "give one TLS server name, or one for each endpoint"),
        (("--cacert", "/absent/ca.pem"), "cacert /absent/ca.pem can't be read: No such file"),
        (("--prefix", "/"), "must not be empty"),
        (("--prefix", "lockd"), "'lockd' is no prefix"),
        (("--command-timeout", "5"), "its unit is missing"),
        (("--user", "root", "--password", "\udcff"), "the password is not UTF-8: write it as UTF-8"),
        *(
            ((option, ""), f"'{option}': the path is empty")
            for option in ("--trace-file", "--cacert", "--cert", "--key")
        ),
        (("--bogus",), "--bogus"),
    ],
)
def test_what_cannot_be_used_is_told_with_exit_code_2(args, words):
    result = run(*args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_an_empty_variable_is_none_at_all():
    assert run(LOCKD_TRACE_FILE="").output == run().output


class Store:
    """Only what looking for Kubernetes needs of a gateway: keys in order, with values, in pages."""

    def __init__(self, values):
        self.values = dict(sorted(values.items()))
        self.reads = 0

    def range(self, key, *, prefix, start, limit, timeout):
        assert prefix
        assert timeout == 1.0
        self.reads += 1
        found = [KeyValue(k, v, 1) for k, v in self.values.items() if k.startswith(key) and k >= start]
        return RangeReply(tuple(found[:limit]), len(found), len(found) > limit, 9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({"/x/pods/default/a": b"k8s\0data"}, "/x/pods/default/a"),
        ({"/xy/pods/default/a": b"k8s\0data"}, None),
        ({"/x/pods/default/a": b"k8s data"}, None),
        (
            {f"/x/events/{n:04}": b"ours" for n in range(1000)} | {"/x/registry/pods/a": b"k8s\0"},
            "/x/registry/pods/a",
        ),
        ({f"/x/{n:04}": b"ours" for n in range(1000)} | {"/x/9999": b"k8s\0"}, "/x/9999"),
        ({f"/x/{n:04}/a": b"ours" for n in range(150)} | {"/x/0149/b": b"k8s\0"}, "/x/0149/b"),
        ({f"/x/{n:04}/a": b"ours" for n in range(100)} | {"/x/0099/b": b"k8s\0"}, "/x/0099/b"),
    ],
)
def test_kubernetes_data_is_found(values, expected):
    assert kubernetes_key(Store(values), "/x", timeout=1.0) == expected


def test_a_large_prefix_is_not_read_whole():
    store = Store({f"/x/events/{n:06}": b"ours" for n in range(20_000)} | {"/x/pods/a": b"ours"})
    assert kubernetes_key(store, "/x", timeout=1.0) is None
    assert store.reads == 2


def test_kubernetes_data_is_refused_with_exit_code_2():
    with pytest.raises(Usage, match=r"/x/pods/a holds Kubernetes' data: choose another --prefix than /x") as caught:
        refuse_kubernetes(Store({"/x/pods/a": b"k8s\0"}), "/x", timeout=1.0)
    assert caught.value.exit_code == 2


def test_an_etcd_that_cannot_be_asked_is_the_callers_to_handle():
    class Down:
        def range(self, *_args, **_values):
            raise StoreError("down")

    with pytest.raises(StoreError):
        refuse_kubernetes(Down(), "/x", timeout=1.0)
