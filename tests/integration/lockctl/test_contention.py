"""Five `lockctl elect` contend around one script, and the one that holds is killed, stopped and cut off.

No two runs of the script overlap. There is one exception: where `lockctl` and the process that keeps its command are
both stopped, the script runs on, and its token tells.
"""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from enum import Enum

import pytest

from component.process import Gone
from tests.harness.electing import DIARY, Elect, overlaps, runs
from tests.harness.proxy import Proxy
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CONTENDERS = 5
PATIENCE = 90.0
"""Seconds for what takes a lease, 3 s, on an idle machine."""


class Harm(Enum):
    """What is done to the holder."""

    KILL = "lockctl is killed"
    KILL_BOTH = "lockctl and the warden are killed"
    STOP = "lockctl is stopped"
    STOP_BOTH = "lockctl and the warden are stopped"
    CUT = "its link is cut"
    REFUSED = "its link is reset"


KILLS, STOPS = (Harm.KILL, Harm.KILL_BOTH), (Harm.STOP, Harm.STOP_BOTH)


@dataclass
class Contest:
    """The contenders, and what they write."""

    etcd: object
    prefix: str
    diary: object
    proxies: list[Proxy]
    contenders: list[Elect] = field(default_factory=list)
    forgiven: set[int] = field(default_factory=set)

    def enter(self, place):
        connection = replace(self.etcd.connection, endpoints=(self.proxies[place].endpoint,))
        words = (sys.executable, "-I", "-S", "-c", DIARY, str(self.diary))
        elect = Elect("diary", *words, connection=connection, prefix=self.prefix, options=("--ttl=3s", "--verbose"))
        self.contenders[place : place + 1] = [elect]

    def newest(self):
        told = runs(self.diary)
        return told[-1].token if told else 0

    def holder(self):
        """Who runs the script: its place, its token, itself and its warden; None while nobody does, or two."""
        running = []
        for place, elect in enumerate(self.contenders):
            if elect.popen.poll() is not None:  # it lost the lock by itself, as on a machine too busy to renew it
                assert elect.end()[0] == 1
                self.enter(place)
            elif warden := elect.warden:
                running.append((place, elect.token, elect.process, warden))
        return running[0] if len(running) == 1 and running[0][1] else None

    def round(self, harm, bystander=None):
        """Harm the holder until another holds, and have it back as one who waits."""
        if bystander is not None:
            self.proxies[bystander].black_hole()
        place, token, harmed = self.harm(harm)
        elect = self.contenders[place]
        try:
            eventually(lambda: self.newest() > token, within=PATIENCE, what=f"a new run after: {harm.value}")
        except AssertionError as error:
            error.add_note(f"harmed: contender {place}, cut off: {bystander}\n{self.told()}")
            raise
        if harm is Harm.STOP_BOTH:
            self.forgiven.add(token)
            eventually(lambda: self.both_wrote(token), within=PATIENCE, what="the script of the stopped one runs on")
        for each in self.proxies:
            each.heal()
        if harm in STOPS:
            for process in harmed:
                with suppress(Gone):
                    process.send(signal.SIGCONT)
        code, _, _ = elect.end(within=PATIENCE)
        assert code == (-signal.SIGKILL if harm in KILLS else 1)
        elect.close()
        self.enter(place)
        assert overlaps(runs(self.diary), forgiven=frozenset(self.forgiven)) == [], f"after: {harm.value}"

    def harm(self, harm):
        """Do it to whoever holds the lock: its place, its token, and the processes concerned."""
        while True:
            place, token, *processes = eventually(self.holder, within=PATIENCE)
            if harm not in (Harm.KILL_BOTH, Harm.STOP_BOTH):
                del processes[1:]
            try:
                if harm is Harm.CUT:
                    self.proxies[place].black_hole()
                elif harm is Harm.REFUSED:
                    self.proxies[place].refuse()
                else:
                    for process in reversed(processes):  # the warden would not live to see lockctl's end
                        process.send(signal.SIGKILL if harm in KILLS else signal.SIGSTOP)
            except Gone:  # it has just lost the lock by itself
                continue
            return place, token, processes

    def told(self):
        """What the contenders are doing, and have said."""
        lines = []
        for place, elect in enumerate(self.contenders):
            elect.process.send(signal.SIGKILL) if elect.process.alive else None
            warden = elect.warden
            code, _, errors = elect.end(within=PATIENCE)
            lines.append(f"contender {place}: code {code}, warden {warden}, said:\n{errors}")
        return "\n".join(lines)

    def both_wrote(self, token):
        return any(old.token == token for old, _ in overlaps(runs(self.diary)))


@pytest.fixture
def contest(etcd, prefix, tmp_path):
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(etcd.members[0].endpoint)) for _ in range(CONTENDERS)]
        contest = Contest(etcd, prefix, tmp_path / "diary", proxies)
        for place in range(CONTENDERS):
            contest.enter(place)
        try:
            yield contest
        finally:
            for elect in contest.contenders:
                elect.close()


def test_no_two_runs_overlap(contest):
    eventually(contest.newest, within=PATIENCE)
    for harm in (Harm.KILL, Harm.STOP, Harm.CUT):
        contest.round(harm)
    assert overlaps(runs(contest.diary)) == []
    assert len(runs(contest.diary)) >= 4


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_two_runs_overlap_in_50_rounds_but_for_the_stopped_ones(contest):
    eventually(contest.newest, within=PATIENCE)
    for number in range(50):
        contest.round(
            list(Harm)[number % len(Harm)], bystander=number * 7 % CONTENDERS if number // len(Harm) % 2 else None
        )
    found = overlaps(runs(contest.diary))
    assert {old.token for old, _ in found} == contest.forgiven
    assert len(contest.forgiven) == 8
