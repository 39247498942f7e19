"""What the guard keeps, and what of it is left when nobody heals any more."""

import io
import json

import pytest

from chaos.cluster.hosted import Continue
from chaos.cluster.interface import Membership
from chaos.compose.remedies import Rejoin, Remove, Revive, Unpause
from chaos.faults import guardian, remedies
from chaos.faults.remedies import Disarm, Overwrite, Reach, Start, Withdraw

REACH = Reach(("127.0.0.1:1", "127.0.0.1:2"), ("a", "b"), cacert="/ca", user="root", password="secret")  # noqa: S106 - of nobody
EACH = (
    Continue(1, 2),
    Overwrite("/file", "00ff"),
    Disarm(REACH, 7, "NOSPACE"),
    Withdraw(REACH, "/key", "\x00 value"),
    Start("/folder", "etcd-1"),
    Unpause("c" * 64),
    Revive("c" * 64),
    Remove("lockd-chaos-1"),
    Rejoin("c" * 64, (Membership("n", ("replica-1",), "172.18.0.4", ("172.18.0.4",)), Membership("other"))),
)


@pytest.mark.parametrize("remedy", EACH, ids=lambda remedy: type(remedy).__name__)
def test_a_remedy_survives_its_way(remedy):
    line = remedies.encode(remedy)
    assert "\n" not in line
    assert remedies.decode(line) == remedy


def test_every_remedy_is_tested_here():
    assert {type(remedy).__name__ for remedy in EACH} == set(remedies.KINDS)


def test_what_was_not_taken_back_is_left_in_order():
    lines = [f"+ {number} {remedies.encode(Continue(number, 1))}\n" for number in (1, 2, 3)]
    answers = io.StringIO()
    left = guardian.keep(io.StringIO("".join([*lines, "- 2\n"])), answers)
    assert list(left.values()) == [Continue(1, 1), Continue(3, 1)]
    assert answers.getvalue() == "1\n2\n3\n2\n"


def test_a_file_gets_back_what_it_held(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"changed!")
    Overwrite(str(file), b"as it is".hex()).do()
    assert file.read_bytes() == b"as it is"
    Overwrite(str(tmp_path / "gone"), "00").do()
    assert not (tmp_path / "gone").exists()


def test_a_process_that_has_ended_needs_nothing():
    assert Continue(2**22 + 1, 1).do()


def test_a_remedy_is_one_line_of_json():
    assert json.loads(remedies.encode(Continue(1, 2))) == {"kind": "Continue", "pid": 1, "started": 2}
