"""What `get` shows: tables, names, or documents, of all that was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from component.console import FAILED, note, say
from replica.ctl.getting import document, lines
from replica.ctl.output import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.ctl.getting import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How to show what was found.

    Attributes:
        form: `table`, `wide`, `json`, `yaml` or `name`.
        namespace: "" for all of them.
        headers: Do tables have headers?
        single: Was one object named? A document then holds it alone.
    """

    form: str
    namespace: str
    headers: bool = True
    single: bool = False

    def show(self, found: Sequence[Found], *, now: float) -> None:
        """Show it all on stdout, and on stderr what there isn't; exits 1 if a name isn't there or a value unreadable.

        Args:
            now: Seconds since 1970.
        """
        empty = not any(each.objects for each in found)
        problems = [problem for each in found for problem in each.problems]
        match self.form:
            case "json" | "yaml":
                if not (empty and self.single):
                    show(document(found, single=self.single), self.form)
            case "name":
                for each in found:
                    for stored in each.objects:
                        say(f"{each.kind.qualified}/{stored.object.name}")
            case _:
                self._tables([each for each in found if each.objects], now, several=len(found) > 1)
        if empty and not problems and self.form not in {"json", "yaml"}:
            spaced = self.namespace and all(each.kind.namespaced for each in found)
            note(f"No resources found in {self.namespace} namespace." if spaced else "No resources found")
        for problem in problems:
            note(problem)
        if problems:
            raise SystemExit(FAILED)

    def _tables(self, found: Sequence[Found], now: float, *, several: bool) -> None:
        for index, each in enumerate(found):
            if index:
                say()
            shown = lines(
                each,
                now=now,
                wide=self.form == "wide",
                namespaces=not self.namespace,
                headers=self.headers,
                prefixed=several,
            )
            say("\n".join(shown))
