"""Apply mutants to copies of the tree and run their tests there; the tree itself is never touched."""

from __future__ import annotations

import compileall
import py_compile
import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from component.clock import Clock, SystemClock
from tests.mutants.nursery import Nursery
from tests.mutants.table import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.mutants.table import Mutant

LEFT_BEHIND = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
LONGEST = 120.0
"""Seconds that the tests of one mutant may take."""


class Verdict(Enum):
    """What became of a mutant. Only KILLED is good: a test failed, as it should on a planted bug."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"
    """No test failed by itself: the tests could not be collected or run, or did not end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict.

    Attributes:
        mutant: None for the tree without any.
        detail: The test that failed first, or what went wrong.
        seconds: How long it took.
    """

    mutant: Mutant | None
    verdict: Verdict
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs tests on copies of one tree.

    Attributes:
        root: The tree.
        longest: Seconds that one run of tests may take.
        options: Further ones for pytest.
    """

    root: Path
    longest: float = LONGEST
    options: tuple[str, ...] = ()
    clock: Clock = field(default_factory=SystemClock)

    def unharmed(self, tests: Iterable[str], jobs: int = 1) -> Outcome:
        """Run tests on the tree as it is: SURVIVED is what it should be, or red would say nothing below."""
        files: dict[str, list[str]] = {}
        for test in dict.fromkeys(tests):
            files.setdefault(test.partition("::")[0], []).append(test)
        shares = (tuple(chain.from_iterable([*files.values()][first::jobs])) for first in range(jobs))
        with crew(jobs) as submit:
            futures = [submit(partial(self._judge, None, share)) for share in shares if share]
            outcomes = [future.result() for future in futures]
        return next((each for each in outcomes if each.verdict is not Verdict.SURVIVED), outcomes[0])

    def run(self, mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
        """Run each mutant's tests on a copy that has its bug; outcomes come as they are known."""
        with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
            base = Path(directory) / "tree"
            shutil.copytree(self.root, base, ignore=LEFT_BEHIND)
            # Half of a short run is compiling. By hash, since a planted bug may have its line's length and second.
            compileall.compile_dir(base, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
            copies = replace(self, root=base)
            with crew(jobs) as submit:
                futures = [submit(partial(copies._judge, mutant, mutant.tests, compiled=True)) for mutant in mutants]
                for future in as_completed(futures):
                    yield future.result()

    def _judge(
        self, mutant: Mutant | None, tests: tuple[str, ...], nursery: Nursery, *, compiled: bool = False
    ) -> Outcome:
        begun = self.clock.now()
        with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
            tree = Path(directory) / "tree"
            shutil.copytree(self.root, tree, ignore=None if compiled else LEFT_BEHIND)
            try:
                if mutant is not None:
                    target = tree / mutant.file
                    target.write_text(mutant.apply(target.read_text(encoding="utf-8")), encoding="utf-8")
            except (TableError, OSError) as error:
                verdict, detail = Verdict.BROKEN, str(error)
            else:
                verdict, detail = self._test(tree, tests, nursery)
        return Outcome(mutant, verdict, detail, self.clock.now() - begun)

    def _test(self, tree: Path, tests: tuple[str, ...], nursery: Nursery) -> tuple[Verdict, str]:
        report, output = tree.parent / "report.xml", tree.parent / "output"
        options = ("-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", f"--junitxml={report}", *self.options)
        code = nursery.run(tree, (*options, *tests), output, longest=self.longest)
        if code is None:
            return Verdict.BROKEN, f"the tests did not end within {self.longest:g} s"
        if code == 0:
            return Verdict.SURVIVED, "no test failed"
        failed = first_failure(report) if code == 1 else ""
        last = output.read_text(encoding="utf-8").strip().rpartition("\n")[2]
        return (Verdict.KILLED, failed) if failed else (Verdict.BROKEN, f"pytest ended with {code}: {last}")


@contextmanager
def crew(jobs: int) -> Iterator[Callable[[Callable[[Nursery], Outcome]], Future[Outcome]]]:
    """Threads that work in nurseries, each with one of its own for as long as it works."""
    with ExitStack() as undo, ThreadPoolExecutor(jobs, thread_name_prefix="mutant") as pool:
        free: SimpleQueue[Nursery] = SimpleQueue()
        for _ in range(jobs):
            free.put(undo.enter_context(Nursery()))

        def work(judge: Callable[[Nursery], Outcome]) -> Outcome:
            nursery = free.get()
            try:
                return judge(nursery)
            finally:
                free.put(nursery)

        yield lambda judge: pool.submit(work, judge)


def first_failure(report: Path) -> str:
    """The first test that failed in pytest's JUnit report; "" if none did. An error in a fixture is no failure."""
    if not report.exists():
        return ""
    cases = ET.parse(report).iter("testcase")  # noqa: S314 - our own pytest wrote it
    return next((case.get("name", "?") for case in cases if case.find("failure") is not None), "")
