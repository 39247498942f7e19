from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import pytest
from prometheus_client.parser import text_string_to_metric_families

from component import metrics
from component.handlers import Request, with_info
from component.health import Check, Health
from component.metrics import observed

LONG = 60


@pytest.fixture(scope="module")
def values():
    running = metrics.setup(instance="host_1", environ={})

    def read(name):
        families = text_string_to_metric_families(running.render().decode())
        found = next((family for family in families if family.name == name), None)
        return {tuple(sorted(sample.labels.items())): sample.value for sample in found.samples} if found else {}

    return read


class Owner:
    def __init__(self, name):
        self.name = name
        self.count = 0
        observed.counter("test_owned", self.read, description="Of each owner.")

    def read(self):
        return [(self.count, {"owner": self.name})]


def test_every_owner_feeds_the_instrument(values):
    one, two = Owner("one"), Owner("two")
    one.count, two.count = 3, 4
    assert values("test_owned") == {(("owner", "one"),): 3.0, (("owner", "two"),): 4.0}


def test_an_owner_that_is_gone_is_read_no_more():
    code = """
        import gc
        from component import metrics
        from component.metrics import observed
        class Owner:
            def __init__(self):
                observed.gauge("owned", self.read)
            def read(self):
                return [(1, {"owner": "x"})]
        running = metrics.setup(instance="i", environ={})
        owner = Owner()
        print(b"owned{" in running.render())
        del owner
        gc.collect()
        print(b"owned{" in running.render())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.stdout, done.stderr) == ("True\nFalse\n", "")


@pytest.fixture
def collected():
    """A function that has the garbage collected; nobody else does meanwhile."""
    gc.disable()
    yield gc.collect
    gc.enable()


def test_the_process_and_its_python_are_described(values, collected):
    assert values("process_threads")[()] >= 1
    assert next(iter(values("python_info").values())) == 1.0
    before = values("python_gc_collections")[("generation", "2"),]
    collected()
    assert values("python_gc_collections")[("generation", "2"),] == before + 1
    assert len(values("lockd_build_info")) == 1


def test_health_checks_are_told_as_they_were_last_asked(values):
    problems = ["bad"]
    health = Health("readyz", [Check("test-check", lambda: problems[0])])

    def ask():
        with_info(health)(Request(method="GET", target="/readyz"))
        last = values("kubernetes_healthcheck")[("name", "test-check"), ("type", "readyz")]
        asked = {
            dict(labels)["status"]: count
            for labels, count in values("kubernetes_healthchecks").items()
            if ("name", "test-check") in labels
        }
        return last, asked

    assert ask() == (0.0, {"error": 1.0})
    problems[0] = None
    assert ask() == (1.0, {"error": 1.0, "success": 1.0})
