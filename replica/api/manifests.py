"""Manifests as files: YAML or JSON, many documents, lists of objects. All of it is checked before any of it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import LockdError
from lockd.ports import KeyValue
from replica.api.codec import DECODERS, Undecodable
from replica.api.documents import DocumentError, parse_documents
from replica.api.drafts import Draft
from replica.api.kinds import KINDS, kind_named
from replica.api.places import Place
from replica.api.validation import problems_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from replica.api.kinds import Kind

DEFAULT_NAMESPACE: Final = "default"
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Files of a folder that hold manifests."""

LARGEST_VALUE: Final = 1_400_000
"""Bytes of a stored object; a request to etcd holds 1.5 MiB."""


class ManifestError(LockdError):
    """Manifests that can't be used.

    Attributes:
        problems: Every problem, each one line: file, document, path and value.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def read_manifests(
    files: Sequence[str], *, stdin: Callable[[], bytes], namespace: str | None = None, recursive: bool = False
) -> tuple[Draft, ...]:
    """The objects of files, folders (their .yaml, .yml and .json files, by name) and `-` (standard input).

    Args:
        namespace: The one for all that has namespaces; None: `default`, for manifests that name none.
        recursive: Read the folders in folders too.

    Raises:
        ManifestError: With every problem of every file.
    """
    reading = _Reading(namespace)
    for file in files:
        for source, content in _contents(file, stdin, reading.problems, recursive=recursive):
            reading.text(content, source)
    drafts = reading.end()
    if not drafts:
        raise ManifestError((f"{', '.join(files)}: no objects found",))
    return drafts


def parse_manifests(content: bytes, source: str, *, namespace: str | None = None) -> tuple[Draft, ...]:
    """The objects of one text.

    Args:
        source: What to call it in messages.
        namespace: As in `read_manifests`.

    Raises:
        ManifestError: With every problem.
    """
    reading = _Reading(namespace)
    reading.text(content, source)
    return reading.end()


@dataclass(frozen=True, slots=True)
class _Reading:
    """What has been read so far, for one `--namespace`."""

    namespace: str | None
    problems: list[str] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)

    def text(self, content: bytes, source: str) -> None:
        try:
            for document in parse_documents(content.decode("utf-8-sig")):
                self._objects(document.value, f"{source}: document {document.index}")
        except UnicodeDecodeError as error:
            self.problems.append(f"{source}: not UTF-8 at byte {error.start}")
        except DocumentError as error:
            self.problems.append(f"{source}: {error}")

    def end(self) -> tuple[Draft, ...]:
        first: dict[tuple[str, str, str], Draft] = {}
        for draft in self.drafts:
            other = first.setdefault((draft.kind.kind, draft.namespace, draft.name), draft)
            if other is not draft:
                self.problems.append(f"{draft.source}: {draft.kind.qualified}/{draft.name} is also in {other.source}")
        if self.problems:
            raise ManifestError(self.problems)
        return tuple(self.drafts)

    def _objects(self, value: Any, source: str, path: str = "", implied: dict[str, Any] | None = None) -> None:
        """The object in a value, or the objects in a list of them (`v1 List`, or such as `PodList`)."""
        if not isinstance(value, dict):
            self._note(source, path.rstrip("."), "an object with apiVersion and kind is wanted")
            return
        value = {**(implied or {}), **value}
        name = value.get("kind")
        if isinstance(name, str) and name.endswith("List") and isinstance(value.get("items"), list):
            item_kind = name.removesuffix("List")
            inner = {"apiVersion": value.get("apiVersion"), "kind": item_kind} if item_kind else None
            for index, item in enumerate(value["items"]):
                self._objects(item, source, f"{path}items[{index}].", inner)
            return
        kind = self._kind(value, source, path)
        if kind is not None:
            self._object(kind, value, source, path)

    def _object(self, kind: Kind, value: dict[str, Any], source: str, path: str) -> None:
        found = problems_of(kind, value)
        if kind.namespaced and not found:
            found = self._elsewhere(value)
        if not found:
            at = f"{source}: {path.rstrip('.')}" if path else source
            draft = Draft.of(kind, value, namespace=self.namespace or DEFAULT_NAMESPACE, source=at)
            found = _unstorable(draft)
            if not found:
                self.drafts.append(draft)
        for problem in found:
            self._note(source, path, problem)

    def _kind(self, value: dict[str, Any], source: str, path: str) -> Kind | None:
        place = Place(value)
        name = place["kind"].text(required=True)
        kind = kind_named(name)
        if name and kind is None:
            known = ", ".join(sorted(each.kind for each in KINDS))
            place["kind"].wrong(f"is not a kind that is known here: {known}")
        version = place["apiVersion"].text(required=True)
        if kind is not None and version and version not in kind.versions:
            place["apiVersion"].wrong(f"is not {' or '.join(kind.versions)}, as {kind.kind} wants it")
        for problem in place.problems:
            self._note(source, path, problem)
        return None if place.problems else kind

    def _elsewhere(self, value: dict[str, Any]) -> list[str]:
        given = value["metadata"].get("namespace")
        if self.namespace is None or not given or given == self.namespace:
            return []
        return [f'metadata.namespace: "{given}" is not "{self.namespace}", as --namespace says']

    def _note(self, source: str, path: str, problem: str) -> None:
        joint = ": " if path and not path.endswith(".") else ""
        self.problems.append(f"{source}: {path}{joint}{problem}")


def _contents(
    file: str, stdin: Callable[[], bytes], problems: list[str], *, recursive: bool
) -> Iterator[tuple[str, bytes]]:
    if file == "-":
        yield "standard input", stdin()
        return
    path = Path(file)
    if path.is_dir():
        found = path.rglob("*") if recursive else path.iterdir()
        paths = sorted(each for each in found if each.suffix in SUFFIXES and each.is_file())
        if not paths:
            problems.append(f"{file}: no {', '.join(SUFFIXES)} file in this folder")
    else:
        paths = [path]
    for each in paths:
        try:
            yield str(each), each.read_bytes()
        except OSError as error:
            problems.append(f"{each}: {error.strerror or error}")


def _unstorable(draft: Draft) -> list[str]:
    """What the checks before may have left: the stored form is decoded as a replica would."""
    try:
        value = draft.created(uid="", at="")
        DECODERS[draft.kind](KeyValue(f"//{draft.namespace}/{draft.name}", value, 1, 1))
    except Undecodable as error:
        return [error.problem]
    except UnicodeEncodeError as error:
        return [f"a text can't be stored as UTF-8: {error.reason}"]
    if len(value) > LARGEST_VALUE:
        return [f"the object has {len(value)} bytes, and etcd takes {LARGEST_VALUE}"]
    return []
