"""What an engine does, whichever it is: the same for Docker and for the one without."""

from __future__ import annotations

import pytest

from chaos.compose.diary import exit_code
from component.clock import SystemClock
from component.process import Gone
from tests.harness.wait import eventually

WITHIN = 60.0
CLOCK = SystemClock()


class Told:
    """Events, as they come."""

    def __init__(self):
        self.events = []

    def of(self, container, what):
        return [each for each in self.events if each.container == container.id and each.what == what]


class EngineContract:
    """Subclasses give the fixtures `engine` and `running`, a container of the project with a restart policy."""

    def test_it_is_listed_with_its_labels(self, engine, running):
        (found,) = engine.containers(running.project)
        assert (found.id, found.role, found.running, found.paused) == (running.id, "replica", True, False)
        assert found.restarts
        assert found.started > 0
        assert running.id in {each.id for each in engine.containers()}
        assert engine.containers("lockd-test-nobody") == ()
        assert [each.id for each in engine.containers(running.project, "replica")] == [running.id]
        assert engine.containers(running.project, "etcd") == ()

    def test_one_that_is_not_there_is_gone(self, engine, running):
        for ask in (engine.container, engine.unpause, engine.start, engine.stop):
            with pytest.raises(Gone):
                ask("f" * 64)

    def test_a_pause_stops_it_until_it_is_told_to_go_on(self, engine, running):
        engine.pause(running.id)
        assert engine.container(running.id).paused
        engine.unpause(running.id)
        engine.unpause(running.id)
        assert not engine.container(running.id).paused

    def test_what_crashes_inside_comes_back_as_another_run(self, engine, running, crash):
        told = Told()
        end = engine.events(told.events.append)
        try:
            crash(running)

            def back():
                now = engine.container(running.id)
                return now.running and now.started != running.started

            eventually(back, within=WITHIN)
            eventually(lambda: told.of(running, "start"), within=WITHIN)
            died, started = told.of(running, "die")[0], told.of(running, "start")[0]
            assert exit_code(died.exit_code) == -9
            assert died.at < started.at
        finally:
            end()

    def test_what_is_stopped_stays_away_until_it_is_started(self, engine, running):
        engine.stop(running.id)
        assert not engine.container(running.id).running
        with pytest.raises(Gone):
            engine.run(running.id, ("true",))
        engine.start(running.id)
        engine.start(running.id)
        assert engine.container(running.id).running

    def test_off_a_network_and_back_under_its_aliases(self, engine, running):
        (before,) = engine.container(running.id).networks
        engine.leave(running.id, before.network)
        assert engine.container(running.id).networks == ()
        engine.join(running.id, before)
        engine.join(running.id, before)
        (after,) = engine.container(running.id).networks
        assert (after.network, set(after.aliases)) >= (before.network, set(before.aliases))

    def test_what_is_over_is_remembered_for_a_while(self, engine, running):
        since = engine.container(running.id).started / 1e9
        engine.pause(running.id)
        engine.unpause(running.id)
        until = max(CLOCK.wall(), since) + 3600.0

        def told():
            return [each.what for each in engine.past(running.id, since - 1.0, min(until, CLOCK.wall()))]

        eventually(lambda: {"pause", "unpause"} <= set(told()), within=WITHIN)
