"""The mutants' table: a row is exact, or refused with the line that mends it."""

from __future__ import annotations

import pytest

from tests.mutants.table import Mutant, TableError, load

SOURCE = """\
def first(x):
    if x > 0:
        return 1

    return 0


def second(x):
    return 0
"""


def mutant(old, new, within=""):
    return Mutant(name="m", file="a.py", old=old, new=new, within=within, tests=("t.py",))


def test_a_line_is_exchanged_and_its_indentation_kept():
    assert mutant("return 1", "return 2").apply(SOURCE) == SOURCE.replace("        return 1\n", "        return 2\n")


def test_a_line_that_stands_twice_is_refused():
    with pytest.raises(TableError, match="2 times"):
        mutant("return 0", "return 2").apply(SOURCE)


def test_a_line_that_is_gone_is_refused():
    with pytest.raises(TableError, match="0 times"):
        mutant("return", "pass").apply(SOURCE)


@pytest.mark.parametrize(("within", "index"), [("def first(x):", 0), ("def second(x):", 1)])
def test_a_block_narrows_the_search(within, index):
    changed = mutant("return 0", "return 2", within).apply(SOURCE)
    assert changed.splitlines().index("    return 2") == [4, 8][index]
    assert changed.count("return 0") == 1


def test_a_block_that_is_gone_is_refused():
    with pytest.raises(TableError, match="def third"):
        mutant("return 0", "return 2", "def third(x):").apply(SOURCE)


def test_rows_take_the_files_tests_or_their_own(tmp_path):
    (tmp_path / "a.toml").write_text(
        'file = "a.py"\ntests = ["t.py"]\n'
        '[[mutant]]\nname = "one"\nold = " a "\nnew = "b"\n'
        '[[mutant]]\nname = "two"\nold = "a"\nnew = "c"\ntests = ["u.py::test"]\nwithin = "def f():"\n'
    )
    assert load(tmp_path) == (
        Mutant(name="one", file="a.py", old="a", new="b", within="", tests=("t.py",)),
        Mutant(name="two", file="a.py", old="a", new="c", within="def f():", tests=("u.py::test",)),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("file = ", "a.toml is not TOML"),
        ('file = "a.py"', "'mutant' is missing"),
        ('file = "a.py"\n[[mutant]]\nname = "one"\nold = "a"\nnew = "b"', "'tests' is missing"),
        ('file = "a.py"\ntests = ["t"]\n[[mutant]]\nname = "one"\nold = "a"', "'new' is missing"),
        ('file = "a.py"\ntests = ["t"]\n[[mutant]]\nname = "one"\nold = "a"\nnew = " a"', "changes nothing"),
        ('file = "a.py"\ntests = ["t"]\n' + '[[mutant]]\nname = "one"\nold = "a"\nnew = "b"\n' * 2, "one name"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, text, says):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(TableError, match=says):
        load(tmp_path)
