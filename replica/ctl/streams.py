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
from replica.ctl.following import DELETED, Known, follow
from replica.ctl.getting import Stored, is_selected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockd.errors import StoreError
    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
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


def watch(
    here: Session,
    stream: Stream,
    namespace: str,
    *,
    names: Sequence[str] = (),
    matches: Callable[[Mapping[str, str]], bool] | None = None,
    fields: Any = None,
    wanted: Callable[[Stored], bool] = lambda _stored: True,
    only_changes: bool = False,
    stop: threading.Event | None = None,
) -> None:
    """Show the objects there are, then each change, until `stop` is set (or for ever).

    Args:
        namespace: "" for all of them.
        names: Only those; none: all.
        wanted: A further condition.
        only_changes: Leave out the objects there are.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    kind = stream.kind
    listing = here.store.every(kind, namespace if kind.namespaced else "")
    present: set[str] = set()

    def chosen(kv: KeyValue) -> Stored | None:
        try:
            stored = Stored(kind, decode(kind, kv), to_manifest(kind, kv))
        except Undecodable as error:
            note(f"error: {error}")
            return None
        named = not names or stored.object.name in names
        return stored if named and is_selected(stored, matches, fields) and wanted(stored) else None

    def changed(change: Change) -> None:
        stored = chosen(change.kv)
        key, type_ = change.kv.key, change.type
        if stored is None or type_ == DELETED:
            # What is selected no more is gone, for who looks.
            was = key in present
            present.discard(key)
            if was and stored is not None:
                stream.show([stored], type_=DELETED, now=here.now)
            return
        present.add(key)
        stream.show([stored], type_=type_, now=here.now)

    first = [(kv.key, stored) for kv in listing.kvs if (stored := chosen(kv)) is not None]
    present.update(key for key, _ in first)
    if not only_changes:
        stream.show([stored for _, stored in first], type_="ADDED", now=here.now)

    def interrupted(error: StoreError) -> None:
        note(f"the watch broke and resumes: {error}")

    changes = follow(
        here.gateway,
        here.store,
        kind,
        namespace,
        known=Known(listing.kvs),
        revision=listing.revision,
        stop=stop or threading.Event(),
        interrupted=interrupted,
    )
    for change in changes:
        changed(change)
