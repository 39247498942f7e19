"""What `--watch` shows: each change as a line of a table, as a name, or as a document."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from component.console import note, say
from component.tables import GAP, one_line
from replica.api.codec import Undecodable, decode
from replica.api.documents import write_yaml
from replica.api.drafts import to_manifest
from replica.ctl.columns import Row, columns
from replica.ctl.following import ADDED, DELETED, MODIFIED, Known, follow
from replica.ctl.getting import Stored, is_selected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.ctl.fields import FieldSelector
    from replica.ctl.following import Change
    from replica.ctl.session import Session


@dataclass(slots=True, kw_only=True)
class Stream:
    """How to show objects one by one.

    Attributes:
        form: `table`, `wide`, `json` (one document a line), `yaml` or `name`.
        events: Show documents as `{type, object}`, with the type of the change.
    """

    kind: Kind
    form: str
    namespaces: bool
    headers: bool = True
    events: bool = False
    _widths: Sequence[int] = ()

    def show(self, found: Sequence[Stored], *, type_: str, now: float) -> None:
        """Show objects that changed in the same way."""
        match self.form:
            case "json" | "yaml":
                for each in found:
                    document = {"type": type_, "object": each.manifest} if self.events else each.manifest
                    self._document(document)
            case "name":
                for each in found:
                    say(f"{self.kind.qualified}/{each.object.name}")
            case _:
                for line in self._rows(found, now):
                    say(line)

    def _document(self, document: dict[str, Any]) -> None:
        if self.form == "json":
            say(msgspec.json.encode(document).decode())
        else:
            say(f"---\n{write_yaml(document)}", nl=False)

    def _rows(self, found: Sequence[Stored], now: float) -> list[str]:
        """Rows under the headers of the first; their columns grow as needed, and never shrink."""
        shown = columns(self.kind, wide=self.form == "wide", namespaces=self.namespaces)
        lines = [[one_line(cell(Row(each.object, each.manifest, now))) for _, cell in shown] for each in found]
        if not self._widths and lines:
            self._widths = [0] * len(shown)
            if self.headers:
                lines.insert(0, [name for name, _ in shown])
        before = ["x" * width for width in self._widths]
        self._widths = [max(map(len, column)) for column in zip(before, *lines, strict=True)]
        return [
            GAP.join(cell.ljust(width) for cell, width in zip(line, self._widths, strict=True)).rstrip()
            for line in lines
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which objects to show.

    Attributes:
        names: Only those; none: all.
        matches: A predicate on labels, or None.
        fields: The same for fields.
        wanted: A further condition.
    """

    names: Sequence[str] = ()
    matches: Callable[[Mapping[str, str]], bool] | None = None
    fields: FieldSelector | None = None
    wanted: Callable[[Stored], bool] = lambda _stored: True

    def takes(self, stored: Stored) -> bool:
        named = not self.names or stored.object.name in self.names
        return named and is_selected(stored, self.matches, self.fields) and self.wanted(stored)


class _Screen:
    """What is shown, and which objects whoever looks believes to be there."""

    def __init__(self, stream: Stream, choice: Choice) -> None:
        self._stream = stream
        self._choice = choice
        self._present: set[str] = set()

    def begin(self, kvs: Sequence[KeyValue], *, show: bool, now: float) -> None:
        """Take the objects there are."""
        read = [(kv.key, stored) for kv in kvs if (stored := self._read(kv)) is not None]
        first = [(key, stored) for key, stored in read if self._choice.takes(stored)]
        self._present.update(key for key, _ in first)
        if show:
            self._stream.show([stored for _, stored in first], type_=ADDED, now=now)

    def change(self, change: Change, *, now: float) -> None:
        """Show what became of an object."""
        key, stored = change.kv.key, self._read(change.kv)
        if stored is not None and change.type != DELETED and self._choice.takes(stored):
            type_ = MODIFIED if key in self._present else ADDED
            self._present.add(key)
            self._stream.show([stored], type_=type_, now=now)
        elif key in self._present:
            # What is chosen no more is gone, for who looks.
            self._present.discard(key)
            if stored is not None:
                self._stream.show([stored], type_=DELETED, now=now)

    def _read(self, kv: KeyValue) -> Stored | None:
        kind = self._stream.kind
        try:
            return Stored(kind, decode(kind, kv), to_manifest(kind, kv))
        except Undecodable as error:
            note(f"error: {error}")
            return None


def watch(
    here: Session,
    stream: Stream,
    namespace: str,
    choice: Choice,
    *,
    only_changes: bool = False,
    stop: threading.Event | None = None,
) -> None:
    """Show the objects there are, then each change, until `stop` is set (or for ever).

    Args:
        namespace: "" for all of them.
        only_changes: Leave out the objects there are.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    listing = here.store.every(stream.kind, namespace if stream.kind.namespaced else "")
    screen = _Screen(stream, choice)
    screen.begin(listing.kvs, show=not only_changes, now=here.now)
    changes = follow(
        here.gateway,
        here.store,
        stream.kind,
        namespace,
        known=Known(listing.kvs),
        revision=listing.revision,
        stop=stop or threading.Event(),
        interrupted=lambda error: note(f"the watch broke and resumes: {error}"),
    )
    for change in changes:
        screen.change(change, now=here.now)
