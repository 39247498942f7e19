"""Bad input to `lockctl elect`: one clear line, the right code, and nothing left behind in etcd."""

from __future__ import annotations

import subprocess

import pytest
from click.testing import CliRunner

from lockd.ctl.commands import main
from lockd.etcd.embedded import Embedded
from tests.harness import certs
from tests.harness.electing import LOCKCTL, ROOT

pytestmark = pytest.mark.etcd


def elect(*words, endpoints, prefix):
    """Its exit code, and the one line that it said."""
    command = (*LOCKCTL, "elect", f"--endpoints={','.join(endpoints)}", f"--prefix={prefix}", *words)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: ")
    return done.returncode, done.stderr


BAD = [
    (("a/b", "--", "true"), 2, "must not contain '/'"),
    (("x" * 10_240, "--", "true"), 2, "has 10240 bytes; at most 253 are possible"),
    (("job", "--ttl=2.9s", "--", "true"), 2, "2.9s is too short: at least 3s"),
    (("job", "--ttl=15", "--", "true"), 2, "write 15s for seconds"),
    (("job",), 2, "Missing argument '-- CMD [ARGS]...'"),
    (("job", "--", "no-such-command"), 127, "no-such-command was not found: give a program on PATH, or its path"),
    (("job", "--", ""), 127, "error: '' was not found: give a program on PATH, or its path"),
    (("job", "--", "/no/such"), 127, "/no/such was not found"),
    (("job", "--", "/etc/passwd"), 126, "/etc/passwd can't be run: it is not an executable file"),
]


@pytest.mark.parametrize(("words", "code", "told"), BAD, ids=[f"{words[0][:9]} {words[-1][:20]}" for words, *_ in BAD])
def test_it_is_told_before_etcd_is_asked(words, code, told):
    result = CliRunner().invoke(main, ("elect", "--endpoints=127.0.0.1:1", *words))
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1)
    assert result.stderr.startswith("error: ")
    assert told in result.stderr


def test_a_program_that_turns_out_not_to_be_one_gives_the_lock_back(etcd, gateway, prefix, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x00\x01\x02")
    program.chmod(0o755)
    code, line = elect("job", "--", str(program), endpoints=etcd.endpoints, prefix=prefix)
    assert (code, line) == (126, f"error: {program} can't be run: Exec format error\n")
    left = {kv.key: kv.value for kv in gateway.range(f"{prefix}/", prefix=True, timeout=5.0).kvs}
    assert sorted(key.split("/")[2] for key in left) == ["history", "leases", "terms"]
    assert b'"holderIdentity":""' in left[f"{prefix}/leases/kube-system/job"]


def test_an_etcd_that_does_not_accept_us(prefix):
    flags = (f"--cert-file={certs.path('server.pem')}", f"--key-file={certs.path('server.key')}")
    with Embedded.start(flags=flags, scheme="https", client={"cacert": certs.path("ca.pem")}) as secure:
        stranger = certs.path("stranger.pem")
        words = (f"--cacert={stranger}", "job", "--", "true")
        code, line = elect(*words, endpoints=secure.endpoints, prefix=prefix)
        assert (code, f"is not accepted by cacert {stranger}" in line) == (1, True), line


@pytest.mark.slow
def test_an_etcd_that_is_not_there_and_not_waited_for(prefix):
    words = ("--command-timeout=500ms", "job", "--try", "--", "true")
    assert elect(*words, endpoints=("127.0.0.1:1",), prefix=prefix)[0] == 1
    command = (*LOCKCTL, "elect", "job", "--endpoints=127.0.0.1:1", "--timeout=1s", "--", "true")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert "error: the lock was not to be had in time: " in done.stderr
