"""Each case is a process of its own: what is looked at is how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

from component.clock import SystemClock
from tests.harness.wait import eventually

CLOCK = SystemClock()

BEGIN = """
import ctypes, os, sys, threading
from component.clock import SystemClock
from component import exit as leaving
from component.exit import Watchdog, leave
clock = SystemClock()
HANG = 2.5  # leaves a busy machine a quarter of a second between giving up and the watchdog
def hold_the_interpreter():
    ctypes.PyDLL(None).sleep(100)
"""
LONG = 30
"""Seconds that no case comes near unless something hangs, which would last 100."""


def run(code, **options):
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONG,
        check=False,
        **options,
    )


class TestWatchdog:
    def test_ends_a_process_whose_interpreter_is_held(self):
        ended = run("Watchdog(clock).arm(clock.now() + 0.2); hold_the_interpreter()")
        assert (ended.returncode, ended.stderr) == (1, "")

    def test_the_stacks_of_one_that_runs_on_are_told(self):
        ended = run("""
            leaving.NOTICE = 1.0  # a busy machine has time for the stacks
            def run_on():
                threading.Event().wait()
            Watchdog(clock).arm(clock.now() + 2.0)
            run_on()
        """)
        assert ended.returncode == 1
        assert ended.stderr.startswith("The time for an orderly end is over.")
        assert "in run_on" in ended.stderr

    def test_not_if_it_was_armed_again_in_time(self):
        ended = run("""
            watchdog = Watchdog(clock)
            leaving.NOTICE = 1.0
            for later in range(20):
                watchdog.arm(clock.now() + 3.0)
                clock.wait(threading.Event(), 0.02)
            watchdog.arm(clock.now() + 1000)
            clock.wait(threading.Event(), 2.5)
            os._exit(7)
        """)
        assert (ended.returncode, ended.stderr) == (7, "")

    def test_stacks_are_told_in_time_for_a_sooner_moment(self):
        ended = run("""
            watchdog = Watchdog(clock)
            leaving.NOTICE = 1.0
            watchdog.arm(clock.now() + 1000)
            clock.wait(threading.Event(), 0.1)
            watchdog.arm(clock.now() + 2.0)
            threading.Event().wait()
        """)
        assert (ended.returncode, ended.stderr[:8]) == (1, "The time")

    def test_stacks_are_told_once_more_after_an_exit_that_was_put_off_when_they_were_written(self):
        ended = run("""
            watchdog, told, write = Watchdog(clock), threading.Event(), leaving.faulthandler.dump_traceback
            leaving.faulthandler.dump_traceback = lambda *args, **options: (write(*args, **options), told.set())
            leaving.NOTICE = 1000.0
            watchdog.arm(clock.now() + 500.0)  # the stacks are due at once
            told.wait()
            leaving.NOTICE = 2.5  # a busy machine has time for the stacks
            watchdog.arm(clock.now() + 3.0)
            threading.Event().wait()
        """)
        assert ended.returncode == 1
        assert ended.stderr.count("The time for an orderly end is over.") == 2

    def test_without_a_word_if_so_asked(self):
        ended = run("Watchdog(clock, stacks=False).arm(clock.now() + 0.3); threading.Event().wait()")
        assert (ended.returncode, ended.stderr) == (1, "")

    def test_its_time_goes_on_while_the_process_is_stopped(self):
        code = "Watchdog(clock).arm(clock.now() + 0.5); print('armed', flush=True); threading.Event().wait()"
        command = [sys.executable, "-c", BEGIN + code]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "armed\n"
            process.send_signal(signal.SIGSTOP)
            end = CLOCK.now() + 0.5
            eventually(lambda: CLOCK.now() >= end, within=LONG)
            process.send_signal(signal.SIGCONT)
            assert process.wait(LONG) == 1

    def test_it_is_tried_again_when_no_thread_is_to_be_had(self):
        ended = run("""
            import resource
            watchdog = Watchdog(clock, stacks=False)
            watchdog.arm(clock.now() + 0.2)
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (1, most))  # no memory for its stack
            clock.wait(threading.Event(), 1.0)
            os.write(1, b"still there")
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            clock.wait(threading.Event(), 5.0)
            os._exit(7)
        """)
        assert (ended.returncode, ended.stdout) == (1, "still there")

    def test_one_that_can_have_no_timer_is_told(self):
        ended = run("""
            import resource
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
            try:
                Watchdog(clock).arm(clock.now() + 1000)
            except OSError as error:
                print(error)
        """)
        assert ended.stdout.startswith("[Errno 11] no timer for the end of the process: ")

    def test_a_moment_that_is_past_means_at_once(self):
        assert run("Watchdog(clock).arm(clock.now() - 5); hold_the_interpreter()").returncode == 1

    def test_arming_again_replaces(self):
        ended = run("""
            watchdog = Watchdog(clock)
            watchdog.arm(clock.now() + 0.3)
            watchdog.arm(clock.now() + 1000)
            clock.wait(threading.Event(), 0.6)
            os._exit(7)
        """)
        assert ended.returncode == 7

    def test_the_sooner_of_two_moments(self):
        ended = run("""
            watchdog = Watchdog(clock)
            watchdog.arm_by(clock.now() + 0.2)
            watchdog.arm_by(clock.now() + 1000)
            hold_the_interpreter()
        """)
        assert ended.returncode == 1

    def test_disarmed(self):
        ended = run("""
            watchdog = Watchdog(clock)
            watchdog.arm(clock.now() + 0.3)
            watchdog.disarm()
            assert watchdog.armed_at is None
            clock.wait(threading.Event(), 0.6)
            os._exit(7)
        """)
        assert ended.returncode == 7

    def test_a_standard_error_that_nobody_reads_does_not_keep_it(self):
        reading, writing = os.pipe()
        try:
            os.set_blocking(writing, False)
            while True:
                try:
                    os.write(writing, b"x" * 65536)
                except BlockingIOError:
                    break
            os.set_blocking(writing, True)
            ended = run("Watchdog(clock).arm(clock.now() + 0.5); threading.Event().wait()", stderr=writing)
        finally:
            os.close(reading)
            os.close(writing)
        assert ended.returncode == 1

    def test_the_end_of_a_file_is_where_the_stacks_go(self, tmp_path):
        path = tmp_path / "stderr"
        with path.open("w") as stderr:
            ended = run(
                "leaving.NOTICE = 1.0; print('before', file=sys.stderr)\n"
                "Watchdog(clock).arm(clock.now() + 2.0); threading.Event().wait()",
                stderr=stderr,
            )
        assert ended.returncode == 1
        text = path.read_text()
        assert text.startswith("before\nThe time for an orderly end is over.")
        assert "Thread 0x" in text

    def test_works_with_standard_error_closed(self):
        assert run("os.close(2); Watchdog(clock).arm(clock.now() + 0.2); hold_the_interpreter()").returncode == 1


class TestLeave:
    def test_runs_the_steps_in_order_then_ends_with_the_code(self):
        ended = run("""
            steps = [("a", lambda left: print("a", left <= 60)), ("b", lambda left: print("b", 0 < left <= 60))]
            leave(3, steps=steps, bound=60, clock=clock)
        """)
        assert (ended.returncode, ended.stdout) == (3, "a True\nb True\n")

    def test_a_process_that_can_have_no_timer_has_its_steps(self):
        ended = run("""
            import resource
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
            leave(3, steps=[("release", lambda left: print("released"))], bound=60, clock=clock)
        """)
        assert (ended.returncode, ended.stdout) == (3, "released\n")
        assert "the exit has no watchdog" in ended.stderr

    def test_a_step_that_hangs_is_abandoned_and_output_is_flushed(self):
        ended = run("""
            print("kept", end="")
            leave(0, steps=[("hang", lambda left: threading.Event().wait())], bound=HANG, clock=clock)
        """)
        assert (ended.returncode, ended.stdout) == (0, "kept")
        assert "step of the exit hung and was abandoned" in ended.stderr

    def test_a_step_that_raises_does_not_keep_the_next_from_its_turn(self):
        ended = run("""
            steps = [("bad", lambda left: 1 / 0), ("good", lambda left: print("good"))]
            leave(0, steps=steps, bound=60, clock=clock)
        """)
        assert (ended.returncode, ended.stdout) == (0, "good\n")
        assert "step of the exit failed" in ended.stderr

    def test_a_step_gets_what_the_one_before_left(self):
        ended = run("""
            seen = []
            steps = [("slow", lambda left: (seen.append(left), clock.wait(threading.Event(), 0.2))),
                     ("next", lambda left: print(0 < left < seen[0] - 0.15))]
            leave(0, steps=steps, bound=60, clock=clock)
        """)
        assert ended.stdout == "True\n"

    def test_no_time_is_left_after_a_step_that_took_all(self):
        ended = run("""
            steps = [("hang", lambda left: threading.Event().wait()), ("late", lambda left: print("late"))]
            leave(0, steps=steps, bound=HANG, clock=clock)
        """)
        assert (ended.returncode, ended.stdout) == (0, "")
        assert "no time left for a step of the exit" in ended.stderr

    def test_a_step_that_holds_the_interpreter_is_ended_by_the_watchdog(self):
        assert (
            run("""
            leave(0, steps=[("hold", lambda left: hold_the_interpreter())], bound=0.5, clock=clock)
        """).returncode
            == 1
        )

    def test_a_moment_armed_earlier_goes_on_counting(self):
        ended = run("""
            watchdog = Watchdog(clock)
            watchdog.arm(clock.now() + 0.2)
            hang = [("hang", lambda left: threading.Event().wait())]
            leave(0, steps=hang, bound=1000, clock=clock, watchdog=watchdog)
        """)
        assert ended.returncode == 1

    def test_neither_another_thread_nor_an_exit_handler_keeps_it(self):
        ended = run("""
            import atexit
            atexit.register(threading.Event().wait)
            threading.Thread(target=threading.Event().wait).start()
            leave(4, steps=[], bound=60, clock=clock)
        """)
        assert ended.returncode == 4

    def test_a_standard_output_that_nobody_reads_does_not_keep_it(self):
        code = BEGIN + textwrap.dedent("""
            sys.stdout = open(1, "w", buffering=10**6)
            sys.stdout.write("x" * 200_000)
            leave(0, steps=[], bound=HANG, clock=clock)
        """)
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.wait(LONG) == 0
