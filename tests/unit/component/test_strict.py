from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from component import strict
from component.strict import Malformed, Seconds


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    how_many: int
    kind: Literal["a", "b"] = "a"


class Outer(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    on: bool = True
    share: float = 0.5
    wait_for: Seconds = Seconds(2)
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    words: dict[str, str] = {}
    free: Any = None

    def problems(self):
        if self.name == "bad":
            yield "name", "must not be bad"
        if self.name == "worse":
            yield "", "is worse"


def problems(document, path=""):
    with pytest.raises(Malformed) as caught:
        strict.decode(document, Outer, path)
    return list(caught.value.problems)


def test_what_is_absent_or_null_has_its_default():
    assert strict.decode({}, Outer) == Outer()
    assert strict.decode({"name": None, "many": None, "waitFor": None}, Outer) == Outer()


def test_all_fields():
    document = {
        "name": "x",
        "on": False,
        "share": 1,
        "waitFor": "1m30s",
        "inner": {"howMany": 3},
        "many": [{"howMany": 1, "kind": "b"}],
        "words": {"a": "b"},
        "free": [1, {"x": None}],
    }
    found = strict.decode(document, Outer)
    inner, many = Inner(3), (Inner(1, "b"),)
    assert found == Outer("x", False, 1, Seconds(90), inner, many, {"a": "b"}, [1, {"x": None}])


@pytest.mark.parametrize(
    ("document", "want"),
    [
        ([], "[] must be an object"),
        ({"names": "x"}, "names: unknown field, did you mean name?"),
        ({"zzz": 1}, "zzz: unknown field"),
        ({"name": 1}, "name: 1 must be a text: put it in quotes"),
        ({"on": "yes"}, 'on: "yes" must be true or false'),
        ({"on": 1}, "on: 1 must be true or false"),
        ({"share": True}, "share: true must be a number"),
        ({"waitFor": 5}, 'waitFor: 5 must be a duration such as "15s"'),
        ({"waitFor": "5"}, "waitFor: invalid duration '5': its unit is missing: write 5s for seconds"),
        ({"inner": []}, "inner: [] must be an object"),
        ({"inner": {}}, "inner.howMany: is required"),
        ({"inner": {"howMany": True}}, "inner.howMany: true must be a whole number"),
        ({"inner": {"howMany": 1.0}}, "inner.howMany: 1.0 must be a whole number"),
        ({"inner": {"howMany": 1, "kind": "c"}}, 'inner.kind: "c" must be one of a, b'),
        ({"inner": {"howMany": 1, "kind": ["a"]}}, 'inner.kind: ["a"] must be one of a, b'),
        ({"many": {}}, "many: {} must be a list"),
        ({"many": [{"howMany": 1}, {"howMany": "1"}]}, 'many[1].howMany: "1" must be a whole number'),
        ({"many": [None]}, "many[0]: null must be an object"),
        ({"words": {"a": 1}}, "words.a: 1 must be a text: put it in quotes"),
        ({"words": []}, "words: [] must be an object"),
        ({"name": "bad"}, "name: must not be bad"),
        ({"name": "worse"}, "is worse"),
    ],
)
def test_one_line_for_each_problem(document, want):
    assert problems(document) == [want]


def test_every_problem_at_once_below_where_the_document_stands():
    found = problems({"name": 1, "many": [{"x": 1}], "nothing": 2}, "profiles[0].args")
    assert found == [
        "profiles[0].args.nothing: unknown field",
        "profiles[0].args.name: 1 must be a text: put it in quotes",
        "profiles[0].args.many[0].x: unknown field",
        "profiles[0].args.many[0].howMany: is required",
    ]


def test_rules_are_asked_though_a_field_is_wrong():
    assert problems({"name": "bad", "on": 1}) == ["on: 1 must be true or false", "name: must not be bad"]


def test_rules_of_its_own_name_the_place_too():
    assert problems({"name": "bad"}, "at") == ["at.name: must not be bad"]
    assert problems({"name": "worse"}, "at") == ["at: is worse"]


def test_a_long_value_is_cut():
    assert len(problems({"name": ["x" * 500]})[0]) < 120


class Brief(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str = "x"
    inner: Inner = Inner(1)


def test_defaults_are_left_out_where_the_struct_says_so():
    assert strict.encode(Brief()) == {}
    assert strict.encode(Brief("y", Inner(2))) == {"name": "y", "inner": {"howMany": 2, "kind": "a"}}
    assert strict.encode(Inner(1)) == {"howMany": 1, "kind": "a"}


inners = st.builds(Inner, st.integers(-(2**40), 2**40), st.sampled_from("ab"))
outers = st.builds(
    Outer,
    st.text().filter(lambda text: text not in {"bad", "worse"}),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 10**10).map(lambda milliseconds: Seconds(milliseconds / 1000)),
    st.none() | inners,
    st.lists(inners).map(tuple),
    st.dictionaries(st.text(), st.text()),
)


@given(outers)
def test_what_is_encoded_decodes_to_the_same(value):
    assert strict.decode(strict.encode(value), Outer) == value
