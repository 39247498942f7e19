"""A place in a manifest that is being checked: its value, its path, and the list its problems go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from replica.api.names import label_key_problem, label_value_problem
from replica.api.quantities import QuantityError
from replica.api.resources import parse_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INT32: Final = 2**31 - 1
_SHOWN: Final = 60


def show(value: Any) -> str:
    """A value as JSON, cut to what a line can bear."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


class Place(msgspec.Struct, frozen=True):
    """A value and where it stands. Null counts as absent, as in Kubernetes.

    Attributes:
        path: Such as `spec.containers[0].resources.requests.cpu`; "" for the document.
        problems: Each a line: path, value and what is wrong. Shared by all places of a document.
        lost: It would be in something that is no object: that was told, so nothing is said of it.
    """

    value: Any
    path: str = ""
    problems: list[str] = msgspec.field(default_factory=list)
    lost: bool = False

    @property
    def present(self) -> bool:
        return self.value is not None

    def wrong(self, what: str) -> None:
        """Note that this value is wrong."""
        at = f"{self.path}: " if self.path else ""
        self.problems.append(f"{at}{show(self.value)} {what}" if self.present else f"{at}{what}")

    def __getitem__(self, name: str) -> Place:
        """A field of an object. What is no object has none; `object` says so."""
        path = f"{self.path}.{name}" if self.path else name
        if isinstance(self.value, dict):
            return Place(self.value.get(name), path, self.problems)
        return Place(None, path, self.problems, lost=self.lost or self.present)

    def object(self, *, required: bool = False) -> Place:
        """Check that it is an object, if it is there."""
        self._is(dict, "must be an object", required=required)
        return self

    def items(self, *, required: bool = False) -> Iterator[Place]:
        """The items of a list."""
        if self._is(list, "must be a list", required=required):
            for index, item in enumerate(self.value):
                yield Place(item, f"{self.path}[{index}]", self.problems)

    def entries(self) -> Iterator[tuple[str, Place]]:
        """The fields of an object, by name."""
        if self._is(dict, "must be an object"):
            for name, value in self.value.items():
                yield name, Place(value, f"{self.path}.{name}", self.problems)

    def text(
        self,
        *,
        required: bool = False,
        among: tuple[str, ...] = (),
        check: Callable[[str], str | None] | None = None,
    ) -> str:
        """A text, "" when it is absent or wrong.

        Args:
            among: The values it may have; an empty one counts as absent.
            check: Says what is wrong with it, or None.
        """
        if not self._is(str, "must be a text: put it in quotes", required=required):
            return ""
        value: str = self.value
        if not value and required:
            self.wrong("must not be empty")
        elif value and among and value not in among:
            self.wrong(f"must be one of {', '.join(among)}")
        elif check is not None and (problem := check(value)) is not None:
            self.wrong(problem)
        else:
            return value
        return ""

    def integer(self, low: int = -INT32 - 1, high: int = INT32, *, required: bool = False) -> int | None:
        """A whole number from `low` to `high`, None when it is absent or wrong."""
        if not self._is(int, "must be a whole number", required=required):
            return None
        value: int = self.value
        if not low <= value <= high:
            self.wrong(f"must be from {low} to {high}")
            return None
        return value

    def flag(self) -> None:
        """True or false, if it is there."""
        self._is(bool, "must be true or false")

    def texts(self, *, empty: bool = False) -> None:
        """A list of texts (empty ones too if said so), if it is there."""
        for item in self.items():
            if not (empty and item.value == ""):
                item.text(required=True)

    def labels(self) -> None:
        """Labels, if they are there."""
        for name, place in self.entries():
            if (problem := label_key_problem(name)) is not None:
                place.wrong(f'has a key "{name}" that {problem}')
            place.text(check=label_value_problem)

    def amounts(self) -> dict[str, int]:
        """The readable amounts of a resource list."""
        found = {}
        for resource, place in self.entries():
            if (amount := place.amount(resource)) is not None:
                found[resource] = amount
        return found

    def amount(self, resource: str) -> int | None:
        """A quantity of a resource, None when it is absent or wrong."""
        if self.present and (isinstance(self.value, bool) or not isinstance(self.value, str | int | float)):
            self.wrong("must be a quantity")
        elif self.present:
            try:
                return parse_amount(resource, self.value)
            except QuantityError as error:
                at = f"{self.path}: " if self.path else ""
                self.problems.append(f"{at}{error}")
        return None

    def _is(self, type_: type, what: str, *, required: bool = False) -> bool:
        if not self.present:
            if required and not self.lost:
                self.wrong("is required")
            return False
        if isinstance(self.value, type_) and (type_ is bool or not isinstance(self.value, bool)):
            return True
        self.wrong(what)
        return False
