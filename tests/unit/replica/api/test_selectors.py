from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.api.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    SelectorError,
    compile_nodes,
    compile_requirement,
    compile_selector,
    parse_selector,
    requirement_problem,
)

LABELS = {
    "app": "web",
    "n": "5",
    "neg": "-3",
    "bad": "five",
    "empty": "",
    "long": "0" * 30 + "7",
    "huge": "9223372036854775808",
    "low": "-9223372036854775809",
}


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds"),
    [
        ("app", "In", ("web", "db"), True),
        ("app", "In", ("db",), False),
        ("gone", "In", ("db",), False),
        ("gone", "In", ("",), False),
        ("empty", "In", ("",), True),
        ("app", "NotIn", ("web",), False),
        ("app", "NotIn", ("db",), True),
        ("gone", "NotIn", ("db",), True),
        ("app", "Exists", (), True),
        ("gone", "Exists", (), False),
        ("app", "DoesNotExist", (), False),
        ("gone", "DoesNotExist", (), True),
        ("n", "Gt", ("4",), True),
        ("n", "Gt", ("5",), False),
        ("n", "Lt", ("6",), True),
        ("n", "Lt", ("5",), False),
        ("neg", "Lt", ("-2",), True),
        ("bad", "Gt", ("0",), False),
        ("bad", "Lt", ("0",), False),
        ("gone", "Gt", ("-100",), False),
        ("empty", "Lt", ("1",), False),
        ("long", "Lt", ("8",), True),
        ("huge", "Gt", ("1",), False),
        ("low", "Lt", ("1",), False),
    ],
)
def test_operators(key, operator, values, holds):
    node = compile_nodes(NodeSelector((NodeSelectorTerm((Requirement(key, operator, values),)),)))
    assert node(LABELS, "n1") is holds
    if operator not in {"Gt", "Lt"}:
        assert compile_requirement(Requirement(key, operator, values))(LABELS) is holds


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        (Requirement("a", "Gt", ("1",)), "is not one of"),
        (Requirement("a", "in", ("1",)), "is not one of"),
        (Requirement("a", "In"), "needs values"),
        (Requirement("a", "Exists", ("1",)), "takes no values"),
    ],
)
def test_label_selectors_that_mean_nothing(requirement, problem):
    with pytest.raises(SelectorError, match=problem):
        compile_selector(LabelSelector(match_expressions=(requirement,)))


@pytest.mark.parametrize("values", [(), ("1", "2"), ("one",), ("1.5",), ("9" * 20,)])
def test_comparisons_take_one_integer(values):
    assert requirement_problem(Requirement("a", "Gt", values), ("Gt",)) == "Gt needs one value, an integer"


def test_nothing_and_everything():
    assert not compile_selector(None)(LABELS)
    assert compile_selector(LabelSelector())(LABELS)
    assert compile_nodes(None)({}, "n")
    assert not compile_nodes(NodeSelector())({}, "n")
    assert not compile_nodes(NodeSelector((NodeSelectorTerm(),)))(LABELS, "n")


def test_all_expressions_of_a_selector_hold():
    selector = LabelSelector({"app": "web"}, (Requirement("n", "Exists"),))
    assert compile_selector(selector)(LABELS)
    assert not compile_selector(selector)({"app": "web"})
    assert not compile_selector(selector)({"n": "1"})


def test_one_term_is_enough_and_fields_select_by_name():
    by_name = NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n1",)),))
    both = NodeSelectorTerm((Requirement("app", "Exists"),), by_name.match_fields)
    other = NodeSelectorTerm((Requirement("gpu", "Exists"),))
    matches = compile_nodes(NodeSelector((other, both)))
    assert matches({"app": "x"}, "n1")
    assert not matches({"app": "x"}, "n2")
    assert not matches({}, "n1")
    assert matches({"gpu": ""}, "n2")


def test_other_fields_are_refused():
    with pytest.raises(SelectorError, match=r"metadata\.name"):
        compile_nodes(NodeSelector((NodeSelectorTerm(match_fields=(Requirement("spec.x", "In", ("a",)),)),)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("app=web", (Requirement("app", "In", ("web",)),)),
        ("app==web", (Requirement("app", "In", ("web",)),)),
        ("app = web , tier != db", (Requirement("app", "In", ("web",)), Requirement("tier", "NotIn", ("db",)))),
        ("env in (a, b),zone notin (c)", (Requirement("env", "In", ("a", "b")), Requirement("zone", "NotIn", ("c",)))),
        ("ready,!old", (Requirement("ready", "Exists"), Requirement("old", "DoesNotExist"))),
        ("example.com/app=", (Requirement("example.com/app", "In", ("",)),)),
        ("in in (in)", (Requirement("in", "In", ("in",)),)),
    ],
)
def test_kubectl_words(text, expected):
    assert parse_selector(text).requirements() == expected


@pytest.mark.parametrize("text", ["=a", "a=b,", "a in b", "a in (b", "a b", ",a", "a=(b)", "!", "a=b=c", "a!b"])
def test_unreadable_words(text):
    with pytest.raises(SelectorError, match="can't be read at"):
        parse_selector(text)


@given(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")),
    st.lists(
        st.builds(
            Requirement,
            st.sampled_from("abc"),
            st.sampled_from(["In", "NotIn"]),
            st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(tuple),
        ),
        max_size=3,
    ),
)
def test_a_selector_is_a_conjunction(labels, requirements):
    expected = all((labels.get(each.key) in each.values) == (each.operator == "In") for each in requirements)
    assert compile_selector(LabelSelector(match_expressions=tuple(requirements)))(labels) is expected
