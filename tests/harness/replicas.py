"""Replicas under test: processes (`replica run`, or a launcher that plants a fault), and ones in the test's own."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chaos import spans
from chaos.cluster.plan import HOST, environment
from component import metrics
from component.clock import SystemClock
from component.process import Child
from lockd.config import ElectionConfig
from lockd.etcd.loopback import free_ports
from replica.app.config import DEFAULTS, ReplicaConfig
from replica.app.server import setup
from replica.app.serving import Serving
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.spans import Span
    from lockd.etcd.connection import Connection
    from lockd.ports import LockName
    from replica.app.server import Outcome

CLOCK: Final = SystemClock()

LAUNCHERS: Final = Path(__file__).parents[1] / "launchers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The election's durations, in seconds."""

    lease: float
    renew: float
    retry: float

    @property
    def exit_bound(self) -> float:
        """What stopping may take after the gate."""
        return min(2.0, (self.lease - self.renew) / 2)

    @property
    def end(self) -> float:
        """How long after its last renewal a replica that can't renew any more is gone at the latest."""
        return self.renew + self.exit_bound

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            f"--leader-elect-lease-duration={self.lease}s",
            f"--leader-elect-renew-deadline={self.renew}s",
            f"--leader-elect-retry-period={self.retry}s",
        )


FAST: Final = Timing(lease=3.0, renew=2.0, retry=0.5)
"""For tests that wait for a lease to run out."""

STEADY: Final = Timing(lease=15.0, renew=10.0, retry=2.0)
"""The defaults: for tests in which no leader is to change, however busy the machine."""


@dataclass(frozen=True)
class Answer:
    """What a replica's HTTP server said; status 0: nothing."""

    status: int
    body: str


def ask(port: int, path: str, *, timeout: float = 2.0) -> Answer:
    """A page of a replica's HTTP server."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=timeout) as page:
            return Answer(page.status, page.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read().decode())
    except OSError as error:
        return Answer(0, str(error))


class Running:
    """A replica in a process of its own.

    Attributes:
        ended_at: When its process ended, on CLOCK_BOOTTIME; 0.0 while it runs.
    """

    def __init__(self, identity: str, folder: Path, words: Sequence[str], *, launcher: str = "") -> None:
        self.identity = identity
        self.log = folder / f"{identity}.log"
        self.trace = folder / f"{identity}.jsonl"
        self.ended_at = 0.0
        (self.port,) = free_ports(1)
        program = [str(LAUNCHERS / f"{launcher}.py")] if launcher else ["-m", "replica"]
        command = [
            *(sys.executable, *program, "run", f"--identity={identity}", f"--secure-port={self.port}"),
            *(f"--trace-file={self.trace}", "--logging-format=json", *words),
        ]
        self.child = Child(command, log=self.log, environment=environment())
        handle = os.pidfd_open(self.child.pid)
        threading.Thread(target=self._note_end, args=(handle,), name=f"end of {identity}", daemon=True).start()

    def _note_end(self, handle: int) -> None:
        select.select([handle], [], [])
        self.ended_at = CLOCK.now()
        os.close(handle)

    def get(self, path: str) -> Answer:
        """A page of its HTTP server."""
        return ask(self.port, path)

    @property
    def leads(self) -> bool:
        return self.get("/leader").status == 200

    @property
    def ready(self) -> bool:
        return self.get("/readyz").status == 200

    @property
    def stands_by(self) -> bool:
        """It has taken up its candidacy."""
        return bool(self.said("standing by"))

    @property
    def waiting(self) -> int:
        """How many pods wait in its queue."""
        answer = self.get("/statusz")
        return sum(json.loads(answer.body)["pendingPods"].values()) if answer.status == 200 else 0

    @property
    def watches_over(self) -> str:
        """The identity of the leader that its presence has a connection to."""
        answer = self.get("/statusz")
        return str(json.loads(answer.body)["watchesOver"]) if answer.status == 200 else ""

    @property
    def alive(self) -> bool:
        return not self.ended_at

    def terminate(self) -> None:
        self.child.process.send(signal.SIGTERM)

    def wait_for_end(self, within: float) -> int:
        """Its exit code."""
        eventually(lambda: self.ended_at, within=within, what=f"{self.identity} ends; it said:\n{self.last_words()}")
        code = self.child.wait(1.0)
        assert code is not None
        return code

    def text(self) -> str:
        """All that it wrote to stdout and stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        return "\n".join(self.text().splitlines()[-30:])

    def lines(self) -> list[dict[str, Any]]:
        """All log lines, in order; of one that is no JSON the text is the event."""
        return [_line(line) for line in self.text().splitlines()]

    def said(self, event: str) -> list[dict[str, Any]]:
        """The log lines of an event."""
        return [line for line in self.lines() if line["event"] == event]

    def spans(self, name: str) -> list[Span]:
        """Its spans of that name, by start."""
        with self.trace.open(encoding="utf-8", errors="replace") as lines:
            return sorted((span for span in spans.parse(lines) if span.name == name), key=lambda span: span.start)

    def end(self) -> None:
        """Have it gone."""
        self.child.kill()


def _line(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) and "event" in found else {"event": text}


def configured(
    identity: str,
    connection: Connection,
    lock: LockName,
    timing: Timing,
    serving: Serving = Serving(address=HOST, port=0),  # noqa: B008 - it is frozen
) -> ReplicaConfig:
    """What a replica in the test's own process is made of."""
    return ReplicaConfig(
        election=ElectionConfig(
            identity=identity,
            namespace=lock.namespace,
            name=lock.name,
            lease_duration=timing.lease,
            renew_deadline=timing.renew,
            retry_period=timing.retry,
        ),
        lock=lock,
        connection=connection,
        scheduler=DEFAULTS,
        serving=serving,
        trace_file=None,
        logging_format="text",
        verbosity=0,
    )


class Inside:
    """A replica in the test's own process: it has no watchdog, and what would be its exit code is in `outcome`."""

    def __init__(self, config: ReplicaConfig) -> None:
        self.identity = config.election.identity
        self.outcome: Outcome | None = None
        self.failure: BaseException | None = None
        self.ended_at = 0.0
        self.replica = setup(config, metrics.setup(instance="tests"), clock=CLOCK)
        self.port = self.replica.listen()
        threading.Thread(target=self._run, name=f"replica {self.identity}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.outcome = self.replica.run()
        except Exception as error:  # noqa: BLE001 - told by who waits for the end
            self.failure = error
        finally:
            for _, step in self.replica.leave_steps():
                step(1.0)
            self.ended_at = CLOCK.now()

    @property
    def leads(self) -> bool:
        leadership = self.replica.elector.leadership
        return leadership is not None and leadership.holds(CLOCK.now())

    def get(self, path: str) -> Answer:
        """A page of its HTTP server."""
        return ask(self.port, path)

    @property
    def ready(self) -> bool:
        return self.get("/readyz").status == 200

    @property
    def stands_by(self) -> bool:
        """It follows the lock."""
        return bool(self.replica.elector.leader)

    @property
    def alive(self) -> bool:
        return not self.ended_at

    def last_words(self) -> str:
        """What is known of its end; its log is the test's."""
        return repr(self.failure or self.outcome)

    def terminate(self) -> None:
        self.replica.request_stop()

    def wait_for_end(self, within: float) -> int:
        """What a process would have exited with."""
        eventually(lambda: self.ended_at, within=within, what=f"{self.identity} ends")
        if self.failure is not None:
            raise self.failure
        assert self.outcome is not None
        return self.outcome.code

    def end(self) -> None:
        """Have it gone."""
        self.terminate()
        eventually(lambda: self.ended_at, within=20.0, what=f"{self.identity} ends")
