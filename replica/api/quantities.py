"""Kubernetes quantities, exactly: `100m`, `1.5Gi`, `1e3`, `2E`.

A quantity is a decimal number with a suffix: binary (`Ki` to `Ei`), decimal (`n` to `E`), or an exponent (`e3`, `E-2`).
Amounts are kept as integers in the unit that scheduling counts in, rounded up as Kubernetes rounds.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

LARGEST: Final = 2**63 - 1
"""An amount beyond it counts as this much, as in Kubernetes."""

_FORM: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<power>[+-]?[0-9]+))?"
)
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALE: Final = {
    "": Fraction(1),
    **{
        suffix: Fraction(10) ** (3 * power)
        for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
    },
    **{suffix: Fraction(1024) ** power for power, suffix in enumerate(_BINARY, 1)},
}
_POWER_LIMIT: Final = 100
_LENGTH_LIMIT: Final = 64


class QuantityError(ValueError):
    """The text is no quantity, or not one that is allowed here. Its message is one line that names the text."""


def parse_quantity(text: str) -> Fraction:
    """The exact number that a quantity stands for; negative ones are read too.

    Raises:
        QuantityError: The text is no quantity.
    """
    match = _FORM.fullmatch(text) if len(text) <= _LENGTH_LIMIT else None
    if match is None or not (match["whole"] or match["part"]):
        raise QuantityError(
            f'"{text[:_LENGTH_LIMIT]}" is no quantity: a number with m, k, M, G, Ki, Mi, Gi ... or an exponent'
        )
    part = match["part"] or ""
    number = Fraction(int(match["whole"] + part or "0"), 10 ** len(part))
    if match["power"]:
        power = int(match["power"])
        if abs(power) > _POWER_LIMIT:
            raise QuantityError(f'"{text}" has an exponent beyond {_POWER_LIMIT}')
        number *= Fraction(10) ** power
    else:
        number *= _SCALE[match["suffix"] or ""]
    return -number if match["sign"] == "-" else number


def _amount(text: str, unit: int) -> int:
    number = parse_quantity(text)
    if number < 0:
        raise QuantityError(f'"{text}" is negative')
    scaled = number * unit
    return min(-(-scaled.numerator // scaled.denominator), LARGEST)


@lru_cache(maxsize=4096)
def cpu_milli(text: str) -> int:
    """Millicores, rounded up.

    Raises:
        QuantityError: No quantity, or a negative one.
    """
    return _amount(text, 1000)


@lru_cache(maxsize=4096)
def amount(text: str) -> int:
    """Bytes (or pieces), rounded up.

    Raises:
        QuantityError: No quantity, or a negative one.
    """
    return _amount(text, 1)


@lru_cache(maxsize=4096)
def whole(text: str) -> int:
    """Pieces of what can't be split, such as pods and devices.

    Raises:
        QuantityError: No quantity, a negative one, or not a whole number.
    """
    number = parse_quantity(text)
    if number.denominator != 1:
        raise QuantityError(f'"{text}" must be a whole number')
    return _amount(text, 1)


def format_milli(milli: int) -> str:
    """Millicores in the shortest form: 1500 is `1500m`, 2000 is `2`."""
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def format_bytes(count: int) -> str:
    """Bytes with the largest binary suffix that divides them: 1610612736 is `1536Mi`."""
    if count == 0:
        return "0"
    power = min(((count & -count).bit_length() - 1) // 10, len(_BINARY))
    return f"{count >> (10 * power)}{_BINARY[power - 1]}" if power else str(count)
