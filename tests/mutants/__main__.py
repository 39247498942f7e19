"""Plant one-line bugs, one at a time, and see that a test turns red for each: `make mutants`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.mutants.runner import LONGEST, Outcome, Runner, Verdict
from tests.mutants.table import TableError, load

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ("--hypothesis-profile=mutants",)
"""The same examples each time, and none made smaller: that one fails is all there is to know."""


def describe(outcome: Outcome) -> str:
    mutant = outcome.mutant
    what = f"{mutant.file}: {mutant.name}" if mutant else "the tree without a mutant"
    return f"{outcome.verdict.value:8}  {what:68}  {outcome.seconds:5.1f} s  {outcome.detail}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="only those whose file or name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        mutants = [m for m in load(Path(__file__).parent) if arguments.pattern in f"{m.file}: {m.name}"]
    except TableError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    if not mutants or arguments.jobs < 1:
        print("mutants: nothing to do: no mutant matches, or --jobs is below 1", file=sys.stderr)
        return 2
    print(f"{len(mutants)} mutants, {arguments.jobs} at a time; first their tests on the tree as it is", flush=True)
    tests = (test for mutant in mutants for test in mutant.tests)
    base = Runner(ROOT, 10 * LONGEST, OPTIONS).unharmed(tests, arguments.jobs)
    if base.verdict is not Verdict.SURVIVED:
        print(f"mutants: the tests fail without any mutant: {base.detail}", file=sys.stderr)
        return 1
    outcomes = []
    for outcome in Runner(ROOT, options=OPTIONS).run(mutants, arguments.jobs):
        outcomes.append(outcome)
        print(f"{len(outcomes):3}/{len(mutants)}  {describe(outcome)}", flush=True)
    bad = [outcome for outcome in outcomes if outcome.verdict is not Verdict.KILLED]
    print(f"{len(outcomes) - len(bad)} killed, {len(bad)} not")
    for outcome in bad:
        print(f"  {describe(outcome)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
