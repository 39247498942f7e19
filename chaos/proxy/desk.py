"""Where the proxy is told what to do. What a connection has set up ends with that connection, however it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chaos import control
from chaos.proxy.link import Link
from chaos.proxy.loop import READ
from chaos.proxy.rule import Rule
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from chaos.control import Heard
    from chaos.proxy.exchange import Exchange
    from chaos.proxy.loop import Loop
    from chaos.proxy.rulebook import Hold


@dataclass(eq=False, slots=True)
class _Visitor:
    """One connection and what it has set up."""

    heard: Heard
    hold: Hold | None = None
    links: list[Link] = field(default_factory=list)


class Desk:
    """Answers in the loop's thread: an answer means that it is done."""

    def __init__(self, name: str, exchange: Exchange, loop: Loop) -> None:
        """Listen.

        Raises:
            OSError: Somebody listens under that name.
        """
        self._exchange = exchange
        self._loop = loop
        self._listener = control.listen(name)
        loop.watch(self._listener.fileno(), READ, self._take)

    def _take(self, _events: int) -> None:
        while (heard := control.take(self._listener)) is not None:
            visitor = _Visitor(heard)
            self._loop.watch(heard.socket.fileno(), READ, lambda _events, visitor=visitor: self._hear(visitor))  # type: ignore[misc]

    def _hear(self, visitor: _Visitor) -> None:
        questions = visitor.heard.questions()
        try:
            for question in questions or ():
                try:
                    answer = self._answer(visitor, question)
                except (KeyError, TypeError, ValueError, ConfigError, OSError) as error:
                    visitor.heard.refuse(f"{type(error).__name__}: {error}")
                else:
                    visitor.heard.answer(answer)
        except OSError:  # who doesn't take its answers has left
            questions = None
        if questions is None:
            self._leave(visitor)

    def _leave(self, visitor: _Visitor) -> None:
        self._loop.forget(visitor.heard.socket.fileno())
        visitor.heard.socket.close()
        self._lift(visitor)
        self._exchange.close(visitor.links)

    def _lift(self, visitor: _Visitor) -> None:
        hold, visitor.hold = visitor.hold, None
        if hold is not None:
            self._exchange.lift(hold)

    def _answer(self, visitor: _Visitor, question: dict[str, Any]) -> Any:
        match question:
            case {"ask": "open", "links": links}:
                opened = self._exchange.open([Link(*link) for link in links])
                visitor.links += opened
                return _listed(opened)
            case {"ask": "place", "name": name, "pid": pid, "target": target}:
                self._exchange.place(name, pid, target)
            case {"ask": "hold", "rules": rules}:
                hold = self._exchange.hold({Link(*link): Rule.parse(rule) for *link, rule in rules})
                self._lift(visitor)
                visitor.hold = hold
            case {"ask": "lift"}:
                self._lift(visitor)
            case {"ask": "used"}:
                return _used(visitor.hold)
            case {"ask": "links"}:
                return _listed(self._exchange.endpoints())
            case {"ask": "counters", "link": link}:
                return self._exchange.counters(Link(*link)).document()
            case _:
                raise ValueError("not a question")
        return None


def _used(hold: Hold | None) -> dict[str, Any]:
    if hold is None:
        return {"used": 0, "dropped": []}
    return {"used": hold.used, "dropped": [each.document() for each in hold.dropped]}


def _listed(endpoints: dict[Link, str]) -> list[list[str]]:
    return [[link.source, link.destination, endpoint] for link, endpoint in endpoints.items()]
