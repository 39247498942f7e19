from __future__ import annotations

import json

import pytest

from component import handlers
from component.handlers import Request, Response, chain, text
from tests.harness.clock import ManualClock


def get(target, **more):
    return Request(method="GET", target=target, **more)


def test_the_first_filter_is_the_outermost():
    def mark(name):
        def around(inner):
            def handle(request):
                return text(f"{name}({inner(request).body.decode()})")

            return handle

        return around

    assert chain(lambda _: text("x"), mark("a"), mark("b"))(get("/")).body == b"a(b(x))"


def test_a_handler_that_raises_costs_its_request_only():
    def broken(_request):
        raise RuntimeError("secret")

    response = handlers.recovered(broken)(get("/"))
    assert response.status == 500
    assert b"secret" not in response.body


def test_path_and_query_are_taken_apart():
    seen = []
    handle = handlers.with_info(lambda request: seen.append(request) or text(""))
    handle(get("/readyz/a%20b?verbose&exclude=x&exclude=y"))
    assert seen[0].path == "/readyz/a b"
    assert seen[0].query == {"verbose": [""], "exclude": ["x", "y"]}


@pytest.mark.parametrize("target", ["http://[bad/", "/?" + "&".join("a" * 101)])
def test_a_target_that_makes_no_sense_is_refused(target):
    assert handlers.with_info(lambda _: text("x"))(get(target)).status == 400


def test_nothing_is_cached():
    assert ("Cache-Control", "no-cache, private") in handlers.uncached(lambda _: text("x"))(get("/")).headers


def test_the_user_is_found_before_it_is_decided_what_it_may():
    seen = []

    def authorize(request):
        seen.append(request.user)
        return text("no", status=403) if request.user == "b" else None

    handle = chain(
        lambda request: text(request.user),
        handlers.authenticated(lambda request: request.headers.get("who") or text("who?", status=401)),
        handlers.authorized(authorize),
    )
    assert handle(get("/", headers={"who": "a"})).body == b"a"
    assert handle(get("/", headers={"who": "b"})).status == 403
    assert handle(get("/")).status == 401
    assert seen == ["a", "b"]


def test_everyone_may_read_only():
    assert handlers.anyone(get("/")) == "system:anonymous"
    assert handlers.reading_only(get("/")) is None
    assert handlers.reading_only(Request(method="HEAD", target="/")) is None
    refusal = handlers.reading_only(Request(method="POST", target="/"))
    assert refusal.status == 405
    assert ("Allow", "GET, HEAD") in refusal.headers


def test_logging_changes_nothing():
    response = Response(status=418, body=b"x")
    assert handlers.logged(ManualClock())(lambda _: response)(get("/")) is response


def test_json_is_for_people_too():
    response = handlers.as_json({"leaseDuration": "15s", "name": "ü"})
    assert response.content_type == "application/json"
    assert json.loads(response.body) == {"leaseDuration": "15s", "name": "ü"}
    assert b'\n  "leaseDuration"' in response.body
