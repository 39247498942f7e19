"""The plugin in runs of pytest of its own; clusters are pretended."""

from __future__ import annotations

import threading

import pytest

from chaos.errors import NoCluster, TooSlow
from chaos.pytest import backends, failover, injury, lending, pool, session  # noqa: F401 - what each run shares
from chaos.pytest.backends import Missing
from component.process import Gone
from tests.harness import pretended
from tests.harness.pretended import World

pytest_plugins = ["pytester"]

WHOLE = """
    def test_it({}):
        {}
"""


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(pool, "raised", made.raised)
    monkeypatch.setattr(injury, "Custody", made.custody)
    monkeypatch.setattr(failover, "status_of", lambda *_: 200)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # nobody else's take part, or take time
    return made


@pytest.fixture
def run(pytester, world):
    """A run of a module with these lines, or of what lies there."""

    def ran(*arguments, source=None):
        if source is not None:
            pytester.makepyfile(source)
        words = ("-p", "chaos.pytest", *arguments)
        return pytester.runpytest_inprocess(*words, no_reraise_ctrlc=True)

    return ran


def test_a_cluster_is_shared_verified_after_each_test_and_ended_in_the_end(run, world):
    run(
        source="""
        def test_one(ha_cluster):
            assert [each.name for each in ha_cluster.replicas()] == ["replica-1", "replica-2", "replica-3"]
        def test_two(ha_cluster, wait_for_leader):
            assert wait_for_leader() == ha_cluster.leader()
            assert ha_cluster.environment() == {"ETCDCTL_ENDPOINTS": "127.0.0.1:1", "LOCKD_PREFIX": "/lockd"}
        """
    ).assert_outcomes(passed=2)
    shape = "3 replicas on 3 etcd members"
    assert world.told == [f"up {shape}", "verified", "verified", "verified", f"down {shape}"]


def test_each_shape_has_a_cluster_and_a_fresh_one_is_nobody_elses(run, world):
    run(
        source="""
        import pytest
        def test_one(ha_cluster): pass
        @pytest.mark.ha_cluster(replicas=2)
        def test_two(ha_cluster): assert len(ha_cluster.replicas()) == 2
        @pytest.mark.ha_cluster(fresh=True)
        def test_three(hurt): hurt("kill", "leader")
        def test_four(ha_cluster): assert ha_cluster.leader().name == "replica-1"
        """
    ).assert_outcomes(passed=4)
    shapes = [line for line in world.told if line.startswith(("up", "down"))]
    three, two = "3 replicas on 3 etcd members", "2 replicas on 3 etcd members"
    assert shapes == [f"up {three}", f"up {two}", f"up {three}", f"down {three}", f"down {two}", f"down {three}"]


def test_the_nearest_mark_counts(run):
    run(
        source="""
        import pytest
        pytestmark = pytest.mark.ha_cluster(replicas=2, members=1)
        @pytest.mark.ha_cluster(replicas=4)
        def test_it(ha_cluster):
            assert (ha_cluster.shape.replicas, ha_cluster.shape.members) == (4, 1)
        """
    ).assert_outcomes(passed=1)


def test_ini_settings_are_what_marks_change(run, pytester):
    pytester.makeini(
        "[pytest]\nha_members = 1\nha_replicas = 2\nha_links = true\nha_lock = shop/tills\nha_prefix = /shop\n"
        "ha_service = {python} -m shop --at '{host}:{port}'\n"
    )
    run(
        source="""
        def test_it(ha_cluster):
            shape = ha_cluster.shape
            assert (shape.members, shape.replicas, shape.links, shape.lock) == (1, 2, True, "shop/tills")
            assert shape.service == ("{python}", "-m", "shop", "--at", "{host}:{port}")
            assert ha_cluster.lock.term == "/shop/terms/shop/tills"
        """
    ).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("ha_replicas = many", "no cluster: ha_replicas: 'many' is no whole number"),
        ("ha_backend = cloud", "no cluster: ha_backend: 'cloud' is none of local, compose"),
        ("--ha-backend=local --ha-project=p", "no cluster: a compose project is no local cluster: leave"),
        ("--ha-endpoints=a:1", "no cluster: --ha-endpoints and its files are for --ha-project"),
        ("--ha-project=p --ha-cert=c.pem", "no cluster: a client certificate needs both cert and key"),
        ("--ha-compose-file=f --ha-project=p", "no cluster: --ha-project and --ha-compose-file name the same thing"),
        ("(replica=3)", "no cluster: no cluster has 'replica': did you mean replicas?"),
        ("(3)", "@pytest.mark.ha_cluster takes names, such as replicas=5, not (3,)"),
        ("(members=2)", "no cluster: members: 2: etcd has 1 member or 3"),
    ],
)
def test_a_wrong_wish_is_one_line(run, pytester, world, wish, told):
    words, setting, mark = ("" if wish[0] != at else wish for at in ("-", "h", "("))
    pytester.makeini(f"[pytest]\n{setting}")
    source = f"import pytest\n@pytest.mark.ha_cluster{mark}\ndef test_it(ha_cluster): pass"
    done = run(*words.split(), source=source)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"*{told.replace('[', '[[]')}*"])
    done.stdout.no_fnmatch_line("*Traceback*")
    done.stdout.no_fnmatch_line("E  *")
    assert world.told == []


@pytest.mark.parametrize("words", [["--ha-project=p"], ["--ha-compose-file=f"], ["--ha-backend=compose"]])
def test_a_project_that_is_named_is_what_clusters_are_made_of(run, world, pytester, words):
    pytester.makeini("[pytest]\nha_backend = local")
    run(*words, source=WHOLE.format("ha_cluster", "pass")).assert_outcomes(passed=1)
    assert world.chosen.name == "compose"


@pytest.mark.parametrize(("arguments", "ci"), [((), ""), (("--ha-missing=skip",), "true")])
def test_what_can_not_be_had_is_left_out_with_the_reason(run, world, monkeypatch, arguments, ci):
    world.missing = Missing("no etcd found on PATH")
    monkeypatch.setenv("CI", ci)
    done = run("-rs", *arguments, source=WHOLE.format("hurt", "pass"))
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED * no cluster can be had: no etcd found on PATH"])


@pytest.mark.parametrize(("arguments", "ci"), [((), "true"), (("--ha-missing=fail",), "")])
def test_what_can_not_be_had_fails_in_ci_or_where_it_is_asked_for(run, world, monkeypatch, arguments, ci):
    world.missing = Missing("no etcd found on PATH")
    monkeypatch.setenv("CI", ci)
    done = run(*arguments, source=WHOLE.format("hurt", "pass"))
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["no cluster can be had: no etcd found on PATH"])


def test_a_cluster_that_does_not_come_up_is_one_line_and_not_tried_again(run, world, pytester):
    world.broken = TooSlow("not healthy within 60 s: 1 of 3 ready, no leader")
    done = run("--ha-dir=out", source="def test_one(ha_cluster): pass\ndef test_two(hurt): pass")
    done.assert_outcomes(errors=2)
    done.stdout.fnmatch_lines(["no cluster: not healthy within 60 s: 1 of 3 ready, no leader"])
    assert [path.name for path in (pytester.path / "out").iterdir()] == ["cluster-1"]  # its logs tell why
    assert world.told == ["up 3 replicas on 3 etcd members"]


def test_what_is_in_force_at_the_end_of_a_test_is_healed_newest_first(run, world):
    run(
        source="""
        def test_it(hurt):
            hurt("pause", "replica-1")
            with hurt("pause", "replica-2") as second:
                assert second.target.name == "replica-2" and second.healed_at is None
            assert second.healing == "pause is undone"
            hurt("kill", "replica-3")
        """
    ).assert_outcomes(passed=1)
    assert world.told[1:-1] == [
        *("pause replica-1", "pause replica-2", "pause healed", "kill replica-3", "kill healed", "pause healed"),
        "verified",
    ]


def test_a_test_that_leaves_its_cluster_unwell_is_blamed_and_the_next_one_gets_another(run, world):
    world.unsteady.append("no steady state within 72 s: replicas-ready: not ready: replica-2")
    done = run(source="def test_one(ha_cluster): pass\ndef test_two(ha_cluster): pass")
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_one*", "the cluster is not as it was before the test: no steady state *"]
    )
    done.stdout.fnmatch_lines(["*lockd cluster*", "*replica-1 leads, term 2", "kept in *"])
    shape = "3 replicas on 3 etcd members"
    assert [line for line in world.told if line != "verified"] == [f"up {shape}", f"down {shape}"] * 2


def test_of_a_test_that_fails_twice_both_are_kept(run, world, pytester):
    world.unsteady.append("no steady state within 72 s")
    done = run("--ha-dir=out", source=WHOLE.format("ha_cluster", "assert 1 == 2"))
    done.assert_outcomes(failed=1, errors=1)
    kept = sorted((pytester.path / "out" / "kept").iterdir())
    assert [path.name.rpartition("test_it")[2] for path in kept] == ["", "-2"]
    told = [(path / "evidence.txt").read_text().splitlines()[0] for path in kept]
    assert "assert 1 == 2" in told[0]
    assert "no steady state" in told[1]


def test_what_fails_after_a_cluster_has_ended_tells_nothing_of_it(run):
    """Nobody is there any more who could."""
    done = run(
        source="""
        import pytest
        @pytest.fixture
        def other():
            yield
            raise ValueError("mine")
        @pytest.mark.ha_cluster(fresh=True)
        def test_it(other, ha_cluster): pass
        """
    )
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.no_fnmatch_line("*lockd cluster*")


@pytest.mark.parametrize(
    "error", [OSError("No space left on device"), Gone("container 1234 is not there any more"), NoCluster("it ended")]
)
def test_what_a_report_can_not_tell_is_said_in_its_place(run, world, monkeypatch, error):
    """Whatever is wrong with the cluster is no error of pytest's."""

    def ends(_):
        raise error

    monkeypatch.setattr(pretended.Cluster, "ends", ends)
    done = run(source=WHOLE.format("ha_cluster", "assert 1 == 2"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"its history can't be read: {error}", f"not kept: {error}"])


def test_a_fault_that_can_not_be_healed_is_told(run, world):
    world.stubborn += ["it stands still"] * 2
    done = run(source=WHOLE.format("hurt", "hurt('pause', 'leader')"))
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["the cluster is not as it was before the test: it stands still", "not healed yet:"])


def test_a_failure_tells_terms_faults_and_what_is_not_healed_and_where_all_is_kept(run, world, pytester):
    done = run(
        f"--ha-dir={pytester.path / 'out'}",
        source="""
        def test_it(hurt, wait_for_leader):
            old = wait_for_leader()
            hurt("pause", "leader")
            assert wait_for_leader() == old, "another leads"
        """,
    )
    done.assert_outcomes(failed=1)
    done.stdout.re_match_lines(
        [
            r"-+ lockd cluster -+",
            r"3 replicas on 3 etcd members; its logs are in .*out/cluster-1/log",
            r" +\+0\.000 s  replica-1 leads, term 2",
            r" +\+\d\.\d{3} s  fault: pause of replica-1: pause was seen",
            r" +\+\d\.\d{3} s  replica-2 leads by .*, term 3",
            r"not healed yet:",
            r"  pause of replica-1, in force since \+\d\.\d{3} s",
            r"kept in .*out/kept/.*test_it: evidence.txt, history.jsonl, logs, traces",
        ]
    )
    (kept,) = (pytester.path / "out" / "kept").iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["evidence.txt", "history.jsonl", "log", "record.json"]
    told = (kept / "evidence.txt").read_text()
    assert "test_it failed: AssertionError: another leads" in told.splitlines()[0]
    assert "repeat: pytest '" in told
    assert (pytester.path / "out" / "cluster-1" / "log").exists()


def test_of_tests_that_pass_nothing_is_kept_unless_it_is_asked_for(run, pytester):
    source = WHOLE.format("hurt", "hurt('kill', 'leader')")
    run("--ha-dir=out", source=source).assert_outcomes(passed=1)
    assert list((pytester.path / "out").iterdir()) == []
    run("--ha-dir=out", "--ha-keep").assert_outcomes(passed=1)
    assert sorted(path.name for path in (pytester.path / "out").iterdir()) == ["cluster-1", "kept"]


def test_a_failover_is_measured_told_and_written_to_junit(run, pytester):
    done = run(
        "--junitxml=junit.xml",
        source="""
        from chaos.pytest import Failover
        def test_it(measure_failover, ha_cluster):
            asked = []
            found = measure_failover("kill", until="elected", probe=lambda: asked.append(1) or len(asked) > 2)
            assert isinstance(found, Failover)
            assert (found.old.name, found.new, found.token) == ("replica-1", ha_cluster.leader(), 3)
            assert 0 <= found.elected <= found.served
            assert len(asked) == 3
            assert list(found.phases()) == ["elected", "served"]
        """,
    )
    done.assert_outcomes(passed=1)
    done.stdout.re_match_lines(
        [r"=+ failovers =+", r".*::test_it: kill of replica-1, then replica-2 by .*: elected .* ms"]
    )
    assert 'name="ha_failover" value="kill of replica-1, then replica-2' in (pytester.path / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("until", "told"),
    [
        ("bound", "until: no failover has 'bound': it has released, detected, elected, warm, first_bind, served"),
        ("warm", "until='warm': nobody tells when caches are warm, which only traces of replicas do"),
    ],
)
def test_a_phase_that_nobody_tells_is_refused_before_anything_is_done(run, world, until, told):
    done = run(source=WHOLE.format("measure_failover", f"measure_failover('kill', until={until!r})"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"E*{told}"])
    assert not [line for line in world.told if line.startswith("kill")]


def test_a_wrong_fault_fails_in_the_line_of_the_test(run):
    done = run(
        source="""
        import pytest
        from lockd.errors import ConfigError
        from chaos.faults.errors import NotAvailable
        def test_words(hurt):
            with pytest.raises(ConfigError) as refused:
                hurt("kil", "leade", off="etcd")
            assert len(refused.value.problems) == 2
        def test_links(hurt):
            with pytest.raises(NotAvailable, match=r"mark the test @pytest.mark.ha_cluster\\(links=True\\)"):
                hurt("cut", "leader")
        def test_line(hurt):
            hurt("kill")
        """
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(['>*hurt("kill")', "E*kill: at whom? Name a role, such as leader or etcd-1 *"])
    done.stdout.no_fnmatch_line("*in aim*")


def test_ctrl_c_heals_and_ends_all_and_waits_for_nobody(run, world):
    done = run(
        source="""
        def test_it(hurt):
            hurt("pause", "leader")
            raise KeyboardInterrupt
        """
    )
    assert done.ret == pytest.ExitCode.INTERRUPTED
    shape = "3 replicas on 3 etcd members"
    assert world.told == [f"up {shape}", "pause replica-1", "pause healed", f"down {shape}"]


def test_who_waits_on_another_thread_gives_up_with_the_session(run, pytester):
    """As a test does whose waits are done beside an event loop."""
    run(
        source="""
        import threading
        from pathlib import Path
        from chaos.errors import Interrupted
        def test_it(wait_for_leader):
            begun = threading.Event()
            def wait():
                old = wait_for_leader()
                begun.set()
                try:
                    wait_for_leader(other_than=old)
                except Interrupted as error:
                    Path("told").write_text(str(error))
            threading.Thread(target=wait, name="beside").start()
            assert begun.wait(30)
            raise KeyboardInterrupt
        """,
    )
    beside = [thread for thread in threading.enumerate() if thread.name == "beside"]
    for thread in beside:
        thread.join(30)
    assert (pytester.path / "told").read_text() == "the session ends"
