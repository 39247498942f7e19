"""Taints on the command line: `key=value:Effect`, `key:Effect`, and with a `-` at the end to remove them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import ConfigError, LockdError
from replica.api.names import label_key_problem, label_value_problem
from replica.api.taints import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

TAINTED, UNTAINTED, MODIFIED = "tainted", "untainted", "modified"

_FORM: Final = "KEY=VALUE:EFFECT, KEY:EFFECT, KEY:EFFECT- or KEY-"


class TaintRefused(LockdError):
    """A node's taints are not as the command line wants them to be."""


@dataclass(frozen=True, slots=True)
class TaintChange:
    """What is to become of a node's taints.

    Attributes:
        add: Taints as in a manifest.
        remove: (key, effect); an empty effect stands for all.
    """

    add: tuple[dict[str, str], ...]
    remove: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, words: Sequence[str]) -> TaintChange:
        """What words of a command line ask for.

        Raises:
            ConfigError: With every word that can't be read.
        """
        add, remove, problems = [], [], []
        for word in words:
            key, value, effect, problem = _parts(word.removesuffix("-"))
            removes = word.endswith("-")
            if not problem and not removes and not effect:
                problem = f"has no effect: one of {', '.join(EFFECTS)} after a colon"
            if problem:
                problems.append(f'taint "{word}" {problem} (wanted is {_FORM})')
            elif removes:
                remove.append((key, effect))
            else:
                add.append({"key": key, **({"value": value} if value else {}), "effect": effect})
        given = [(each["key"], each["effect"]) for each in add]
        for key, effect in dict.fromkeys(given):
            if given.count((key, effect)) > 1:
                problems.append(f"taint {key}:{effect} is given twice")
            if (key, effect) in remove or (key, "") in remove:
                problems.append(f"taint {key}:{effect} is both set and removed")
        if problems:
            raise ConfigError(tuple(problems))
        return cls(tuple(add), tuple(remove))

    @property
    def verdict(self) -> str:
        """What a node is after it."""
        return MODIFIED if self.add and self.remove else TAINTED if self.add else UNTAINTED

    def on(self, manifest: dict[str, Any], *, overwrite: bool) -> dict[str, Any] | None:
        """A node's manifest after the change, None if its taints are so already.

        Raises:
            TaintRefused: A taint to be removed isn't there, or one is there with another value and `overwrite` is off.
        """
        name = manifest["metadata"]["name"]
        spec = dict(manifest.get("spec") or {})
        before: list[dict[str, Any]] = list(spec.get("taints") or [])
        for key, effect in self.remove:
            if not any(_is(taint, key, effect) for taint in before):
                raise TaintRefused(f'node/{name}: taint "{key}{f":{effect}" if effect else ""}" not found')
        for taint in self.add:
            there = [each for each in before if _is(each, taint["key"], taint["effect"])]
            if there and not overwrite and _value(there[0]) != _value(taint):
                what = f"{taint['key']}:{taint['effect']}"
                raise TaintRefused(
                    f"node/{name}: it has taint {what} with another value: say --overwrite to replace it"
                )
        gone = (*self.remove, *((each["key"], each["effect"]) for each in self.add))
        kept = [each for each in before if not any(_is(each, key, effect) for key, effect in gone)]
        same = [next((old for old in before if _same(old, new)), new) for new in self.add]
        after = [*same, *kept]
        if len(after) == len(before) and all(each in before for each in after):
            return None
        spec["taints"] = after
        if not after:
            del spec["taints"]
        return {**manifest, "spec": spec}


def _parts(text: str) -> tuple[str, str, str, str]:
    """Key, value, effect, and what is wrong."""
    left, colon, effect = text.partition(":")
    key, _, value = left.partition("=")
    problem = label_key_problem(key)
    if problem is not None:
        return key, value, effect, f'has a key "{key}" that {problem}'
    problem = label_value_problem(value)
    if problem is not None:
        return key, value, effect, f'has a value "{value}" that {problem}'
    if colon and effect not in EFFECTS:
        return key, value, effect, f'has the effect "{effect}", which is none of {", ".join(EFFECTS)}'
    return key, value, effect, ""


def _is(taint: dict[str, Any], key: str, effect: str) -> bool:
    return taint.get("key") == key and effect in {"", taint.get("effect")}


def _value(taint: dict[str, Any]) -> str:
    return str(taint.get("value") or "")


def _same(old: dict[str, Any], new: dict[str, str]) -> bool:
    return _is(old, new["key"], new["effect"]) and _value(old) == _value(new)
