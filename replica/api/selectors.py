"""Selectors of labels and of nodes, compiled to predicates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    LabelPredicate = Callable[[Mapping[str, str]], bool]
    NodePredicate = Callable[[Mapping[str, str], str], bool]
    """Takes a node's labels and its name."""

LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS: Final = (*LABEL_OPERATORS, "Gt", "Lt")
NAME_FIELD: Final = "metadata.name"


class SelectorError(ValueError):
    """A selector that means nothing. Its message is one line."""


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One expression on a label (or, in `matchFields`, on a field)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """All of it must hold; an empty one matches everything. Where none is given (None), nothing matches."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def __hash__(self) -> int:
        return hash((frozenset(self.match_labels.items()), self.match_expressions))

    def requirements(self) -> tuple[Requirement, ...]:
        """All of it as expressions."""
        return (
            *(Requirement(key, "In", (value,)) for key, value in self.match_labels.items()),
            *self.match_expressions,
        )


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """All its expressions must hold; an empty term matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One of its terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


def requirement_problem(requirement: Requirement, operators: tuple[str, ...] = LABEL_OPERATORS) -> str | None:
    """None, or one line that says what is wrong with an expression."""
    count = len(requirement.values)
    match requirement.operator:
        case operator if operator not in operators:
            return f'operator "{operator}" is not one of {", ".join(operators)}'
        case "In" | "NotIn" if not count:
            return f"{requirement.operator} needs values"
        case "Exists" | "DoesNotExist" if count:
            return f"{requirement.operator} takes no values"
        case "Gt" | "Lt" if count != 1 or integer(requirement.values[0]) is None:
            return f"{requirement.operator} needs one value, an integer"
    return None


def compile_requirement(requirement: Requirement, operators: tuple[str, ...] = LABEL_OPERATORS) -> LabelPredicate:
    """A predicate on labels for one expression.

    Raises:
        SelectorError: It means nothing: see `requirement_problem`.
    """
    problem = requirement_problem(requirement, operators)
    if problem is not None:
        raise SelectorError(problem)
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":  # an object without the label is not in it either
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
    bound = int(requirement.values[0])
    above = requirement.operator == "Gt"

    def compare(labels: Mapping[str, str]) -> bool:
        number = integer(labels.get(key, ""))
        return number is not None and (number > bound if above else number < bound)

    return compare


def compile_selector(selector: LabelSelector | None) -> LabelPredicate:
    """A predicate on labels.

    Raises:
        SelectorError: An expression means nothing.
    """
    if selector is None:
        return lambda _labels: False
    return _every(tuple(compile_requirement(each) for each in selector.requirements()))


def compile_term(term: NodeSelectorTerm) -> NodePredicate:
    """A predicate on a node's labels and name for one term.

    Raises:
        SelectorError: An expression means nothing.
    """
    if not term.match_expressions and not term.match_fields:
        return lambda _labels, _name: False
    by_label = _every(tuple(compile_requirement(each, NODE_OPERATORS) for each in term.match_expressions))
    for each in term.match_fields:
        if each.key != NAME_FIELD:
            raise SelectorError(f'field "{each.key}" can\'t be selected: only {NAME_FIELD}')
    by_field = _every(tuple(compile_requirement(each, ("In", "NotIn")) for each in term.match_fields))
    if not term.match_fields:
        return lambda labels, _name: by_label(labels)
    return lambda labels, name: by_label(labels) and by_field({NAME_FIELD: name})


def compile_nodes(selector: NodeSelector | None) -> NodePredicate:
    """A predicate on a node's labels and name: True for every node where there is no selector.

    Raises:
        SelectorError: An expression means nothing.
    """
    if selector is None:
        return lambda _labels, _name: True
    terms = tuple(compile_term(term) for term in selector.node_selector_terms)
    return lambda labels, name: any(term(labels, name) for term in terms)


_SET: Final = re.compile(r"(?P<key>[^\s!=,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL: Final = re.compile(r"(?P<key>[^\s!=,()]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s!=,()]*)")
_EXISTS: Final = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=,()]+)")


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")


def parse_selector(text: str) -> LabelSelector:
    """A selector in kubectl's words: `app=web,tier!=db,env in (a,b),zone notin (c),ready,!old`.

    Raises:
        SelectorError: It can't be read.
    """
    found = []
    rest = text.strip()
    while rest:
        match = _SET.match(rest) or _EQUAL.match(rest) or _EXISTS.match(rest)
        tail = rest[match.end() :].lstrip() if match else ""
        if match is None or (tail and not tail.startswith(",")) or tail == ",":
            raise SelectorError(f'selector "{text}" can\'t be read at "{rest}"')
        found.append(_requirement(match))
        rest = tail[1:].lstrip()
    return LabelSelector(match_expressions=tuple(found))


def _requirement(match: re.Match[str]) -> Requirement:
    parts = match.groupdict()
    if "values" in parts:
        values = tuple(value.strip() for value in parts["values"].split(","))
        return Requirement(parts["key"], "In" if parts["operator"] == "in" else "NotIn", values)
    if "value" in parts:
        return Requirement(parts["key"], "NotIn" if parts["operator"] == "!=" else "In", (parts["value"],))
    return Requirement(parts["key"], "DoesNotExist" if parts["absent"] else "Exists")


def _every(predicates: tuple[LabelPredicate, ...]) -> LabelPredicate:
    if len(predicates) == 1:
        return predicates[0]
    return lambda labels: all(predicate(labels) for predicate in predicates)


def integer(text: str) -> int | None:
    """A label's value as a 64-bit integer, None where it is none."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
