"""The links of a running proxy, asked and hurt from any process of this user."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from chaos.control import Caller, Conversation, Refused, Unheard
from chaos.errors import LinksGone
from chaos.proxy.counters import Counters, Dropped
from chaos.proxy.link import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chaos.proxy.rule import Rule

TIMEOUT: Final = 10.0
"""Seconds that a proxy may take to answer: far more than it needs, on a busy machine too."""


class ProxyHeld:
    """A `Held`: a connection to the proxy. Rules are lifted when it ends, by whatever ends it."""

    def __init__(self, caller: Conversation) -> None:
        self._caller = caller
        self._last: tuple[int, tuple[Dropped, ...]] = (0, ())
        self._released = False

    def release(self) -> None:
        if self._released:
            return
        self._ask_used()
        self._released = True
        try:
            _ask(self._caller, "lift")
        finally:
            self._caller.close()

    def used(self) -> int:
        return self._ask_used()[0]

    def dropped(self) -> tuple[Dropped, ...]:
        return self._ask_used()[1]

    def _ask_used(self) -> tuple[int, tuple[Dropped, ...]]:
        """What the hold has come to; as it was in the end once it is released."""
        if not self._released:
            answer = _ask(self._caller, "used")
            self._last = (answer["used"], tuple(Dropped(**each) for each in answer["dropped"]))
        return self._last


class ProxyLinks:
    """A `Links` of the proxy that listens under a name. It holds no connection but that of each hold.

    Args:
        conversation: Begins one with a proxy that is elsewhere; raises Unheard.
    """

    def __init__(self, name: str, conversation: Callable[[], Conversation] | None = None) -> None:
        self._conversation = conversation or partial(Caller, name, timeout=TIMEOUT)

    def all(self) -> tuple[Link, ...]:
        return tuple(self._endpoints())

    def hold(self, rules: Mapping[Link, Rule]) -> ProxyHeld:
        caller = self._call()
        try:
            listed = [[link.source, link.destination, rule.document()] for link, rule in rules.items()]
            _ask(caller, "hold", rules=listed)
        except BaseException:
            caller.close()
            raise
        return ProxyHeld(caller)

    def counters(self, link: Link) -> Counters:
        with self._call() as caller:
            return Counters.parse(_ask(caller, "counters", link=[link.source, link.destination]))

    def endpoint(self, link: Link) -> str:
        return self._endpoints()[link]

    def _endpoints(self) -> dict[Link, str]:
        with self._call() as caller:
            return {Link(source, destination): at for source, destination, at in _ask(caller, "links")}

    def _call(self) -> Conversation:
        try:
            return self._conversation()
        except Unheard as error:
            raise _gone(error) from error


def _ask(caller: Conversation, what: str, **fields: Any) -> Any:
    try:
        return caller.ask(what, **fields)
    except Unheard as error:
        raise _gone(error) from error
    except Refused as error:
        raise KeyError(str(error)) from error


def _gone(error: Exception) -> LinksGone:
    return LinksGone(f"the proxy of the cluster's links does not answer ({error}): take the cluster down")
