from __future__ import annotations

import io
import logging

import pytest

from component import logs
from component.handlers import Request, with_info
from component.health import Check, Health, first_problem


def ask(health, target):
    response = with_info(health)(Request(method="GET", target=target))
    return response.status, response.body.decode()


def raising():
    raise TimeoutError("no reply")


GOOD = Check("informer-sync", lambda: None)
BAD = Check("leader-election", lambda: "no renewal\nfor 35 s")
RAISING = Check("etcd", raising)


def test_well_is_ok():
    assert ask(Health("healthz", [GOOD]), "/healthz") == (200, "ok")


def test_verbose_lists_the_checks():
    assert ask(Health("readyz", [GOOD]), "/readyz?verbose") == (
        200,
        "[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n",
    )


def test_a_failure_lists_the_checks_with_the_reason():
    assert ask(Health("healthz", [GOOD, BAD, RAISING]), "/healthz") == (
        500,
        (
            "[+]ping ok\n[+]informer-sync ok\n[-]leader-election failed: no renewal for 35 s\n"
            "[-]etcd failed: TimeoutError: no reply\nhealthz check failed\n"
        ),
    )


def test_a_check_counts_where_it_belongs_only():
    checks = [BAD, Check("shutdown", lambda: "stopping", on=("readyz",))]
    assert ask(Health("livez", checks), "/livez") == (200, "ok")
    assert "shutdown" not in ask(Health("healthz", checks), "/healthz")[1]
    assert "[-]shutdown failed: stopping" in ask(Health("readyz", checks), "/readyz")[1]


def test_one_check_by_name():
    health = Health("readyz", [GOOD, BAD])
    assert ask(health, "/readyz/informer-sync") == (200, "ok")
    assert ask(health, "/readyz/ping") == (200, "ok")
    assert ask(health, "/readyz/leader-election") == (500, "internal server error: no renewal\nfor 35 s\n")
    assert ask(health, "/readyz/absent")[0] == 404


def test_excluded_checks_are_not_made():
    made = []
    health = Health("healthz", [Check("slow", lambda: made.append(1)), BAD])
    status, body = ask(health, "/healthz?exclude=slow&exclude=leader-election&verbose")
    assert (status, made) == (200, [])
    assert "[+]slow excluded: ok\n[+]leader-election excluded: ok\n" in body


def test_what_cannot_be_excluded_is_said():
    assert (
        'warn: some health checks cannot be excluded: no matches for "x", "y"\n'
        in ask(Health("healthz", []), "/healthz?verbose&exclude=y&exclude=x")[1]
    )


@pytest.fixture
def lines():
    stream = io.StringIO()
    logs.setup(stream=stream)
    yield stream
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs.LineHandler)]


def test_a_change_is_logged_once(lines):
    problem = [None]
    health = Health("healthz", [Check("etcd", lambda: problem[0])])
    for state in (None, "down", "down", None, None):
        problem[0] = state
        ask(health, "/healthz")
        ask(health, "/healthz?exclude=etcd")
    assert lines.getvalue().count("WARNING health check failed path=/healthz check=etcd problem=down") == 1
    assert lines.getvalue().count("INFO health check recovered path=/healthz check=etcd") == 1


class TestTheFirstProblem:
    def test_it_is_one_of_its_path(self):
        checks = [GOOD, Check("etcd", lambda: "no leader", ("readyz",)), BAD]
        assert first_problem(checks, "readyz") == "no leader"
        assert first_problem(checks, "healthz") == "no renewal\nfor 35 s"

    def test_there_may_be_none(self):
        assert first_problem([GOOD], "readyz") is None

    def test_a_check_that_cannot_be_made_is_one(self):
        assert first_problem([RAISING], "readyz") == "TimeoutError: no reply"
