"""Who asks: bearer tokens out of a file, and certificates that the listener has verified."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from component.handlers import ANONYMOUS, Request, Response, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from component.handlers import Authenticator

COLUMNS: Final = 3
"""A line's columns at least: token, user, uid; groups may follow."""

CHALLENGE: Final = ("WWW-Authenticate", 'Bearer realm="lockd"')


@dataclass(frozen=True, slots=True)
class Tokens:
    """Users by bearer token. The tokens themselves are not kept, and comparing takes no time that tells of them."""

    users: Mapping[bytes, str]

    def user_of(self, token: str) -> str | None:
        """Whose token it is; None: nobody's."""
        return self.users.get(_digest(token))


def read_tokens(path: Path) -> Tokens:
    """A token file in Kubernetes' form: lines of `token,user,uid,"group,group"`.

    Raises:
        ValueError: It can't be used; one line that names file and line, and shows no token.
    """
    users: dict[bytes, str] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file, strict=True)
            for row in lines:
                if not row or (len(row) == 1 and not row[0].strip()):
                    continue
                where = f"token file {path}, line {lines.line_num}"
                if len(row) < COLUMNS:
                    raise ValueError(f"{where}: {len(row)} columns: it must have token,user,uid at least")
                token, user = row[0].strip(), row[1].strip()
                if not token or not user:
                    raise ValueError(f"{where}: the {'user' if token else 'token'} is empty")
                if users.setdefault(_digest(token), user) != user:
                    raise ValueError(f"{where}: the same token is given to another user above")
    except OSError as error:
        raise ValueError(f"cannot read token file {path}: {error.strerror or error}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"token file {path} is not CSV in UTF-8: {error}") from error
    if not users:
        raise ValueError(f"token file {path} holds no token: nobody could ask")
    return Tokens(users)


def credentials(tokens: Callable[[], Tokens] | None) -> Authenticator:
    """Looks at the client's certificate, then at its bearer token.

    Who brings neither is anonymous; a token that isn't known is refused, whatever was asked for.

    Args:
        tokens: Gives those that are valid now; None: there are none.
    """

    def authenticate(request: Request) -> str | Response:
        if request.certified:
            return request.certified
        scheme, _, token = request.headers.get("authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return ANONYMOUS
        user = tokens().user_of(token.strip()) if tokens is not None else None
        return unauthorized("the bearer token is not known") if user is None else user

    return authenticate


def unauthorized(why: str) -> Response:
    """The refusal of somebody who must say, or say better, who they are."""
    return replace(text(f"401 unauthorized: {why}\n", status=401), headers=(CHALLENGE,))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
