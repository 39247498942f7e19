"""Who may ask for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component.authentication import unauthorized
from component.handlers import ANONYMOUS, Request, Response, reading_only

if TYPE_CHECKING:
    from collections.abc import Iterable

    from component.handlers import Authorizer


def path_problems(paths: Iterable[str]) -> tuple[str, ...]:
    """What is wrong with paths for `known_users`, one line each."""
    return tuple(
        f"{path!r} is no path to allow: it begins with / and has a * at most at its end"
        for path in paths
        if not path.startswith("/") or "*" in path[:-1]
    )


def known_users(always_allow: Iterable[str]) -> Authorizer:
    """Whoever has said who they are may read; everyone may read the paths that are always allowed.

    Args:
        always_allow: Whole paths; with a `*` at its end, all that begin with what stands before it.
    """
    kept = tuple(always_allow)
    exact = frozenset(path for path in kept if not path.endswith("*"))
    prefixes = tuple(path[:-1] for path in kept if path.endswith("*"))

    def authorize(request: Request) -> Response | None:
        if (refusal := reading_only(request)) is not None:
            return refusal
        if request.user != ANONYMOUS or request.path in exact or request.path.startswith(prefixes):
            return None
        return unauthorized("this path needs a bearer token or a client certificate")

    return authorize
