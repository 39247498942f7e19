"""An exhaustive search through everything that few candidates, few writes and an unkind network can do to one lock.

Time is taken out: a standby may find the lock free at any moment, a leader may find its gate closed at any moment, so
false evidence and broken clocks are included. Any transaction that was sent may reach etcd at any later time, any
number of times; its answer comes at once, later, or never. Candidates die. Where the limits say so, they are asked to
stop, a person deletes keys of the lock, or etcd is replaced by an empty one. What must hold is asserted at each step
(`Search.after`) and in each state (`Search.judge`):

- S1: no guarded write of a term takes effect after the next one was acquired; at most one candidate's guard holds.
- S2: a renewal or a release replaces the record of its own term, never another's.
- Tokens are above 0 and grow (within one etcd's history), and a candidate that holds one was given it.
- No acquire or renewal is begun while another of the same candidate may yet be committed.
- An acquire by evidence replaces a record of the one that the evidence is against; two tries are made at most.
- Who says that it released holds no guard, and one that finds its own record without leading takes it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from lockd.evidence import SWAPS
from lockd.ports import Acquire
from tests.simulation.world import DEAD, World

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may happen.

    Attributes:
        replicas: Candidates.
        transactions: Lock transactions that each may begin.
        deaths: Candidates that may die, at any moment.
        stops: Candidates that may be asked to stop.
        deletions: Keys of the lock that a person may delete.
        wipes: Times that etcd may be replaced by an empty one, whose revisions begin anew.
        evidence: Times that a candidate may come by evidence against another, dead or alive. Above 0 no lease runs
            out, so that evidence is all there is.
    """

    replicas: int = 2
    transactions: int = 4
    deaths: int = 1
    stops: int = 0
    deletions: int = 0
    wipes: int = 0
    evidence: int = 0


class Sent(NamedTuple):
    """A transaction that was sent: copies of it may still be on their way.

    Attributes:
        committed: The revision of a commit whose answer its sender may yet get; 0 for none.
    """

    sender: int
    number: int
    committed: int


class State(NamedTuple):
    """Everything, as numbers of a `World`: the keys, the candidates, what is on its way, what may yet happen."""

    space: int
    machines: tuple[int, ...]
    sent: tuple[Sent, ...]
    term: tuple[int, int]
    """(token, its acquire) of the last acquire committed: the only guard that may hold."""
    deaths: int
    stops: int
    deletions: int
    wipes: int
    evidence: int = 0
    swaps: tuple[tuple[int, str], ...] = ()
    """Each acquire sent on evidence: whose, and whom it was to depose."""


class Violation(AssertionError):
    """Something that must hold does not; the text has the way there."""


class Search:
    """Breadth first, so that the way to a violation is a shortest one.

    Attributes:
        states: How many distinct states were reached, once `run` has returned.
        steps: How many steps between them.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.states = 0
        self.steps = 0
        self.world = World(
            limits.replicas, limits.transactions, one_history=not limits.wipes, evidence=limits.evidence > 0
        )

    def start(self) -> State:
        limits = self.limits
        may = (limits.deaths, limits.stops, limits.deletions, limits.wipes, limits.evidence)
        return State(0, self.world.first, (), (0, -1), *may)

    def run(self) -> Search:
        """Reach every state.

        Raises:
            Violation: With a shortest way to it.
        """
        states = [self.start()]
        parents = [0]
        numbers = {states[0]: 0}
        for number, state in enumerate(states):  # grows while it is walked through
            try:
                for after, _ in self.after(state):
                    self.steps += 1
                    if after not in numbers:
                        numbers[after] = len(states)
                        states.append(after)
                        parents.append(number)
                        self.judge(after)
            except AssertionError as error:
                raise Violation("\n".join([str(error), *self._way(states, parents, number)])) from error
        self.states = len(states)
        return self

    def _way(self, states: list[State], parents: list[int], last: int) -> list[str]:
        """The steps from the start to a state, and the state."""
        way = [last]
        while way[0]:
            way.insert(0, parents[way[0]])
        steps = [
            next(str(step) for state, step in self.after(states[before]) if state == states[after])
            for before, after in pairwise(way)
        ]
        return [*steps, f"after which one more step breaks it: {states[last]}"]

    # --- steps ---

    def after(self, state: State) -> Iterator[tuple[State, object]]:
        """Each state that one step leads to, and the step.

        Raises:
            AssertionError: A step was possible that must not be.
        """
        world = self.world
        for index, machine in enumerate(state.machines):
            if machine == DEAD:
                continue
            for after, step in world.alone(machine, state.space, stops=state.stops > 0):
                moved = self._moved(state, index, after)
                yield moved._replace(stops=state.stops - 1) if step == "is asked to stop" else moved, (index, step)
            for after, number in world.sends(machine, state.space) if self._turn(state, index) else ():
                self._nothing_else(state, index, number)
                sent = (*state.sent, Sent(index, number, 0))
                swaps = self._swapped(state, index, world.swapped(machine, after, number))
                sending = state._replace(sent=sent, swaps=swaps)
                yield self._moved(sending, index, after), (index, "sends", world.transactions[number])
            yield from self._convinced(state, index, machine)
            if state.deaths:
                yield self._moved(state._replace(deaths=state.deaths - 1), index, DEAD), (index, "dies")
        for sent in state.sent:
            yield from self._arrives(state, sent)
        if state.deletions:
            for space in world.deleted(state.space):
                after = state._replace(space=space, deletions=state.deletions - 1)
                yield self._tidy(after), "a person deletes a key"
        if state.wipes and state.space:
            yield self._tidy(state._replace(space=0, term=(0, -1), wipes=state.wipes - 1)), "etcd is wiped"

    def _convinced(self, state: State, index: int, machine: int) -> Iterator[tuple[State, object]]:
        """Evidence comes, true or false."""
        for after, step in self.world.convinced(machine, state.space) if state.evidence else ():
            yield self._moved(state._replace(evidence=state.evidence - 1), index, after), (index, step)

    @staticmethod
    def _swapped(state: State, index: int, deposed: str) -> tuple[tuple[int, str], ...]:
        """With one more acquire on evidence; a second try is the last."""
        if not deposed:
            return state.swaps
        assert state.swaps.count((index, deposed)) < SWAPS, f"{index} tries and tries to depose {deposed}"
        return tuple(sorted((*state.swaps, (index, deposed))))

    def _turn(self, state: State, index: int) -> bool:
        """Candidates differ in name alone, so they may as well begin in their order."""
        return index == 0 or state.machines[index - 1] != self.world.first[index - 1]

    def _arrives(self, state: State, sent: Sent) -> Iterator[tuple[State, object]]:
        """A copy reaches etcd, and its answer comes or doesn't; or the answer to a copy that did before comes."""
        world, (sender, number, committed) = self.world, sent
        space, revision = world.arrive(state.space, number)
        transaction = world.transactions[number]
        silent = state
        if space != state.space:
            term = state.term
            if isinstance(transaction, Acquire):
                assert revision > term[0], f"a token that does not grow: {revision}"
                term = (revision, number)
            else:
                world.replaces_its_own(state.space, number, state.term)
            marked = tuple(one for one in state.sent if one is not sent)
            silent = state._replace(space=space, sent=(*marked, Sent(sender, number, revision)), term=term)
            yield self._tidy(silent), ("committed without a word", transaction)
        machine = state.machines[sender]
        if machine == DEAD:
            return
        for after in world.answered(machine, number, silent.space, revision if space != state.space else 0):
            yield self._moved(silent, sender, after), (sender, "is answered at once", transaction)
        if committed:
            for after in world.answered(machine, number, silent.space, committed):
                yield self._moved(state, sender, after), (sender, "is answered late", transaction)

    def _moved(self, state: State, index: int, after: int) -> State:
        """One candidate takes a step; a token that it now holds is one that it was given."""
        if after != DEAD and (begun := self.world.begins(state.machines[index], after)):
            token, acquisition = begun
            got = [
                s.committed for s in state.sent if s.sender == index and self.world.begun_by(s.number) == acquisition
            ]
            assert got == [token], f"{index} holds token {token}, but was given {got}"
        machines = list(state.machines)
        machines[index] = DEAD if after != DEAD and self.world.spent(after) else after
        return self._tidy(state._replace(machines=tuple(machines)))

    def _tidy(self, state: State) -> State:
        """Without what can matter no more: what can't be committed, and answers that nobody waits for."""
        world, kept = self.world, []
        for sent in state.sent:
            if world.waits(state.machines[sent.sender], sent.number):
                kept.append(sent)
            elif state.wipes or world.possible(state.space, sent.number, deletions=state.deletions > 0):
                kept.append(Sent(sent.sender, sent.number, 0))
        kept.sort()
        return state._replace(sent=tuple(kept))

    # --- what must hold ---

    def judge(self, state: State) -> None:
        """What must hold in every state."""
        world, (token, acquire) = self.world, state.term
        stands = world.stands(state.space)
        if stands is not None:
            # A guard names the term key's revision and bytes, so only that of the term that stands can hold.
            assert stands == (token, world.begun_by(acquire)), f"S1: writes of term {stands} pass in term {token}"
        leaders = [index for index, machine in enumerate(state.machines) if world.guarded(machine, state.space)]
        assert len(leaders) <= 1, f"two leaders by etcd: {leaders}"

    def _nothing_else(self, state: State, sender: int, number: int) -> None:
        """While an acquire or a renewal may yet be committed, its sender begins no other."""
        world = self.world
        if self.limits.deletions or self.limits.wipes or not world.rivals(state.space, number):
            return  # an absent key that comes back is a stated limit, and a release may overtake a renewal
        for other in state.sent:
            if other.sender == sender and world.rivals(state.space, other.number):
                raise AssertionError(f"{sender} begins another while {world.transactions[other.number]} is unsettled")
