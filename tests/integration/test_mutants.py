"""The mutants' runner, on small trees: only a failed test kills."""

from __future__ import annotations

import pytest

from tests.mutants.runner import Runner, Verdict
from tests.mutants.table import Mutant

TESTS = ("test_planted.py",)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "planted.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "test_planted.py").write_text(
        "from planted import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
    )
    return tmp_path


def judge(tree, new, *, old="return 2 * x", tests=TESTS, longest=60.0):
    mutant = Mutant(name="m", file="planted.py", old=old, new=new, within="", tests=tests)
    (outcome,) = Runner(tree, longest).run([mutant], jobs=1)
    return outcome


def test_a_mutant_that_a_test_notices_is_killed(tree):
    outcome = judge(tree, "return 3 * x")
    assert (outcome.verdict, outcome.detail) == (Verdict.KILLED, "test_double")
    assert "return 2 * x" in (tree / "planted.py").read_text()
    assert not (tree / "__pycache__").exists()


def test_a_mutant_that_no_test_notices_survives(tree):
    assert judge(tree, "return x + x").verdict is Verdict.SURVIVED


@pytest.mark.parametrize("new", ["return 2 *", "raise SystemExit(1)", "import os; os._exit(1)"])
def test_a_tree_that_cannot_be_tested_is_no_kill(tree, new):
    # Not even with pytest's own exit code for a failed test.
    (tree / "test_planted.py").write_text("from planted import double\n\nSIX = double(3)\n\n\ndef test(): pass\n")
    assert judge(tree, new).verdict is Verdict.BROKEN


def test_a_fixture_that_fails_is_no_kill(tree):
    (tree / "test_planted.py").write_text(
        "import pytest\nfrom planted import double\n\n\n@pytest.fixture\ndef six():\n    assert double(3) == 6\n\n\n"
        "def test(six): pass\n"
    )
    assert judge(tree, "return 3 * x").verdict is Verdict.BROKEN


def test_no_test_at_all_is_no_kill(tree):
    assert judge(tree, "return 3 * x", tests=("test_other.py",)).verdict is Verdict.BROKEN


def test_a_line_that_is_gone_is_no_kill(tree):
    outcome = judge(tree, "return 3 * x", old="return 2*x")
    assert outcome.verdict is Verdict.BROKEN
    assert "0 times" in outcome.detail


def test_tests_that_do_not_end_are_ended(tree):
    outcome = judge(tree, "while True: pass", longest=5.0)
    assert outcome.verdict is Verdict.BROKEN
    assert "did not end" in outcome.detail


def test_the_tree_as_it_is_must_be_green(tree):
    assert Runner(tree).unharmed([*TESTS, *TESTS]).verdict is Verdict.SURVIVED
    (tree / "test_other.py").write_text("def test_other(): pass\n")
    assert Runner(tree).unharmed([*TESTS, "test_other.py"], jobs=2).verdict is Verdict.SURVIVED
    (tree / "planted.py").write_text("def double(x):\n    return x\n")
    assert Runner(tree).unharmed(["test_other.py", *TESTS], jobs=2).verdict is Verdict.KILLED
    assert Runner(tree).unharmed(TESTS).verdict is Verdict.KILLED
