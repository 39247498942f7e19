"""What Docker's engine is asked for, in its SDK's words, and what is made of its answers."""

from types import SimpleNamespace

import pytest
from docker.errors import APIError, NotFound

from chaos.cluster.interface import Membership
from chaos.compose.engine import KILLED, DockerEngine
from chaos.compose.gathering import gather
from chaos.compose.remedies import remove
from chaos.errors import TooSlow
from component.process import Gone
from tests.harness.containers import container
from tests.harness.hasty import HastyClock

REFUSED = APIError(
    "conflict", SimpleNamespace(status_code=409, url="", reason=""), explanation="removal is in progress"
)
MISSING = NotFound("no such thing", response=SimpleNamespace(status_code=404, url="", reason=""))


class Api:
    """Answers as it was told to, and notes what was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def __getattr__(self, name):
        def ask(*arguments, **named):
            self.asked.append((name, *arguments, named))
            answer = self.answers.get(name)
            answer = answer(*arguments) if callable(answer) else answer
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask


@pytest.fixture
def made(monkeypatch):
    """An engine, and what it asks."""

    def engine(**answers):
        api = Api(**answers)
        monkeypatch.setattr("docker.from_env", lambda **_: SimpleNamespace(api=api, ping=lambda: True))
        return DockerEngine(), api

    return engine


def inspected(**networks):
    return {
        "Id": "c",
        "Name": "/c",
        "State": {"Running": True, "StartedAt": "1970-01-01T00:00:01Z"},
        "Config": {},
        "NetworkSettings": {"Networks": networks},
    }


@pytest.mark.parametrize(
    ("fixed", "four", "six"),
    [((), None, None), (("172.18.0.5",), "172.18.0.5", None), (("172.18.0.5", "fd00::5"), "172.18.0.5", "fd00::5")],
)
def test_who_joins_again_has_the_addresses_that_its_owner_chose(made, fixed, four, six):
    engine, api = made(inspect_container=inspected())
    engine.join("c", Membership("n", ("web",), "172.18.0.5", fixed))
    assert api.asked[-1] == (
        *("connect_container_to_network", "c", "n"),
        {"aliases": ["web"], "ipv4_address": four, "ipv6_address": six},
    )


def test_a_command_whose_container_ended_meanwhile_was_killed(made):
    engine, _ = made(exec_create={"Id": "e"}, exec_start=b"", exec_inspect=MISSING)
    assert engine.run("c", ("true",)) == (KILLED, "")
    engine, _ = made(exec_create=MISSING)
    with pytest.raises(Gone):
        engine.run("c", ("true",))


def test_logs_are_those_since_a_moment(made):
    engine, api = made(logs=b"said")
    assert engine.logs("c", 1.5) == engine.logs("c") == b"said"
    assert [asked[-1] for asked in api.asked] == [{"since": 1.5}, {"since": None}]


def test_what_can_not_be_removed_keeps_no_other_from_it(made):
    engine, api = made(
        containers=[{"Id": "a"}, {"Id": "b"}],
        remove_container=lambda each, **_: REFUSED if each == "a" else None,
        networks=[{"Id": "n"}],
        volumes={"Volumes": None},
    )
    assert not engine.remove("p")
    assert [asked[:2] for asked in api.asked if asked[0].startswith("remove")] == [
        *(("remove_container", "a"), ("remove_container", "b"), ("remove_network", "n"))
    ]
    engine, _ = made(containers=[], networks=[], volumes={"Volumes": []})
    assert engine.remove("p")


def test_a_project_is_removed_until_nothing_comes_any_more():
    """Compose may have asked for a container just before its end."""
    told = []

    def look(found):
        told.append(found)
        return found

    answers = iter([False, True, False, True, True])
    remove(SimpleNamespace(remove=lambda _: look(next(answers))), "p", clock=HastyClock())
    assert told == [False, True, False, True, True]


def test_a_project_that_stays_is_one_line():
    with pytest.raises(TooSlow, match=r"^something of the compose project p is left: docker compose -p p down -v$"):
        remove(SimpleNamespace(remove=lambda _: False), "p", clock=HastyClock())


def test_logs_are_files_and_those_that_can_not_be_had_say_so(made, tmp_path):
    engine, _ = made(logs=lambda each: REFUSED if each == "a" else MISSING if each == "b" else b"said\n")
    gather(engine, [container(f"replica-{n}", "replica", id=n) for n in ("a", "b", "c")], tmp_path)
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    # of services whose names are no names of roles the order decides
    assert told == {
        "replica-1.log": "its logs can't be had: the Docker engine refused (removal is in progress)\n",
        "replica-3.log": "said\n",
    }
