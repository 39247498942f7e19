from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import metrics as api
from opentelemetry.metrics import Observation
from prometheus_client.parser import text_string_to_metric_families

from component import metrics
from component.clock import SystemClock
from component.lifecycle import Group
from component.metrics import push

LONG = 30


@pytest.fixture(scope="module")
def running():
    return metrics.setup(instance="host_1", environ={})


def families(running):
    return {family.name: family for family in text_string_to_metric_families(running.render().decode())}


def test_importing_loads_no_sdk():
    code = """
        import sys
        import component.metrics
        print([name for name in sys.modules if name.startswith(("opentelemetry.sdk", "prometheus_client", "grpc"))])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_names_types_labels_and_buckets_are_those_given(running):
    meter = api.get_meter("component.test")
    attempts = meter.create_counter("test_schedule_attempts_total", description="Attempts, by result.")
    attempts.add(2, {"result": "scheduled", "profile": "default-scheduler"})
    duration = meter.create_histogram(
        "test_attempt_duration_seconds",
        unit="s",
        description="How long.",
        explicit_bucket_boundaries_advisory=metrics.exponential_buckets(0.001, 2, 3),
    )
    duration.record(0.0015)
    pending = meter.create_up_down_counter("test_pending_pods")
    pending.add(3, {"queue": "active"})
    pending.add(-1, {"queue": "active"})
    text = running.render().decode()
    assert '\ntest_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 2.0\n' in text
    assert "# HELP test_schedule_attempts_total Attempts, by result.\n" in text
    assert "# TYPE test_attempt_duration_seconds histogram\n" in text
    assert 'test_attempt_duration_seconds_bucket{le="0.001"} 0.0\n' in text
    assert 'test_attempt_duration_seconds_bucket{le="0.002"} 1.0\n' in text
    assert 'test_attempt_duration_seconds_bucket{le="0.004"} 1.0\n' in text
    assert 'test_attempt_duration_seconds_bucket{le="+Inf"} 1.0\n' in text
    assert "# TYPE test_pending_pods gauge\n" in text
    assert 'test_pending_pods{queue="active"} 2.0\n' in text
    assert "otel_scope" not in text
    assert "target_info" not in text


def test_what_is_observed_is_read_at_the_scrape(running):
    level = [1.0]
    api.get_meter("component.test").create_observable_gauge(
        "test_level", callbacks=[lambda _: [Observation(level[0], {"name": "x"})]]
    )
    assert families(running)["test_level"].samples[0].value == 1.0
    level[0] = 2.0
    assert families(running)["test_level"].samples[0].value == 2.0


def test_the_process_is_described(running):
    found = families(running)
    assert found["process_resident_memory_bytes"].samples[0].value > 1_000_000
    assert found["process_cpu_seconds"].samples[0].name == "process_cpu_seconds_total"
    assert found["process_start_time_seconds"].samples[0].value > 1_700_000_000
    assert found["process_open_fds"].samples[0].value > 2


def test_scrapes_at_the_same_time_wait_for_each_other():
    inside, most, waiting, never = [], [], threading.Event(), threading.Event()

    def generate():
        inside.append(1)
        waiting.wait(LONG)
        never.wait(0.05)  # the second scrape is on its way in
        most.append(len(inside))
        inside.pop()
        return b""

    running = metrics.Metrics(generate, None)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(running.render)
        second = pool.submit(lambda: (waiting.set(), running.render()))
        assert first.result() == second.result()[1] == b""
    assert most == [1, 1]


def test_the_last_push_is_bounded_whatever_the_reader_does(monkeypatch):
    class Hanging:
        def __init__(self, _exporter):
            self.hang = threading.Event()

        def shutdown(self, timeout_millis):
            self.hang.wait()

    monkeypatch.setattr(push, "PeriodicReader", Hanging)
    monkeypatch.setattr(push.LateExporter, "open", lambda _: None)
    group = Group("test")
    hanging = push.Push({}, group=group)
    assert hanging.shutdown(0.01, clock=SystemClock()) is False
    hanging.reader.hang.set()
    assert group.join(LONG) == ()


def test_a_second_set_up_returns_the_first(running):
    assert metrics.setup(instance="other", environ={}) is running


def test_without_a_collector_there_is_nothing_to_shut_down(running):
    assert running.shutdown(0.0) is True


def test_an_instrument_made_before_the_set_up_counts_from_then_on():
    code = """
        from opentelemetry import metrics as api
        from component import metrics
        counter = api.get_meter("early").create_counter("early_total")
        counter.add(1)
        running = metrics.setup(instance="i", environ={})
        counter.add(2)
        print([line for line in running.render().decode().splitlines() if line.startswith("early")])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.stdout, done.stderr) == ("['early_total 2.0']\n", "")


def test_exponential_buckets_are_what_a_person_would_write():
    assert metrics.exponential_buckets(0.001, 2, 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert metrics.exponential_buckets(0.0001, 2, 12)[-1] == 0.2048
    assert metrics.exponential_buckets(1e-5, 1.5, 3) == [1e-5, 1.5e-5, 2.25e-5]
