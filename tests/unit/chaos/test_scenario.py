from pathlib import Path

import pytest

from chaos.scenario import loading, schema, table
from chaos.scenario.faults import Registered
from component.strict import Malformed
from lockd.errors import ConfigError
from replica.api.documents import parse_documents
from tests.harness import jsonschema


class Faults:
    """Any fault but one."""

    def problems(self, action):
        if action.fault == "hug":
            yield "fault", "no fault is named 'hug'"


FAULTS = Faults()
LEAST = {"title": "t", "description": "d.", "method": [{"fault": "kill"}]}


def told(**more):
    with pytest.raises(Malformed) as caught:
        loading.decode(LEAST | more, FAULTS)
    return list(caught.value.problems)


def test_the_least_scenario():
    scenario = loading.decode(LEAST, FAULTS)
    (action,) = scenario.method
    assert (str(action.role), action.trigger.kind, action.lasts) == ("leader", "next", None)
    assert (scenario.trials, scenario.workload.kind, scenario.configuration.etcd) == (3, "steady", 3)


@pytest.mark.parametrize(
    ("more", "problems"),
    [
        ({"method": []}, ["method: is empty: list an action, or give drawn"]),
        ({"title": " "}, ["title: must not be empty"]),
        ({"trials": 0}, ["trials: 0 must be from 1 to 1000"]),
        ({"methods": []}, ["methods: unknown field, did you mean method?"]),
        ({"method": [{"fault": "hug"}]}, ["method[0].fault: no fault is named 'hug'"]),
        (
            {"method": [{"fault": "hug", "target": "leadr"}, {"fault": "hug", "at": "soon"}]},
            ["method[0].target: 'leadr'", "method[1].at: ", "method[0].fault: no fault", "method[1].fault: no fault"],
        ),
        (
            {"trials": 0, "drawn": {"actions": 1, "within": "1s", "among": [{"fault": "hug"}]}},
            ["trials: 0 must be", "drawn.among[0].fault: no fault"],
        ),
        (
            {"expectations": {"sometimes": ["luck"]}, "rollbacks": [{"fault": "hug"}], "trials": "x"},
            ["trials: ", "expectations.sometimes[0]: 'luck'", "rollbacks[0].fault: no fault"],
        ),
        (
            {"method": [{"fault": 1}, 2, {"fault": "hug", "target": 3}, {"fault": "hug", "parameters": 4}]},
            ["method[0].fault: 1 must", "method[1]: 2 must", "method[2].target: 3 must", "method[3].parameters: 4"],
        ),
        ({"method": {}, "expectations": []}, ["method: {} must be", "expectations: [] must be", "method: is empty"]),
        ({"configuration": {"etcd": 2}}, ["configuration.etcd: 2 must be 1 or 3"]),
        ({"configuration": {"replicas": 0}}, ["configuration.replicas: 0 must be from 1 to 50"]),
        ({"method": [{"fault": "kill", "target": "leadr"}]}, ["method[0].target: 'leadr' is no role: did you mean"]),
        ({"method": [{"fault": "kill", "target": "replica-4"}]}, ["method[0].target: replica-4 is nobody"]),
        ({"method": [{"fault": "kill", "target": "lockd"}]}, ["lockd is nobody: set configuration.daemons"]),
        ({"method": [{"fault": "kill", "target": "lock-holder"}]}, ["the workload is steady, not lock-only"]),
        ({"method": [{"fault": "kill", "at": "1s", "when": "leader"}]}, ["method[0].when: stands beside at"]),
        ({"method": [{"fault": "kill", "at": "2s..3"}]}, ["method[0].at: invalid length '3'"]),
        ({"method": [{"fault": "kill", "at": "5s..1s"}]}, ["method[0].at: '5s..1s' ends before it begins"]),
        ({"method": [{"fault": "kill", "at": "2 lease..1 lease"}]}, ["method[0].at: '2 lease..1 lease' ends before"]),
        ({"method": [{"fault": "kill", "delay": "9" * 400 + " lease"}]}, ["method[0].delay: invalid length '999"]),
        ({"method": [{"fault": "kill", "after": "bind-in-flight"}]}, ["after: 'bind-in-flight' belongs into when"]),
        ({"method": [{"fault": "kill", "when": "renewal"}]}, ["when: 'renewal' belongs into after"]),
        ({"method": [{"fault": "kill", "after": "dawn"}]}, ["'dawn' is no event: take one of leader-acquired"]),
        ({"method": [{"fault": "kill", "nth": 2}]}, ["method[0].nth: counts what after or when wait for"]),
        ({"method": [{"fault": "kill", "after": "bind", "nth": 0}]}, ["method[0].nth: 0 must be at least 1"]),
        ({"method": [{"fault": "kill", "after": "healed"}]}, ["method[0].after: 'healed' never comes"]),
        ({"method": [{"fault": "kill", "lasts": "long"}]}, ["method[0].lasts: invalid length 'long'"]),
        ({"rollbacks": [{"fault": "kill", "at": "2s"}]}, ["rollbacks[0].at: has no place here"]),
        ({"drawn": {"actions": 0, "within": "1s", "among": []}}, ["drawn.actions: 0", "drawn.among: is empty"]),
        (
            {"drawn": {"actions": 1, "within": "x", "among": [{"fault": "kill", "when": "leader"}]}},
            ["drawn.among[0].when: has no place here", "drawn.within: invalid length 'x'"],
        ),
        ({"workload": {"size": 3}}, ["workload.size: is no matter of steady: it knows rate, nodes"]),
        ({"workload": {"rate": 0}}, ["workload.rate: 0 must be from 0.1 to 1000"]),
        ({"workload": {"kind": "none"}, "method": [{"fault": "kill", "after": "bind"}]}, ["'bind' never comes"]),
        ({"expectations": {"sometimes": ["luck"]}}, ["expectations.sometimes[0]: 'luck' is no condition: take some"]),
        ({"steady-state-hypothesis": {"probes": []}}, ["steady-state-hypothesis.probes: is empty"]),
        (
            {"expectations": {"leader": "stays", "takeover": ["expiry"], "client-gap-at-most": "2"}},
            ["client-gap-at-most: invalid length '2'", "expectations.takeover: makes no sense where the leader stays"],
        ),
    ],
)  # fmt: skip
def test_every_problem_has_its_path_and_a_remedy(more, problems):
    found = told(**more)
    assert len(found) == len(problems), found
    assert all(part in line for part, line in zip(problems, found, strict=True)), found


def test_all_problems_of_a_file_are_told_at_once_each_with_its_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: t\ndescription: d.\nmethod: [{fault: kill, at: soon}]\ntrials: 0\n")
    with pytest.raises(ConfigError) as caught:
        loading.load(str(path), FAULTS)
    assert [line.partition(": ")[0] for line in caught.value.problems] == [str(path)] * 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title: [", "mine.yaml: line 2: did not find"),
        ("title: a\ntitle: b\n", "title"),
        ("---\ntitle: a\n---\ntitle: b\n", "mine.yaml: holds 2 documents: put one scenario into it"),
        ("just words", 'mine.yaml: "just words" must be an object'),
    ],
)
def test_what_is_no_scenario_at_all(text, told):
    with pytest.raises(ConfigError) as caught:
        loading.parse(text, "mine.yaml", FAULTS)
    assert told in caught.value.problems[0]


def test_a_file_that_is_not_there_and_a_name_that_is_none():
    with pytest.raises(ConfigError, match=r"none/such\.yaml: can't be read: No such file"):
        loading.load("none/such.yaml", FAULTS)
    with pytest.raises(ConfigError, match="kill-leadr: no such scenario: did you mean kill-leader"):
        loading.load("kill-leadr", FAULTS)


def test_the_shipped_schema_is_the_models():
    assert schema.shipped() == schema.generate(), "run `make gen`"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"workload": {"kind": "bursts", "size": 3, "every": "1 lease"}, "trials": 9, "tags": ["x"]},
        {"method": [{"fault": "pause", "at": "1 lease..5s"}, {"fault": "pause", "at": "2s..2s"}]},
        {"method": [{"fault": "pause", "at": "1s..0.5 lease", "lasts": "1 lease + 1s", "parameters": {"x": 1}}]},
        {"method": [{"fault": "kill", "when": "bind-in-flight", "nth": 2, "target": "standby[1]", "delay": "1ms"}]},
        {"drawn": {"actions": 3, "within": "2s", "among": [{"fault": "kill", "target": "etcd-majority"}]}},
        {"expectations": {"leader": "changes", "takeover": ["evidence"], "failover-at-most": "1 lease"}},
    ],
)
def test_what_the_model_takes_the_schema_takes(more):
    document = LEAST | more
    loading.decode(document, FAULTS)
    assert jsonschema.problems(document, schema.shipped()) == []


@pytest.mark.parametrize(
    "more",
    [
        {"methods": []},
        {"method": [{"fault": "kill", "whom": "leader"}]},
        {"method": [{"fault": "kill", "target": "leadr"}]},
        {"method": [{"fault": "kill", "at": "2s..3"}]},
        {"method": [{"fault": "kill", "after": "dawn"}]},
        {"method": [{"target": "leader"}]},
        {"method": [{"fault": "kill", "lasts": "long"}]},
        {"workload": {"kind": "flood"}},
        {"workload": {"rate": "fast"}},
        {"configuration": {"etcd": 2}},
        {"trials": "many"},
        {"steady-state-hypothesis": {"probes": ["luck"]}},
        {"expectations": {"sometimes": ["luck"]}},
    ],
)
def test_what_the_schema_refuses_the_model_refuses(more):
    document = LEAST | more
    assert jsonschema.problems(document, schema.shipped())
    with pytest.raises(Malformed):
        loading.decode(document, FAULTS)


@pytest.mark.parametrize("name", loading.names())
def test_each_shipped_scenario_fits_the_schema(name):
    path = loading.shipped_path(name)
    (document,) = parse_documents(path.read_text(encoding="utf-8"))
    assert jsonschema.problems(document.value, schema.shipped()) == []


def test_the_page_tells_what_is_shipped():
    path = Path(__file__).parents[3] / "docs" / "chaos.md"
    text = path.read_text(encoding="utf-8")
    assert table.filled(text) == text, "run `make gen`"
    assert all(f"| `{name}` |" in text for name in loading.names())


@pytest.mark.parametrize("name", loading.names())
def test_each_shipped_scenario_says_in_one_sentence_what_it_teaches(name):
    scenario = loading.load(name, Registered())
    assert scenario.description.endswith(".")
    assert scenario.description.count(". ") == 0
    assert scenario.tags
