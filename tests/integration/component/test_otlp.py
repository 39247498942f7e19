"""Telemetry to a collector that works, is dead or hangs, each from a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from contextlib import ExitStack, contextmanager

from tests.harness.collector import Collector, dead_collector, hung_collector
from tests.harness.numbers import exports, of_export
from tests.harness.wait import eventually

LONG = 30
SPANS = """
import sys
from component import logs, tracing
from component.clock import SystemClock
logs.setup()
running = tracing.setup(service="s", instance="i")
for number in range(10):
    tracing.emit(f"span {number}", start=1.0, end=2.0)
clock = SystemClock()
begin = clock.now()
taken = running.shutdown(BOUND)
print(taken, clock.now() - begin)
"""


def run(code, endpoint, **more):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        env={"PATH": "", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **more},
    )


def test_spans_reach_a_collector():
    with Collector() as collector:
        done = run(SPANS.replace("BOUND", "20"), collector.endpoint)
        assert done.stdout.startswith("True "), done.stderr
        assert collector.spans == [f"span {number}" for number in range(10)]


def test_spans_gather_but_do_not_wait_for_the_end():
    code = """
        import threading
        from component import tracing
        tracing.setup(service="s", instance="i")
        tracing.emit("x", start=1.0, end=2.0)
        threading.Event().wait()
    """
    with (
        Collector() as collector,
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={"PATH": "", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "50"},
        ) as process,
    ):
        try:
            eventually(lambda: collector.spans == ["x"], within=LONG)
        finally:
            process.kill()


def test_a_dead_collector_is_told_once_with_the_reason():
    with dead_collector() as endpoint:
        done = run(SPANS.replace("BOUND", "20"), endpoint)
    assert done.stdout.startswith("False ")
    assert len(re.findall("telemetry is being lost", done.stderr)) == 1
    assert re.search("UNAVAILABLE|Deadline Exceeded", done.stderr)  # the latter on a machine that is busy
    assert done.stderr.count("Failed to export") == 1  # in the line of ours
    assert "Traceback" not in done.stderr


def test_a_hung_collector_does_not_keep_the_exit_beyond_its_bound():
    with hung_collector() as endpoint:
        done = run(SPANS.replace("BOUND", "0.3"), endpoint, OTEL_EXPORTER_OTLP_TIMEOUT="10")
    taken, seconds = done.stdout.split()
    assert taken == "False"
    assert 0.3 <= float(seconds) < 5  # the exporter itself would wait for its 10 s


@contextmanager
def bereft(code, **environment):
    """A process that counts on standard output, has told that its collector is gone, and went on to 100.

    Its `port` is where another collector may come.
    """
    with ExitStack() as stack:
        with dead_collector() as endpoint:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", textwrap.dedent(code)],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={"PATH": "", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **environment},
                )
            )
            stack.callback(process.kill)
            for line in process.stderr:
                if "telemetry is being lost" in line:
                    break
        for line in process.stdout:
            if int(line) > 100:
                break
        process.port = int(endpoint.rpartition(":")[2])
        yield process


def test_a_collector_that_comes_back_receives_what_followed():
    code = """
        import threading
        from component import logs, tracing
        logs.setup()
        tracing.setup(service="s", instance="i")
        number, never = 0, threading.Event()
        while not never.wait(0.02):
            tracing.emit(f"span {number}", start=1.0, end=2.0)
            number += 1
            print(number, flush=True)
    """
    with bereft(code, OTEL_BSP_SCHEDULE_DELAY="50") as process, Collector(port=process.port) as collector:
        eventually(lambda: len(collector.spans) >= 10, within=LONG)
        first = int(collector.spans[0].split()[1])
        numbers = [int(name.split()[1]) for name in collector.spans]
        assert first > 0
        assert numbers == list(range(first, first + len(numbers)))
        assert any("telemetry is taken again" in line for line in process.stderr)


METRICS = """
from opentelemetry import metrics as api
from component import logs, metrics
from component.clock import SystemClock
logs.setup()
running = metrics.setup(instance="i")
api.get_meter("t").create_counter("sent_total").add(1)
clock = SystemClock()
begin = clock.now()
done = running.shutdown(BOUND)
print(done, clock.now() - begin)
print(b"sent_total 1.0" in running.render())
"""


def test_metrics_reach_a_collector_and_prometheus_both():
    with Collector() as collector:
        done = run(METRICS.replace("BOUND", "20"), collector.endpoint)
        assert done.stdout.startswith("True "), done.stderr
        assert done.stdout.endswith("True\n")
        assert "sent_total" in collector.metrics


def test_metrics_to_a_hung_collector_do_not_keep_the_exit_beyond_its_bound():
    with hung_collector() as endpoint:
        done = run(METRICS.replace("BOUND", "0.3"), endpoint, OTEL_EXPORTER_OTLP_TIMEOUT="10")
    in_time, seconds, rendered = done.stdout.split()
    assert (in_time, rendered) == ("False", "True")
    assert 0.3 <= float(seconds) < 5


def test_metrics_to_a_dead_collector_are_told_once_with_the_reason():
    with dead_collector() as endpoint:
        done = run(METRICS.replace("BOUND", "20"), endpoint, OTEL_METRIC_EXPORT_INTERVAL="100")
    assert len(re.findall("telemetry is being lost", done.stderr)) == 1, done.stderr
    assert re.search("UNAVAILABLE|Deadline Exceeded", done.stderr)  # the latter on a machine that is busy
    assert done.stderr.count("Failed to export") == 1  # in the line of ours
    assert "Traceback" not in done.stderr


def test_a_collector_that_comes_back_receives_all_that_was_counted_meanwhile():
    code = """
        import threading
        from opentelemetry import metrics as api
        from component import logs, metrics
        from component.metrics.histogram import histogram
        logs.setup()
        running = metrics.setup(instance="i")
        counter, never = api.get_meter("t").create_counter("sent_total"), threading.Event()
        ours = histogram("ours", buckets=(1.0,))
        number = 0
        while not never.wait(0.02):
            counter.add(1)
            ours.record(0.5)
            number += 1
            print(number, flush=True)
    """
    with bereft(code, OTEL_METRIC_EXPORT_INTERVAL="100") as process, Collector(port=process.port) as collector:

        def later():
            """What was read after it came back: the first to arrive may have been on its way before."""
            read = [of_export(each) for each in exports(list(collector.requests), "i")]
            return [each for each in read if each["sent_total"][()] >= 100]

        eventually(lambda: len(later()) >= 2, within=LONG)
        first, second = later()[:2]
        assert first["sent_total"][()] <= second["sent_total"][()]
        assert 99 <= first["ours_count"][()] <= second["ours_count"][()]
        assert first["ours_sum"][()] == first["ours_count"][()] / 2
        assert second["lockd_telemetry_lost_total"][("pipeline", "metrics-otlp"),] >= 1
        assert any("telemetry is taken again" in line for line in process.stderr)
