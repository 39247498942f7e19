"""A replica leaves in time, with its lease released, whatever its collector does."""

from __future__ import annotations

from contextlib import ExitStack

import grpc
import pytest

from tests.harness import crew as harness
from tests.harness.collector import Collector, dead_collector, hung_collector
from tests.harness.local import nodes, pods
from tests.harness.replicas import CLOCK, STEADY
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(240)]

FOR_EVER = 300.0
"""Seconds that the exporter itself would wait for an answer."""

BOUND = 4.0
"""Seconds that the exit may take."""

MACHINE = 30.0
"""Seconds that a busy machine may add."""


def test_each_of_four_bad_collectors_is_left_behind_in_time(etcd, prefix, tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_on")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(int(FOR_EVER)))
    with ExitStack() as stack:
        endpoints = {
            "absent": stack.enter_context(dead_collector()),
            "refusing": stack.enter_context(Collector(refusal=grpc.StatusCode.PERMISSION_DENIED)).endpoint,
            "hanging": stack.enter_context(hung_collector()),
            "slow": stack.enter_context(Collector(delay=FOR_EVER)).endpoint,
        }
        crews = {}
        for name, endpoint in endpoints.items():
            crew = crews[name] = stack.enter_context(harness.crew(etcd.connection, f"{prefix}-{name}", tmp_path / name))
            (tmp_path / name).mkdir()
            crew.timing = STEADY
            crew.create((*nodes(1), *pods(0, 3)))
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            crew.start(name, f"--exit-bound={BOUND:g}s")
        for crew in crews.values():
            crew.until_bound(3, within=60.0)
        for name, crew in crews.items():
            (replica,) = crew.replicas
            asked = CLOCK.now()
            replica.terminate()
            assert replica.wait_for_end(60.0) == 0, f"{name}: {replica.last_words()}"
            assert replica.ended_at - asked < BOUND + MACHINE < FOR_EVER
            eventually(lambda it=crew: it.holder() == "", within=10.0, what=f"{name}: the lease is released")
