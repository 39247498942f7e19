"""Health checks and how they are reported: `/healthz`, `/livez` and `/readyz` as Kubernetes' components have them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from component import logs
from component.handlers import Request, Response, not_found, text
from component.metrics import observed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KINDS = ("healthz", "livez", "readyz")

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold.

    Attributes:
        name: As in `/readyz/<name>`.
        probe: Gives None when all is well, else the problem in a few words; what it raises is a problem too. It runs
            in the thread of the request and is to return at once.
        on: Where it counts: of `healthz`, `livez` and `readyz`.
    """

    name: str
    probe: Callable[[], str | None]
    on: tuple[str, ...] = ("healthz", "readyz")


class Health:
    """Answers one of the paths, such as `/readyz`, and `/readyz/<check>` under it.

    `?verbose` lists the checks, `?exclude=<check>` leaves some out. Every failure is 500 and lists the checks.
    A check that begins to fail, or recovers, is logged once.
    """

    def __init__(self, kind: str, checks: Iterable[Check]) -> None:
        self._kind = kind
        self._checks = (Check("ping", lambda: None, KINDS), *(check for check in checks if kind in check.on))
        self._failing: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._asked: Counter[tuple[str, str]] = Counter()
        self._last: dict[str, bool] = {}
        observed.gauge(
            "kubernetes_healthcheck", self._read_last, description="1 if a health check held when it was last asked."
        )
        observed.counter(
            "kubernetes_healthchecks", self._read_asked, description="Health checks made, by what came of them."
        )

    def __call__(self, request: Request) -> Response:
        name = request.path.removeprefix(f"/{self._kind}").removeprefix("/")
        if not name:
            return self._all(request)
        found = next((check for check in self._checks if check.name == name), None)
        if found is None:
            return not_found(request)
        problem = self._problem(found)
        return text("ok") if problem is None else text(f"internal server error: {problem}\n", status=500)

    def _all(self, request: Request) -> Response:
        excluded = frozenset(request.query.get("exclude", ()))
        problems = {check.name: self._problem(check) for check in self._checks if check.name not in excluded}
        self._tell({name: problem for name, problem in problems.items() if problem is not None}, excluded)
        lines = [_line(check.name, problems) for check in self._checks]
        if unknown := sorted(excluded - {check.name for check in self._checks}):
            names = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if any(problems.values()):
            return text("\n".join([*lines, f"{self._kind} check failed\n"]), status=500)
        return text("\n".join([*lines, f"{self._kind} check passed\n"]) if "verbose" in request.query else "ok")

    def _tell(self, problems: dict[str, str], excluded: frozenset[str]) -> None:
        with self._lock:
            before = self._failing
            self._failing = frozenset(problems) | (before & excluded)
            now = self._failing
        for name in now - before:
            _log.warning("health check failed", path=f"/{self._kind}", check=name, problem=problems[name])
        for name in before - now:
            _log.info("health check recovered", path=f"/{self._kind}", check=name)

    def _problem(self, check: Check) -> str | None:
        problem = _said(check)
        with self._lock:
            self._last[check.name] = problem is None
            self._asked[check.name, "success" if problem is None else "error"] += 1
        return problem

    def _read_last(self) -> observed.Values:
        with self._lock:
            return [(int(held), {"name": name, "type": self._kind}) for name, held in self._last.items()]

    def _read_asked(self) -> observed.Values:
        with self._lock:
            return [
                (count, {"name": name, "type": self._kind, "status": status})
                for (name, status), count in self._asked.items()
            ]


def first_problem(checks: Iterable[Check], kind: str) -> str | None:
    """What is wrong on one of the paths, such as `readyz`, in a few words; None when all is well."""
    problems = (_said(check) for check in checks if kind in check.on)
    return next((problem for problem in problems if problem is not None), None)


def _said(check: Check) -> str | None:
    try:
        problem = check.probe()
    except Exception as error:  # noqa: BLE001 - a check that can't be made has failed
        problem = f"{type(error).__name__}: {error}"
    return problem


def _line(name: str, problems: dict[str, str | None]) -> str:
    if name not in problems:
        return f"[+]{name} excluded: ok"
    problem = problems[name]
    return f"[+]{name} ok" if problem is None else f"[-]{name} failed: {' '.join(problem.split())}"
