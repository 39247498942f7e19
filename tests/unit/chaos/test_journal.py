"""The journal: its document, its schema, its forms, what it is held to."""

import json
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner

from chaos.checks import judged
from chaos.ctl import main
from chaos.effect import Effect
from chaos.journal import schema, terminal
from chaos.journal.building import results
from chaos.journal.building import trial as built
from chaos.journal.commands import present, write
from chaos.journal.journal import CheckResult, Evidence, Expected, Planned, Verdict, read
from chaos.journal.junit import junit
from chaos.journal.keeping import keep, read_history
from chaos.journal.markdown import markdown
from chaos.journal.thresholds import METRICS, Threshold
from chaos.journal.thresholds import judged as held_to
from chaos.measure.distribution import STATISTICS
from chaos.record import Gap
from lockd.errors import ConfigError
from tests.harness.history import HistoryMaker
from tests.harness.journals import journal, trial
from tests.harness.jsonschema import problems
from tests.harness.records import account, action, record, span, term

EVIDENCE = Evidence(
    rule="stale-token",
    message="put with token 3",
    facts=("+1.0 s  a", "+2.0 s  b"),
    revision=9,
    key="pods/default/p",
    trial=2,
)


@pytest.fixture
def failed():
    """A journal in which a trial, a check and a threshold failed."""
    return journal(
        [300.0, None, 320.0],
        checks=(
            CheckResult(name="one-term", ok=True),
            CheckResult(name="fenced-writes", ok=False, evidence=(EVIDENCE,)),
        ),
        thresholds=(Verdict(threshold="failover_ms.p99>310", value=320.0, ok=False),),
        theory=(Expected(name="evidence", min=0.0, mean=0.0, p99=0.0, max=0.0),),
        sometimes={"takeover-by-evidence": 2, "bind-refused": 0},
        command="chaosctl run kill-leader --seed 7",
        kept="/d/failed",
        seconds=12.5,
        began="2026-01-01T00:00:00Z",
    )


class TestDocument:
    def test_json_has_these_keys_and_no_others(self):
        told = json.loads(json.dumps(journal([300.0, 310.0]).result()))
        assert list(told) == ["schema", "scenario", "backend", "seed", "trials", "summary", "checks"]
        assert told["schema"] == 1
        first = told["trials"][0]
        assert first["fault"] == "kill leader"
        assert first["phases"] == {"detected_ms": 295.0, "elected_ms": 300.0, "warm_ms": 310.0, "first_bind_ms": 320.0}
        assert set(told["summary"]) == {"failover_ms", "first_bind_ms", "client_gap_ms"}
        for metric, value in (("failover_ms", 310.0), ("first_bind_ms", 330.0), ("client_gap_ms", 360.0)):
            assert {"p50", "p90", "p99", "max"} <= set(told["summary"][metric])
            assert told["summary"][metric]["max"] == value
        assert told["checks"] == [{"name": "one-term", "ok": True, "evidence": []}]

    def test_a_phase_that_was_not_reached_is_null(self):
        told = journal([None]).result()
        assert set(told["trials"][0]["phases"].values()) == {None}
        assert told["summary"]["failover_ms"]["max"] is None

    def test_it_is_read_as_it_was_written(self, failed, tmp_path):
        failed.write(tmp_path)
        assert read(tmp_path) == failed
        assert read(tmp_path / "journal.json") == failed

    def test_what_the_command_printed_is_read_too(self, failed, tmp_path):
        (tmp_path / "out.json").write_text(json.dumps(failed.result()))
        assert read(tmp_path / "out.json").trials == failed.trials

    def test_keys_of_a_newer_one_are_passed_over(self, tmp_path):
        newer = journal([300.0]).document() | {"soak": {"hours": 3}, "kind": "soak", "subject": "etcd"}
        (tmp_path / "journal.json").write_text(json.dumps(newer))
        assert read(tmp_path).kind == "soak"

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("{", "no journal"),
            ("{}", "schema"),
            ('{"schema": 2}', "a journal of schema 2: this chaosctl reads schema 1"),
            ('{"schema": 1, "scenario": 3}', "scenario"),
        ],
    )
    def test_what_is_none_is_one_line(self, tmp_path, text, problem):
        (tmp_path / "journal.json").write_text(text)
        with pytest.raises(ConfigError, match=problem) as error:
            read(tmp_path)
        assert len(error.value.problems) == 1

    def test_it_passed_only_if_all_of_it_did(self, failed):
        assert journal([300.0]).passed
        for fields in ({"checks": failed.checks}, {"thresholds": failed.thresholds}, {"trials": failed.trials}):
            assert not journal([300.0], **fields).passed


class TestSchema:
    def test_the_shipped_one_is_that_of_the_classes(self):
        assert schema.shipped() == schema.generate()

    def test_it_names_every_key_of_a_full_document(self, failed):
        for document in (failed.document(), failed.result()):
            assert problems(json.loads(json.dumps(document)), schema.shipped()) == []

    @pytest.mark.parametrize("wrong", [{"seed": "7"}, {"trials": [{"number": 1}]}, {"checks": None}], ids=str)
    def test_it_refuses_what_is_none(self, failed, wrong):
        assert problems(json.loads(json.dumps(failed.result() | wrong)), schema.shipped())

    def test_each_key_of_a_class_is_described(self):
        described = schema.shipped()["$defs"]["Journal"]["properties"]
        assert described["seed"]["description"] == "Repeats the schedule."


class TestBuilding:
    def test_a_trial_is_its_first_hand_off(self):
        made = HistoryMaker()
        made.node("n1")  # 2
        made.acquire("A")  # 3
        token = made.acquire("B")  # 4
        made.pod("p")  # 5
        made.bind("p", "n1")  # 6
        barrier = span("scheduler.cache_barrier", 4.5, 5.0, token=token, passed=True)
        told = record(
            made,
            actions=(action(Effect.KILL, "A", 3.5, role="leader"),),
            accounts=(account("B", term(token, began=4.2, takeover="evidence"), barrier),),
            gaps=(Gap(began=3.0, seconds=0.5), Gap(began=3.5, seconds=2.5)),
        )
        planned = Planned(fault="kill", role="leader", trigger="at")
        found = built(told, number=3, began=3.0, schedule=(planned,), seed="7/3")
        assert (found.number, found.fault, found.takeover, found.ok) == (3, "kill leader", "evidence", True)
        assert msgspec.to_builtins(found.phases) == {
            "detected_ms": 690.0,
            "elected_ms": 500.0,  # the watch was faster than the reply
            "warm_ms": 1500.0,
            "first_bind_ms": 2500.0,
        }
        assert found.client_gap_ms == 2500.0
        assert (found.actions[0].at_ms, found.schedule) == (500.0, (planned,))

    def test_a_phase_that_was_wanted_and_not_reached_fails_it(self):
        made = HistoryMaker()
        made.acquire("A")
        told = record(made, actions=(action(Effect.KILL, "A", 3.5),))
        found = built(told, number=1, began=3.0, wanted=("elected", "warm"))
        assert (found.ok, found.problems) == (False, ("phase elected was not reached", "phase warm was not reached"))
        assert built(told, number=1, began=3.0, wanted=()).ok
        assert not built(told, number=1, began=3.0, wanted=(), problems=("a term began",)).ok

    def test_checks_are_over_all_trials(self):
        made = HistoryMaker()
        token = made.acquire("A")
        made.acquire("B")
        bad = made.pod("p", token=token, node="n1")
        found = results([(1, judged(record(HistoryMaker()))), (2, judged(record(made)))], began=0.0)
        by_name = {each.name: each for each in found}
        assert [each.name for each in found if not each.ok] == ["fenced-writes"]
        (evidence,) = by_name["fenced-writes"].evidence
        assert (evidence.trial, evidence.rule, evidence.revision) == (2, "stale-token", bad)


class TestForms:
    def test_people_see_what_failed_and_how_to_repeat_it(self, failed):
        lines = terminal.lines(failed)
        text = "\n".join(lines)
        assert lines[0] == "kill-leader on local: 3 trials, FAILED"
        assert "FAILED: check fenced-writes" in text
        assert "  trial 2, revision 9, pods/default/p: put with token 3" in text
        assert "    +1.0 s  a" in text
        assert "repeat: chaosctl run kill-leader --seed 7" in lines
        assert "seen: takeover-by-evidence 2" in lines
        row = next(line.split() for line in lines if line.startswith("failover "))
        assert row[:7] == ["failover", "300", "300", "320", "320", "320", "2"]

    def test_many_trials_that_passed_are_not_shown_one_by_one(self):
        assert not any(line.startswith("TRIAL") for line in terminal.lines(journal([300.0] * 11)))
        assert any(line.startswith("TRIAL") for line in terminal.lines(journal([300.0] * 10)))

    def test_off_a_terminal_nothing_is_drawn(self, failed, capsys):
        assert not terminal.show(failed)
        present(failed, "table")
        assert capsys.readouterr().out == "\n".join(terminal.lines(failed)) + "\n"

    def test_on_a_terminal_the_same_is_drawn(self, failed, capsys, monkeypatch):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        assert terminal.show(failed)
        shown = capsys.readouterr().out
        for word in ("FAILED", "fenced-writes", "put with token 3", "chaosctl run kill-leader --seed 7"):
            assert word in shown

    def test_junit_has_a_case_for_each_trial_check_and_threshold(self, failed):
        root = ET.fromstring(junit(failed))  # noqa: S314 - our own
        (suite,) = root
        cases = {case.get("name"): case for case in suite.iter("testcase")}
        assert set(cases) == {
            "trial 1: kill leader",
            "trial 2: kill leader",
            "trial 3: kill leader",
            "one-term",
            "fenced-writes",
            "failover_ms.p99>310",
        }
        broken = {name for name, case in cases.items() if case.find("failure") is not None}
        assert broken == {"trial 2: kill leader", "fenced-writes", "failover_ms.p99>310"}
        assert (suite.get("tests"), suite.get("failures")) == ("6", "3")
        assert "put with token 3" in cases["fenced-writes"].find("failure").text
        properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
        assert (properties["seed"], properties["failover_ms.p99"]) == ("7", "320")

    def test_junit_holds_what_xml_can_not(self):
        bad = journal([300.0], trials=(trial(1, None, problems=("bell \x07 & <tag>",)),))
        root = ET.fromstring(junit(bad))  # noqa: S314 - our own
        assert root.find(".//failure").get("message") == "bell � & <tag>"

    def test_markdown_breaks_on_nothing_in_it(self, failed):
        odd = journal([300.0], trials=(trial(1, None, fault="a|b *c*", problems=("```", "line")),))
        text = markdown(odd)
        assert "a\\|b \\*c\\*" in text
        assert "````\n```\nline\n````" in text
        assert markdown(failed).startswith("## kill-leader on local: 3 trials, FAILED\n")

    def test_each_form_has_its_file(self, failed, tmp_path):
        assert [path.name for path in write(failed, tmp_path)] == ["journal.json", "junit.xml", "report.md"]
        assert all((tmp_path / name).stat().st_size for name in ("journal.json", "junit.xml", "report.md"))

    @pytest.mark.parametrize("form", ["json", "yaml", "junit", "markdown", "table"])
    def test_each_form_is_shown(self, failed, capsys, form):
        present(failed, form)
        assert "fenced-writes" in capsys.readouterr().out


class TestThresholds:
    @pytest.mark.parametrize(
        ("text", "limit"),
        [
            ("failover_ms.p99>500", 500.0),
            (" client_gap_ms.max >= 1.5s ", 1500.0),
            ("warm_ms.p50<20ms", 20.0),
            ("warm_ms.count<3", 3.0),
        ],
    )
    def test_it_is_read(self, text, limit):
        assert Threshold.parse(text).limit == limit

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("failover", "is no threshold: write METRIC.STATISTIC>LIMIT"),
            ("failover_ms>500", "is no threshold"),
            ("latency.p99>500", f"no metric is called 'latency': there are {', '.join(METRICS)}"),
            ("failover_ms.p98>500", f"no statistic is called 'p98': there are {', '.join(STATISTICS)}"),
            ("failover_ms.p99=500", "no comparison is written '=': there are >= <= > <"),
            ("failover_ms.p99>soon", "'soon' is no limit: write milliseconds"),
            ("failover_ms.p99>", "is no threshold"),
            ("failover_ms.p99>nan", "'nan' is no limit: write milliseconds"),
            ("failover_ms.p99>inf", "'inf' is no limit: write milliseconds"),
            ("failover_ms.p99<-inf", "'-inf' is no limit: write milliseconds"),
            ("failover_ms.p99>1e999", "'1e999' is no limit: write milliseconds"),
            ("failover_ms.count>3s", "'3s' is no limit: write a number of trials"),
            ("failover_ms.count>nan", "'nan' is no limit: write a number of trials"),
        ],
    )
    def test_a_mistake_is_one_line_that_tells_what_there_is(self, text, problem):
        with pytest.raises(ValueError, match=re.escape(problem)) as error:
            Threshold.parse(text)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        ("text", "ok"),
        [
            ("failover_ms.p99>319", False),
            ("failover_ms.p99>320", True),
            ("failover_ms.p99>=320", False),
            ("failover_ms.count<3", True),
            ("failover_ms.min<300", True),
            ("detected_ms.max>314", False),
        ],
    )
    def test_it_fails_a_run_where_it_holds(self, text, ok):
        (verdict,) = held_to(journal([300.0, 310.0, 320.0]), [Threshold.parse(text)])
        assert verdict.ok is ok

    def test_nothing_measured_stands_no_threshold(self):
        (verdict,) = held_to(journal([None]), [Threshold.parse("failover_ms.p99>500")])
        assert (verdict.ok, verdict.value) == (False, None)


class TestKeeping:
    def test_what_failed_is_kept_whole(self, tmp_path):
        made = HistoryMaker()
        token = made.acquire("A")
        made.acquire("B")
        made.pod("p", token=token, node="n1")
        made.delete("pods/default/p")
        told = record(made)
        cluster = tmp_path / "cluster"
        for name in ("log", "trace", "etcd"):
            (cluster / name).mkdir(parents=True)
            (cluster / name / "file").write_text(name)
        kept = keep(tmp_path / "kept", told, judged(told), seed=7, command="chaosctl run x --seed 7", cluster=cluster)
        text = (kept / "evidence.txt").read_text()
        assert "check fenced-writes: stale-token: put with token 2, whose term (A) ended at revision 3" in text
        assert "    revision 4, key pods/default/p, token 2, in force 3\n" in text
        assert text.endswith("seed: 7\nrepeat: chaosctl run x --seed 7\n")
        seen = {revision: stamp for revision, stamp in told.stamps.items() if revision > 1}
        assert read_history(kept / "history.jsonl") == (told.ledger.history, seen)
        assert [(kept / name / "file").read_text() for name in ("log", "trace", "etcd")] == ["log", "trace", "etcd"]
        assert json.loads((kept / "record.json").read_text())["timing"]["lease_duration"] == 3.0

    def test_a_cut_off_history_is_read_back(self, tmp_path):
        made = HistoryMaker()
        made.acquire("A")
        made.renew("A")
        cut = type(record(made).ledger).of(made.history(compacted=2))
        told = record(made)
        told = type(told)(ledger=cut)
        keep(tmp_path, told, {}, seed=1, command="")
        assert read_history(tmp_path / "history.jsonl") == (cut.history, {})


class TestCompareCommand:
    def run(self, tmp_path, before, after, *words):
        for name, made in (("a", before), ("b", after)):
            (tmp_path / name).mkdir()
            made.write(tmp_path / name)
        return CliRunner().invoke(main, ["compare", str(tmp_path / "a"), str(tmp_path / "b"), *words])

    def test_a_slower_run_is_exit_4(self, tmp_path):
        slow, fast = journal([600.0 + each for each in range(8)]), journal([300.0 + each for each in range(8)])
        found = self.run(tmp_path, fast, slow)
        assert found.exit_code == 4
        assert "REGRESSION: " in found.output
        assert "failover_ms.p50" in found.output

    def test_the_same_run_is_exit_0(self, tmp_path):
        same = journal([300.0 + each for each in range(8)])
        found = self.run(tmp_path, same, same, "-o", "json")
        assert found.exit_code == 0
        assert json.loads(found.output)["regressed"] is False

    def test_the_ratio_is_the_users(self, tmp_path):
        slow, fast = journal([360.0 + each for each in range(8)]), journal([270.0 + each for each in range(8)])
        assert self.run(tmp_path, fast, slow, "--ratio", "1.5").exit_code == 0

    def test_what_is_no_journal_is_one_line(self, tmp_path):
        (tmp_path / "x").write_text("{}")
        found = CliRunner().invoke(main, ["compare", str(tmp_path / "x"), str(tmp_path / "x")])
        assert found.exit_code == 2
        assert found.output.startswith("error: ")
        assert len(found.output.splitlines()) == 1
