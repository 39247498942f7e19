from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from replica.api.documents import DocumentError, parse_documents, write_yaml


def one(text):
    (found,) = parse_documents(text)
    return found.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31", "2026-01-31"),
        ("12:30:45", "12:30:45"),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("0644", 420),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("0", 0),
        ("089", 89.0),
        ("1_000", 1000),
        ("yes", True),
        ("off", False),
        ("True", True),
        ("n", "n"),
        ("~", None),
        ("", None),
        ("'7'", "7"),
        ("!!str 7", "7"),
        ("100m", "100m"),
        ("1.5Gi", "1.5Gi"),
        ("1.2.3", "1.2.3"),
        ("+", "+"),
        (".", "."),
        ("-", [None]),
    ],
)
def test_scalars(text, value):
    found = one(f"a: {text}" if text != "-" else "a:\n-")["a"]
    assert found == value
    assert type(found) is type(value)


def test_documents_are_counted_with_the_empty_ones():
    found = list(parse_documents("---\n# nothing\n---\na: 1\n---\nb: 2\n"))
    assert [(each.index, each.value) for each in found] == [(2, {"a": 1}), (3, {"b": 2})]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n---\n{"b": 2}\n', [(1, {"a": 1}), (2, {"b": 2})]),
        ('{"a": 1}\r\n--- # next\r\n\t{"b": 2}', [(1, {"a": 1}), (2, {"b": 2})]),
        ('{"a": 1}{"b": 2}\n---', [(1, {"a": 1}), (2, {"b": 2})]),
        ('{"a": 1}\n---\n---\n{"b": 2}', [(1, {"a": 1}), (2, {"b": 2})]),
        ('{"a": 1}\n---\nb: 2\n---\n{"c": 3}', [(1, {"a": 1}), (2, {"b": 2}), (3, {"c": 3})]),
    ],
)
def test_json_documents_with_separators(text, found):
    assert [(each.index, each.value) for each in parse_documents(text)] == found


@pytest.mark.parametrize("text", ['{"a": 1}\n---\n{"b": }\n', '{"a": 1}\n---\nb: ]\n'])
def test_an_error_after_a_separator_names_its_line(text):
    with pytest.raises(DocumentError, match="line 3"):
        list(parse_documents(text))


def test_json_streams_and_tabs():
    found = list(parse_documents('\ufeff{\n\t"a": 1}\n{"a": 2}\n'))
    assert [(each.index, each.value["a"]) for each in found] == [(1, 1), (2, 2)]


def test_keys_are_texts_and_merges_work():
    assert one("1: a\ntrue: b") == {"1": "a", "true": "b"}
    assert one("base: &b {x: 1, y: 2}\nout: {<<: *b, y: 3}")["out"] == {"x": 1, "y": 3}
    assert one("out: {<<: [{x: 1}, {x: 2, y: 2}]}")["out"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "line 2"),
        ("a: 1\n\tb: 2", "line 2"),
        ("a: 1\na: 2", 'line 2: "a" is given twice'),
        ('{"a": 1, "a": 2}', '"a" is given twice'),
        ('{"a": }', "document 1: line 1"),
        ('{"a": 1} x', "document 2: line 1"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": 1e999}', "1e999 is no number"),
        ('{"a": 18446744073709551616}', "more than 64 bits"),
        ("a: 18446744073709551616", "more than 64 bits"),
        ("a: " + "9" * 5000, "more than 64 bits"),
        ("a: .inf", "no number"),
        ("a: !!int x", "line 1"),
        ("? [a]\n: 1", "a key must be a text"),
        ("a: {<<: 7}", "<< wants a mapping"),
        ("a: &a [*a]", "nested too deeply"),
        ("a: *b", "line 1"),
        ("{" * 2000, "document 1"),
        ("a: " + "[" * 200 + "]" * 200, "nested too deeply"),
        ("a: \x07", "line|special|unacceptable|control"),
    ],
)
def test_refused(text, problem):
    with pytest.raises(DocumentError, match=problem) as caught:
        list(parse_documents(text))
    assert "\n" not in str(caught.value)


def test_aliases_of_aliases_end():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="too large"):
        list(parse_documents("\n".join(lines)))


@pytest.mark.parametrize("text", ["1e5", "yes", "0x1", "2026-01-31", "12:30", "null", "~", "007", "1_0", "", "=", "<<"])
def test_texts_that_look_like_something_else_are_quoted(text):
    assert one(write_yaml({"a": text})) == {"a": text}
    assert yaml.safe_load(write_yaml({"a": text})) == {"a": text}


def test_many_documents_and_lines():
    value = {"message": "one\ntwo\n", "items": [{"a": 1}], "empty": {}}
    assert write_yaml(value) == "message: |\n  one\n  two\nitems:\n- a: 1\nempty: {}\n"


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc", max_size=3), plain, min_size=1, max_size=3))
def test_json_and_yaml_read_what_was_written(value):
    assert one(json.dumps(value)) == value
    assert one(write_yaml(value)) == value
