"""What the ways to deploy say to the commands is what the commands know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from chaos.ctl import main as chaosctl
from component.durations import parse_duration
from lockd.daemon.command import main as lockd
from replica.commands import main as replica

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = {"replica": replica, "lockd": lockd, "chaosctl": chaosctl}
COMPOSE = ("docker-compose.yml", "docker-compose.tls.yml")
KUBERNETES = ROOT / "docs" / "examples" / "kubernetes" / "replicas.yaml"
VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")


def services(name):
    return yaml.safe_load((ROOT / "compose" / name).read_text(encoding="utf-8"))["services"]


def kubernetes():
    return list(yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")))


def commands():
    """Each command line that a way to deploy has, with where it stands."""
    for file in COMPOSE:
        for name, service in services(file).items():
            for words in (service.get("command"), service.get("healthcheck", {}).get("test", ["CMD"])[1:]):
                if words and words[0] in COMMANDS:
                    yield f"{file} {name} {words[1]}", [VARIABLE.sub(r"\1", word) for word in words]
    (container,) = kubernetes()[0]["spec"]["template"]["spec"]["containers"]
    yield "kubernetes", container["args"]
    units = re.findall(r"^ExecStart=/opt/lockd/bin/((?:.*\\\n)*.*)$", page("deploy.md"), re.MULTILINE)
    for number, line in enumerate(units):
        yield f"unit {number}", line.replace("\\\n", " ").split()


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


LINES = dict(commands())


def test_all_of_them_are_looked_at():
    assert len(LINES) >= 13
    assert {line[0] for line in LINES.values()} == set(COMMANDS)


@pytest.mark.parametrize("words", LINES.values(), ids=LINES)
def test_each_flag_is_one_of_its_command(words):
    program, name, *flags = words
    command = COMMANDS[program].get_command(None, name)
    known = {flag: option for option in command.params for flag in option.opts}
    for flag in flags:
        option, _, value = flag.partition("=")
        assert option in known, flag
        assert value or known[option].is_flag, flag


@pytest.mark.parametrize("file", COMPOSE)
def test_what_replicas_are_told_differs_by_their_names_alone(file):
    told = {}
    for name in ("replica-1", "replica-2", "replica-3"):
        service = services(file)[name]
        assert f"--presence-advertise={name}:10260" in service["command"]
        told[name] = [word.replace(name, "NAME") for word in service["command"]]
    assert told["replica-1"] == told["replica-2"] == told["replica-3"]


def test_the_grace_is_above_drain_and_exit_bound():
    run = replica.get_command(None, "run")
    defaults = {option.name: option.default for option in run.params}
    lease, renew = (parse_duration(defaults[name]) for name in ("lease_duration", "renew_deadline"))
    needed = parse_duration(defaults["drain_timeout"]) + min(2.0, (lease - renew) / 2)
    graces = [parse_duration(services(COMPOSE[0])[name]["stop_grace_period"]) for name in ("replica-1", "lockd")]
    graces.append(kubernetes()[0]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"])
    graces += [float(text) for text in re.findall(r"^TimeoutStopSec=(\d+)$", page("deploy.md"), re.MULTILINE)]
    assert len(graces) == 5
    assert min(graces) > 1.5 * needed


def test_pods_of_kubernetes_are_selected_by_all_that_select_them():
    deployment, budget, policy = kubernetes()
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    selectors = [deployment["spec"]["selector"], budget["spec"]["selector"], policy["spec"]["podSelector"]]
    selectors += [each["labelSelector"] for each in deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]]
    assert all(selector["matchLabels"].items() <= labels for selector in selectors)


def test_the_durations_that_are_advised_are_taken_and_bear_the_outage_that_is_told():
    rows = re.findall(
        r"^\| [^|]*\| ([\d.]+ m?s), ([\d.]+ m?s) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
        page("deploy.md"),
        re.MULTILINE,
    )
    assert len(rows) == 5
    for _, election, *durations in rows:
        retry, renew, lease, outage = (parse_duration(text.replace(" ", "")) for text in durations)
        assert lease > renew > 1.2 * retry
        assert renew + min(2.0, (lease - renew) / 2) < lease
        assert outage == pytest.approx(renew - retry - max(0.25, renew / 8))
        assert outage > parse_duration(election.replace(" ", ""))
