"""A process that has loaded what tests load of other projects, and is forked for each run of pytest.

Most of a short run is that loading. Nothing of this project is loaded in it, since each run has a tree of its own: it
is started as a script, by its path, and takes runs as lines of JSON on its standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

LOADED: Final = (
    *("pytest", "_pytest.junitxml", "pytest_timeout", "pytest_randomly", "xdist.plugin", "pytest_asyncio"),
    *("hypothesis", "hypothesis.strategies", "hypothesis.stateful"),
    *("click.testing", "yaml", "msgspec", "numpy", "tenacity", "http.server"),
    *("grpc", "google.protobuf.descriptor_pool", "google.protobuf.internal.builder"),
    *("opentelemetry.sdk.trace.export", "opentelemetry.sdk.metrics.export", "opentelemetry.proto.trace.v1.trace_pb2"),
)
"""What many tests load, or pytest does. What isn't there is left aside: it only saves time."""


LOADING: Final = 60.0
"""Seconds that the loading may take, and the end."""


class NurseryGone(Exception):
    """Nothing can be run there any more."""


class Nursery:
    """One such process, which does one run at a time. A context manager."""

    def __init__(self) -> None:
        # Its own session: Ctrl-C is for who waits here, and ends it by the end of its input.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, tree: Path, arguments: Sequence[str], output: Path, *, longest: float) -> int | None:
        """Run pytest in a tree, and end all that it leaves running.

        Args:
            output: Where what it prints goes.
            longest: Seconds that it may take.

        Returns:
            Its exit code, negative for a signal; None: it did not end in time.

        Raises:
            NurseryGone: The process has ended, or doesn't answer.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        order = {"tree": str(tree), "arguments": list(arguments), "output": str(output), "longest": longest}
        print(json.dumps(order), file=stdin, flush=True)
        heard, _, _ = select.select([stdout], [], [], longest + LOADING)
        told = stdout.readline() if heard else ""
        if not told:
            self._process.kill()
            raise NurseryGone(f"the process that runs tests {'has ended' if heard else 'does not answer'}")
        code: int | None = json.loads(told)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=LOADING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def serve() -> None:
    """Do runs until there is no more input."""
    for name in LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    while line := sys.stdin.readline():  # one is under way at most, so that nothing is left in the buffer
        order = json.loads(line)
        child = os.fork()
        if not child:
            _leave(order["tree"], order["arguments"], order["output"])
        print(json.dumps(_end(child, order["longest"])), flush=True)


def _leave(tree: str, arguments: list[str], output: str) -> None:
    """Become a run of pytest; never returns."""
    code = 70
    try:
        os.setsid()
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, written), (2, written)):
            os.dup2(source, number)
        os.chdir(tree)
        # The project is installed in editable mode: this puts the copy before the original, for child processes too.
        os.environ["PYTHONPATH"] = tree
        sys.path[0] = tree  # in place of the folder of this script
        import pytest  # noqa: PLC0415 - whatever it takes is loaded already

        code = int(pytest.main(arguments))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        with suppress(ValueError, OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _end(child: int, longest: float) -> int | None:
    """Wait for a run, and end its process group; None: it did not end in time, or nobody waits for it any more."""
    end = os.pidfd_open(child)
    done, _, _ = select.select([end, 0], [], [], longest)
    os.close(end)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # by itself, too: it may not have a group of its own yet
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if end in done else None


if __name__ == "__main__":
    serve()
