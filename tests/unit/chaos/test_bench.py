from __future__ import annotations

import math
import os

import pytest

from chaos.bench.machine import GIB, doubts, require
from chaos.bench.objects import GANGS, SHAPES, create_nodes, pod_puts
from chaos.bench.renewals import Seen, off_period, summary
from chaos.bench.result import Result, Run, table
from chaos.bench.usage import Meter, seconds
from lockd.errors import ConfigError
from lockd.ports import KeyValue
from replica.api.codec import decode, decode_pod
from replica.api.keys import parse_key
from replica.api.kinds import NODE


def result(*values, limits=(100.0,)):
    limits = limits * len(values) if len(limits) == 1 else limits
    runs = tuple(
        Run(value=value, limit=limit, details={"n": 1, "cpu": {"a": 1.25}})
        for value, limit in zip(values, limits, strict=True)
    )
    return Result(name="x", unit="pods/s", limit="the most", runs=runs, machine={"cores": 2}, notes=("busy",))


class TestResult:
    def test_the_document(self):
        document = result(10.0, 30.0, 20.0, limits=(40.0, 50.0, 80.0)).document()
        assert {name: document[name] for name in ("name", "unit", "runs", "median", "limit", "ratio")} == {
            "name": "x",
            "unit": "pods/s",
            "runs": [10.0, 30.0, 20.0],
            "median": 20.0,
            "limit": {"name": "the most", "median": 50.0},
            "ratio": 0.4,
        }

    def test_a_limit_of_nought_is_no_division(self):
        assert result(1.0, limits=(0.0,)).ratio == 0.0

    def test_the_table_has_a_row_for_each_and_what_its_runs_say(self):
        lines = table([result(1234.5), result(3.0)])
        assert lines[1].split()[:3] == ["x", "1,234", "1,234"]
        assert "  run 1: cpu: a 1.25" in lines
        assert "  note: busy" in lines


class TestRenewals:
    def test_distances_are_from_the_period_and_within_one_term(self):
        seen = [Seen("a", 0.0), Seen("a", 0.5), Seen("a", 1.2), Seen("b", 5.0), Seen("b", 5.4), Seen("b", 90.0)]
        assert off_period(seen, 0.5, since=0.1, until=10.0) == pytest.approx((0.2, 0.1))

    def test_percentiles_are_in_milliseconds(self):
        told = summary([0.0] * 99 + [0.1])
        assert (told["count"], told["p50Ms"], told["maxMs"]) == (100, 0.0, 100.0)
        assert 0.0 < told["p99Ms"] < 100.0
        assert summary([0.25])["p99Ms"] == 250.0
        assert summary([]) == {"count": 0}


class TestMachine:
    def test_what_is_missing_is_named_with_the_remedy_all_at_once(self, monkeypatch, tmp_path):
        monkeypatch.setattr("chaos.bench.machine.memory_available", lambda: GIB)
        monkeypatch.setattr("chaos.bench.machine.DISK", 1 << 60)
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr("lockd.etcd.binary.bundled_etcd", lambda: None)
        with pytest.raises(ConfigError) as caught:
            require(tmp_path)
        disk, memory, etcd = caught.value.problems
        assert "give --dir on another disk" in disk
        assert memory.startswith("1.0 GiB of memory are available, 2 are needed")
        assert "install etcd 3.4 or newer" in etcd

    @pytest.mark.parametrize(
        ("cores", "load", "told"), [(2, 0.1, 0), (2, 0.6, 0), (2, 0.7, 1), (1, 0.1, 1), (1, 5.0, 2), (64, 10.0, 0)]
    )
    def test_a_busy_or_small_machine_is_told_of(self, cores, load, told):
        assert len(doubts({"cores": cores, "loadBefore": load})) == told


class TestUsage:
    def test_a_process_that_is_gone_used_nothing(self):
        assert seconds(2**22 + 1) == 0.0
        assert Meter({"gone": 2**22 + 1}).used() == {"gone": 0.0}

    def test_what_we_use_is_counted(self):
        meter = Meter({"us": os.getpid()})
        number = 0.5
        while not meter.used()["us"]:
            for _ in range(100_000):
                number = math.sin(number)
        assert meter.used()["us"] > 0.0


class TestObjects:
    def test_pods_are_what_the_scheduler_reads_and_the_same_whoever_makes_them(self):
        puts = pod_puts("/x", 3, 2)
        assert puts == pod_puts("/x", 3, 2)
        assert [parse_key("/x", put.key).name for put in puts] == ["pod-3", "pod-4"]
        pods = [decode_pod(KeyValue(put.key, put.value, 1)) for put in puts]
        assert pods[0].pending
        assert dict(pods[0].spec.requests) == {"cpu": 100, "memory": 128 * 1024**2, "pods": 1}
        assert pods[0].spec is pods[1].spec
        assert pods[0].uid != pods[1].uid

    def test_nodes_have_room_for_110_pods(self):
        class Taken:
            puts = ()

            def txn(self, txn, *, timeout):
                assert len(txn.then) <= 120
                self.puts += txn.then

        taken = Taken()
        create_nodes(taken, "/x", 130)
        assert len({put.key for put in taken.puts}) == 130
        node = decode(NODE, KeyValue(taken.puts[0].key, taken.puts[0].value, 1))
        assert dict(node.allocatable)["pods"] == 110

    def test_pods_of_gangs_name_groups_that_are_there_and_are_whole(self):
        assert SHAPES[GANGS].pods(100, 5000) == 96
        pods = [decode_pod(KeyValue(put.key, put.value, 1)) for put in pod_puts("/x", 0, 96, GANGS)]
        assert [pods[number].group for number in (0, 7, 8, 95)] == ["gang-0", "gang-0", "gang-1", "gang-11"]
