"""The provider is the process's own, so what depends on it being absent runs in a process of its own."""

from __future__ import annotations

import io
import json
import logging
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult

from component import logs, tracing
from component.tracing import environment
from component.tracing.provider import Feed
from component.tracing.traceparent import parse
from tests.harness.wait import eventually

NOTHING = {}
LONG = 30


def spans_in(path):
    """Spans of a trace file by name, with their attributes as a plain dict under `values`."""
    found = {}
    for line in path.read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    span["values"] = values(span)
                    found[span["name"]] = span
    return found


def values(holder):
    return {item["key"]: next(iter(item["value"].values())) for item in holder.get("attributes", ())}


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        **options,
    )


@pytest.fixture
def traced(tmp_path):
    path = tmp_path / "trace.jsonl"
    running = tracing.setup(service="replica", instance="host_1", trace_file=path, version="1.2", environ=NOTHING)
    yield running, path
    assert running.shutdown(5)


def ended(traced):
    running, path = traced
    assert running.shutdown(5)
    return spans_in(path)


def test_importing_and_having_nothing_to_do_loads_no_sdk():
    done = run("""
        import sys
        from component import tracing
        running = tracing.setup(service="s", instance="i", environ={})
        with running.tracer("t").start_as_current_span("x") as span:
            assert not span.is_recording()
            assert tracing.current_traceparent() is None
        assert tracing.emit("x", start=1.0, end=2.0) is None
        assert running.shutdown(0.0) and not running.enabled
        heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "grpc", "google.protobuf", "numpy")
        print([name for name in sys.modules if name.startswith(heavy)])
    """)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_writing_a_file_loads_no_exporter(tmp_path):
    done = run(f"""
        import sys, pathlib
        from component import tracing
        path = pathlib.Path({str(tmp_path / "t")!r})
        running = tracing.setup(service="s", instance="i", trace_file=path, environ={{}})
        tracing.emit("x", start=1.0, end=2.0)
        assert running.shutdown(10)
        print([name for name in sys.modules if name.startswith(("opentelemetry.exporter", "grpc", "google.protobuf"))])
    """)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_span_is_in_the_file_once_it_ended(traced):
    running, path = traced
    with running.tracer("lockd.elector").start_as_current_span("renew", attributes={"token": 7}):
        pass
    span = eventually(lambda: spans_in(path).get("renew"), within=5)
    assert span["values"] == {"token": "7"}


def test_what_ended_before_a_kill_is_in_the_file(tmp_path):
    path = tmp_path / "trace.jsonl"
    code = f"""
        import pathlib, threading
        from component import tracing
        running = tracing.setup(service="s", instance="i", trace_file=pathlib.Path({str(path)!r}), environ={{}})
        for number in range(200):
            tracing.emit(f"span {{number}}", start=1.0, end=2.0)
        threading.Event().wait()
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) as process:
        eventually(lambda: path.exists() and len(spans_in(path)) == 200, within=LONG)
        process.send_signal(signal.SIGKILL)
        assert process.wait(LONG) == -signal.SIGKILL
    assert len(spans_in(path)) == 200


def test_emit_makes_exactly_the_span_that_was_named(traced):
    name, parent = tracing.new_traceparent(), tracing.new_traceparent()
    told = tracing.emit(
        "leader_election.started_leading",
        start=1_700_000_000.25,
        end=1_700_000_000.5,
        traceparent=name,
        links=[(parent, {"link.kind": "predecessor"}), ("bad", {})],
        attributes={"identity": "host_1", "absent": None},
    )
    assert told == name
    span = ended(traced)["leader_election.started_leading"]
    wanted = parse(name)
    assert (span["traceId"], span["spanId"]) == (f"{wanted.trace_id:032x}", f"{wanted.span_id:016x}")
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == ("1700000000250000000", "1700000000500000000")
    assert "parentSpanId" not in span
    assert span["values"] == {"identity": "host_1"}
    assert [(link["traceId"], values(link)) for link in span["links"]] == [
        (f"{parse(parent).trace_id:032x}", {"link.kind": "predecessor"})
    ]


def test_emit_makes_a_child_of_a_span_elsewhere(traced):
    parent = tracing.new_traceparent()
    told = tracing.emit("child", start=1.0, end=2.0, parent=parent)
    span = ended(traced)["child"]
    assert span["traceId"] == f"{parse(parent).trace_id:032x}"
    assert span["parentSpanId"] == f"{parse(parent).span_id:016x}"
    assert span["spanId"] == f"{parse(told).span_id:016x}"


def test_a_parent_of_another_trace_than_the_name_becomes_a_link(traced):
    name, parent = tracing.new_traceparent(), tracing.new_traceparent()
    assert tracing.emit("x", start=1.0, end=2.0, traceparent=name, parent=parent) == name
    span = ended(traced)["x"]
    assert "parentSpanId" not in span
    assert [values(link) for link in span["links"]] == [{"link.kind": "parent"}]


def test_emit_tells_an_error_and_never_ends_before_it_began(traced):
    tracing.emit("x", start=5.0, end=4.0, error=TimeoutError("no reply"))
    span = ended(traced)["x"]
    assert span["status"] == {"code": 2, "message": "no reply"}
    assert span["values"] == {"error.type": "TimeoutError"}
    assert span["endTimeUnixNano"] == span["startTimeUnixNano"]


def test_emit_does_not_inherit_the_span_around_it(traced):
    with traced[0].tracer("t").start_as_current_span("around"):
        tracing.emit("x", start=1.0, end=2.0)
    assert "parentSpanId" not in ended(traced)["x"]


def test_names_are_not_left_behind_for_the_next_span(traced):
    name = tracing.new_traceparent()
    assert tracing.emit("one", start=1.0, end=2.0, traceparent=name) == name
    assert tracing.emit("two", start=1.0, end=2.0) != name


def test_a_caller_elsewhere_can_be_joined(traced):
    caller = tracing.caller({"TRACEPARENT": tracing.new_traceparent(), "TRACESTATE": "vendor=1"})
    with tracing.attached(caller), traced[0].tracer("t").start_as_current_span("joined"):
        assert parse(tracing.current_traceparent()).trace_id == parse(caller.traceparent).trace_id
    span = ended(traced)["joined"]
    assert span["parentSpanId"] == f"{parse(caller.traceparent).span_id:016x}"
    assert span["traceState"] == "vendor=1"
    assert span["flags"] == 0x300


@pytest.mark.parametrize("environ", [{}, {"TRACEPARENT": ""}, {"TRACEPARENT": "nonsense"}])
def test_a_bad_caller_is_none(environ):
    assert tracing.caller(environ) is None
    with tracing.attached(tracing.caller(environ)):
        assert tracing.current_traceparent() is None


def test_an_emitted_child_carries_the_tracestate_of_its_caller(traced):
    caller = tracing.Caller(tracing.new_traceparent(), "vendor=1,other=2")
    name = tracing.new_traceparent(caller)
    assert tracing.emit("anchor", start=1.0, end=2.0, traceparent=name, parent=caller) == name
    span = ended(traced)["anchor"]
    assert span["parentSpanId"] == f"{parse(caller.traceparent).span_id:016x}"
    assert span["traceState"] == "vendor=1,other=2"


def test_what_is_started_in_a_span_gets_its_environment():
    ours, other = tracing.new_traceparent(), tracing.new_traceparent()
    environ = {"PATH": "/bin", "TRACEPARENT": other, "TRACESTATE": "stale=1"}
    caller = tracing.Caller(other, "vendor=1")
    within = tracing.new_traceparent(caller)
    assert tracing.outgoing(within, caller, environ) == {
        "PATH": "/bin",
        "TRACEPARENT": within,
        "TRACESTATE": "vendor=1",
    }
    assert tracing.outgoing(ours, caller, environ) == {"PATH": "/bin", "TRACEPARENT": ours}
    assert tracing.outgoing("", None, environ) == {"PATH": "/bin"}


def test_a_call_made_in_a_span_names_it(traced):
    caller = tracing.Caller(tracing.new_traceparent(), "vendor=1")
    with tracing.attached(caller), traced[0].tracer("t").start_as_current_span("calling") as span:
        assert tracing.fields_of(span) == (
            ("traceparent", tracing.current_traceparent()),
            ("tracestate", "vendor=1"),
        )
    assert tracing.fields_of(trace.INVALID_SPAN) == ()


def test_a_caller_that_did_not_sample_is_followed(traced):
    with (
        tracing.attached("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"),
        traced[0].tracer("t").start_as_current_span("unsampled"),
    ):
        pass
    assert ended(traced) == {}


def test_log_lines_in_a_span_carry_its_ids(traced):
    stream = io.StringIO()
    logs.setup(stream=stream, format="json")
    try:
        with traced[0].tracer("t").start_as_current_span("x") as span:
            logs.get("component.test").info("inside")
        logs.get("component.test").info("outside")
    finally:
        root = logging.getLogger()
        root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs.LineHandler)]
    inside, outside = map(json.loads, stream.getvalue().splitlines())
    assert inside["trace_id"] == trace.format_trace_id(span.get_span_context().trace_id)
    assert inside["span_id"] == trace.format_span_id(span.get_span_context().span_id)
    assert "trace_id" not in outside


def test_the_resource_says_who_we_are_and_the_environment_may_add(tmp_path):
    path = tmp_path / "t.jsonl"
    done = run(
        f"""
        import os, pathlib
        from component import tracing
        running = tracing.setup(service="replica", instance="host_1", version="1.2", namespace="kube-system",
                                trace_file=pathlib.Path({str(path)!r}))
        tracing.emit("x", start=1.0, end=2.0)
        assert running.shutdown(10)
        print(os.getpid())
        """,
        env={
            "PATH": "",
            "OTEL_SERVICE_NAME": "mine",
            "OTEL_RESOURCE_ATTRIBUTES": "team=a,service.instance.id=same,process.pid=0",
        },
    )
    assert done.stderr == ""
    resource = values(json.loads(path.read_text())["resourceSpans"][0]["resource"])
    assert resource["service.name"] == "mine"
    assert resource["team"] == "a"
    assert resource["service.instance.id"] == "host_1"
    assert resource["process.pid"] == done.stdout.strip()
    assert resource["service.version"] == "1.2"
    assert resource["service.namespace"] == "kube-system"
    assert resource["host.name"]


@pytest.mark.parametrize(("rate", "sampled"), [("0", 0), ("1", 50)])
def test_the_sampler_of_the_environment_decides_but_not_about_emitted_spans(tmp_path, rate, sampled):
    path = tmp_path / "t.jsonl"
    done = run(
        f"""
        import pathlib
        from component import tracing
        running = tracing.setup(service="s", instance="i", trace_file=pathlib.Path({str(path)!r}))
        for number in range(50):
            running.tracer("t").start_span(f"pod {{number}}").end()
        tracing.emit("anchor", start=1.0, end=2.0)
        assert running.shutdown(10)
        """,
        env={"PATH": "", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": rate},
    )
    assert done.stderr == ""
    found = spans_in(path)
    assert "anchor" in found
    assert len(found) == 1 + sampled


def test_the_sdk_can_be_switched_off(tmp_path):
    path = tmp_path / "t.jsonl"
    running = tracing.setup(service="s", instance="i", trace_file=path, environ={"OTEL_SDK_DISABLED": "TRUE"})
    assert not running.enabled
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        tracing.setup(service="s", instance="i", trace_file=tmp_path / "absent" / "t.jsonl", environ=NOTHING)


def test_a_full_disk_costs_spans_only():
    full = Path("/dev/full")
    running = tracing.setup(service="s", instance="i", trace_file=full, environ=NOTHING)
    tracing.emit("x", start=1.0, end=2.0)
    assert running.shutdown(5) is False


def test_spans_after_the_shutdown_are_dropped(traced):
    ended(traced)
    tracing.emit("late", start=1.0, end=2.0)
    assert traced[0].dropped == 1


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4317"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_METRICS_EXPORTER": "none"}, True),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, False),
    ],
)
def test_otlp_is_for_those_who_ask(environ, wanted):
    assert environment.otlp_wanted("TRACES", environ) is wanted


def test_numbers_of_the_environment():
    assert environment.linger({}) == 0.5
    assert environment.linger({"OTEL_BSP_SCHEDULE_DELAY": "200"}) == 0.2
    assert environment.linger({"OTEL_BSP_SCHEDULE_DELAY": "soon"}) == 0.5
    assert environment.export_timeout("TRACES", {}) == 1.0
    assert environment.export_timeout("TRACES", {"OTEL_EXPORTER_OTLP_TIMEOUT": "7"}) is None


def test_a_span_that_is_recorded_but_not_sampled_goes_nowhere():
    class RecordOnly(Sampler):
        def should_sample(self, *_args):
            return SamplingResult(Decision.RECORD_ONLY)

        def get_description(self):
            return "RecordOnly"

    fed = []

    class Fed:
        def put(self, span):
            fed.append(span)

    for sampler, count in ((RecordOnly(), 0), (ALWAYS_ON, 1)):
        provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        provider.add_span_processor(Feed(Fed()))
        provider.get_tracer("t").start_span("x").end()
        assert len(fed) == count
