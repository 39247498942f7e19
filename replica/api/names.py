"""What names, namespaces and labels may look like. Each check answers None or one line that says what is wrong."""

from __future__ import annotations

import re
from typing import Final

NAME_LIMIT: Final = 253
LABEL_LIMIT: Final = 63

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_DNS_LABEL: Final = re.compile(_LABEL)
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def name_problem(text: str) -> str | None:
    """A name is a lower-case DNS subdomain of at most 253 bytes; so it holds no `/`."""
    if not text:
        return "must not be empty"
    if len(text.encode(errors="replace")) > NAME_LIMIT:
        return f"is longer than {NAME_LIMIT} bytes"
    if _SUBDOMAIN.fullmatch(text) is None:
        return "must be lower-case letters, digits, '-' and '.', and begin and end with a letter or digit"
    return None


def namespace_problem(text: str) -> str | None:
    """A namespace is a lower-case DNS label of at most 63 bytes."""
    if not text:
        return "must not be empty"
    if len(text) > LABEL_LIMIT:
        return f"is longer than {LABEL_LIMIT} bytes"
    if _DNS_LABEL.fullmatch(text) is None:
        return "must be lower-case letters, digits and '-', and begin and end with a letter or digit"
    return None


def label_value_problem(text: str) -> str | None:
    """A label's value is empty, or at most 63 letters, digits, `-`, `_`, `.` between letters or digits."""
    if len(text) > LABEL_LIMIT:
        return f"is longer than {LABEL_LIMIT} characters"
    if text and _QUALIFIED.fullmatch(text) is None:
        return "must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
    return None


def label_key_problem(text: str) -> str | None:
    """A label's key is a name of at most 63 characters, after an optional DNS subdomain and `/`."""
    prefix, slash, name = text.rpartition("/")
    if slash and (problem := name_problem(prefix)) is not None:
        return f"has a prefix that {problem}"
    if not name:
        return "must not be empty"
    return label_value_problem(name)
