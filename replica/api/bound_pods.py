"""What of a pod can't change once it has a node: all that its place was chosen by, as Kubernetes has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from replica.api.places import show
from replica.api.quantities import QuantityError
from replica.api.resources import parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FREE: Final = frozenset({"activeDeadlineSeconds"})
_CONTAINERS: Final = frozenset({"containers", "initContainers"})
_AMOUNTS: Final = frozenset({"requests", "limits", "overhead"})


def forbidden_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The changes of a bound pod's `spec` that aren't allowed, each with its path and both values.

    Free are images, `activeDeadlineSeconds`, and further tolerations.
    """
    found: list[str] = []
    for name in _names(before, after):
        if name in _FREE:
            continue
        old, new = before.get(name), after.get(name)
        if name == "tolerations" and _only_more(old, new):
            continue
        if name in _CONTAINERS:
            old, new = _without_images(old), _without_images(new)
        found += _differences(f"spec.{name}", old, new, amounts=name in _AMOUNTS)
    return found


def _differences(path: str, old: Any, new: Any, *, amounts: bool) -> Iterator[str]:
    """Where two values differ. What is empty counts as absent."""
    if isinstance(old, dict | None) and isinstance(new, dict | None):
        for name in _names(old or {}, new or {}):
            one, other = (old or {}).get(name), (new or {}).get(name)
            if not (amounts and _same_amount(name, one, other)):
                yield from _differences(f"{path}.{name}", one, other, amounts=name in _AMOUNTS)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other, amounts=False)
    elif old != new and not (_empty(old) and _empty(new)):
        yield f"{path} can't change from {_shown(old)} to {_shown(new)}"


def _names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys((*before, *after)))


def _empty(value: Any) -> bool:
    return value is None or value in ({}, [], "")


def _shown(value: Any) -> str:
    return "nothing" if _empty(value) else show(value)


def _same_amount(resource: str, old: Any, new: Any) -> bool:
    try:
        return parse_amount(resource, old) == parse_amount(resource, new)
    except (QuantityError, TypeError, AttributeError):
        return False


def _only_more(old: Any, new: Any) -> bool:
    return isinstance(new, list) and all(each in new for each in old or [])


def _without_images(containers: Any) -> Any:
    if not isinstance(containers, list):
        return containers
    return [
        {name: value for name, value in each.items() if name != "image"} if isinstance(each, dict) else each
        for each in containers
    ]
