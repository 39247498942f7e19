"""The plugin beside others that people have: pytest-xdist, pytest-timeout, pytest-asyncio. Clusters are pretended."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from tests.harness.programs import leave_out

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]

CONFTEST = """
    import os
    from pathlib import Path

    from chaos.pytest import failover, injury, pool
    from tests.harness.pretended import World

    world = World()
    pool.raised, injury.Custody, failover.status_of = world.raised, world.custody, lambda *_: 200

    def pytest_unconfigure():
        Path("told-" + os.environ.get("PYTEST_XDIST_WORKER", "main")).write_text("\\n".join(world.told))
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """A run of its own process, with these plugins and no others; what was told of clusters, by worker."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of this test's own run, not of the one in it
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))))
    pytester.makeconftest(CONFTEST)

    def ran(*words, plugins):
        named = [word for plugin in ("chaos.pytest", *plugins) for word in ("-p", plugin)]
        done = pytester.runpytest_subprocess(*named, *words)
        told = {path.name: path.read_text().splitlines() for path in pytester.path.glob("told-gw*")}
        return done, told or {"main": (pytester.path / "told-main").read_text().splitlines()}

    return ran


def ups(told):
    return sorted(sum(line.startswith("up ") for line in lines) for lines in told.values())


@pytest.mark.slow
def test_workers_have_clusters_of_their_own_and_groups_to_be_sent_to_one(run, pytester):
    groups = "[mark.args for mark in request.node.iter_markers('xdist_group')]"
    of_clusters = "\n".join(
        f"def test_{number}(request, ha_cluster): assert {groups} == [('ha_cluster',)]" for number in range(3)
    )
    pytester.makepyfile(
        test_one=of_clusters,
        test_two=of_clusters,
        test_three=f"""
        import pytest
        def test_of_none(request): assert {groups} == []
        @pytest.mark.xdist_group("mine")
        def test_of_mine(request, ha_cluster): assert {groups} == [("mine",)]
        """,
    )
    done, told = run("-n2", "--dist=loadfile", "--strict-markers", plugins=["xdist"])
    done.assert_outcomes(passed=8)
    assert ups(told) == [1, 1]


@pytest.mark.slow
def test_a_failure_on_a_worker_tells_all_the_same(run, pytester):
    pytester.makepyfile("def test_it(hurt):\n    hurt('pause', 'leader')\n    assert False")
    done, _ = run("-n1", plugins=["xdist"])
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*lockd cluster*", "*fault: pause of replica-1*", "not healed yet:", "kept in *"])


def test_a_test_that_takes_too_long_leaves_the_cluster_to_the_next(run, pytester):
    pytester.makepyfile(
        """
        def test_one(hurt, wait_for_leader):
            hurt("pause", "standby[0]")
            wait_for_leader(other_than=wait_for_leader())
        def test_two(ha_cluster):
            pass
        """
    )
    done, told = run("--timeout=2", plugins=["pytest_timeout"])
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(["*Timeout*"])
    shape = "3 replicas on 3 etcd members"
    faults = ["pause replica-2", "pause healed"]
    assert told["main"] == [f"up {shape}", *faults, "verified", "verified", "verified", f"down {shape}"]


def test_beside_an_event_loop_it_works_on_a_thread(run, pytester):
    if importlib.util.find_spec("pytest_asyncio") is None:
        leave_out("no pytest-asyncio here: make setup")
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.fixture
        async def ticks():
            ticked = []
            async def tick():
                while True:
                    ticked.append(1)
                    await asyncio.sleep(0)
            task = asyncio.create_task(tick())
            yield ticked
            task.cancel()

        async def test_it(ticks, ha_cluster, measure_failover, hurt):
            before = len(ticks)
            failover = await asyncio.to_thread(measure_failover, "kill", until="elected")
            assert failover.new == ha_cluster.leader()
            assert len(ticks) > before + 1
            injury = await asyncio.to_thread(hurt, "pause", "leader")
            assert injury.target == failover.new
        """
    )
    done, told = run("-o", "asyncio_mode=auto", plugins=["pytest_asyncio.plugin"])
    done.assert_outcomes(passed=1)
    assert told["main"][-3:] == ["pause healed", "verified", "down 3 replicas on 3 etcd members"]
