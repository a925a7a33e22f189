"""Random runs over the interpreter: a run that the kernel found, step by step, or any run by its number.

This draws what ``lower/kernel/walk_driver.py`` draws, in the same order; ``lower/random_runs/plan.py`` says what that
is. The kernel only tells the number of a run that violates something. What it violates is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from holdfast.ir.system import Property
from holdfast.lower.outcome import Cut
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.chance import Chance
from holdfast.lower.random_runs.plan import (
    CUT,
    DEPTH,
    FINAL,
    MASKED,
    STILL,
    STUCK,
    VIOLATED,
    Stops,
    WalkPlan,
    WalkTally,
    strides,
)
from holdfast.runs.judge import Judge, Violation
from holdfast.runs.rebuilding import Edge
from holdfast.runs.selection import Selection


@attrs.frozen
class RandomRun:
    """One run: the weights of its actions (0 for those it omitted), its states and steps, and why it ended."""

    number: int
    weights: tuple[int, ...]
    start: bytes
    edges: tuple[Edge, ...]
    stop: int
    violation: Violation | None


class Walker:
    """Makes the runs of a plan on the interpreter. The interpreter's statistics note what was decisive and cut."""

    def __init__(self, machine: Interpreter, selection: Selection, plan: WalkPlan) -> None:
        self.machine = machine
        self.selection = selection
        self.plan = plan
        self.actions = machine.system.actions
        self.judge = Judge(machine, selection)
        self.witnesses = selection.of_kind("witness")
        self.finals = selection.of_kind("final") if selection.deadlock else ()
        self._strides = [strides(machine.layout, action) for action in self.actions]

    def tally(self) -> WalkTally:
        """Nothing counted yet, to be given to ``run``."""
        sizes = (len(self.machine.checked_steps), len(self.machine.checked), len(self.witnesses))
        return WalkTally.empty(len(self.actions), *sizes)

    def run(self, number: int, tally: WalkTally | None = None) -> RandomRun:
        """The run of that number, added to the tally."""
        tally = self.tally() if tally is None else tally
        found = _Walk(self, number, tally).follow()
        length = len(found.edges)
        tally.stops[found.stop].add(Stops(1, length, length, length))
        tally.violation = number if found.violation is not None else None
        return found

    # Questions about one state --------------------------------------------------------------------------------

    def steps(self, state: bytes, action: int, process: int | None) -> list[Edge]:
        """The steps of an action, in the order of the arguments; of one process alone, unless that is None."""
        found = sorted(self.machine.successors[action](state), key=lambda step: step[1])
        edges = [(new, action, args) for new, args in found]
        if process is None:
            return edges
        return [edge for edge in edges if self.process(edge) == process]

    def process(self, edge: Edge) -> int:
        """Whose step that is."""
        _, action, args = edge
        number = sum(code * stride for code, stride in zip(args, self._strides[action], strict=True))
        return self.plan.schedule.process(action, number)


class _Walk:
    """One run as it goes."""

    def __init__(self, walker: Walker, number: int, tally: WalkTally) -> None:
        self.walker = walker
        self.machine = walker.machine
        self.plan = walker.plan
        self.number = number
        self.tally = tally
        self.chance = chance = Chance(self.plan.seed, number)
        self.weights = self._swarm() if self.plan.swarm else [1] * len(walker.actions)
        self.order, self.changes = self._priorities()
        self.start = self.state = self.plan.starts[chance.below(len(self.plan.starts))]
        self.left = list(self.weights)
        """The weights of the actions that may still be drawn in this state."""
        self.edges: list[Edge] = []

    def _swarm(self) -> list[int]:
        """The weights of the actions, 0 for those that are omitted."""
        chance, actions = self.chance, range(len(self.walker.actions))
        share = chance.below(100)
        kept = [chance.below(100) >= share for _ in actions]
        if not any(kept) and kept:
            kept[chance.below(len(kept))] = True
        # The weight of an action is drawn whether it stays or not.
        drawn = [1 + chance.below(100) for _ in actions]
        return [weight if stays else 0 for weight, stays in zip(drawn, kept, strict=True)]

    def _priorities(self) -> tuple[list[int], set[int]]:
        """The processes from the highest priority on, and the steps at which that changes."""
        schedule = self.plan.schedule
        if not schedule.prioritised:
            return [], set()
        order = list(range(schedule.processes))
        for last in range(schedule.processes - 1, 0, -1):
            other = self.chance.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order, {self.chance.below(schedule.prioritised) for _ in range(schedule.points)}

    def follow(self) -> RandomRun:
        """Take all steps."""
        self._look()
        violation = self.walker.judge.state(self.state)
        stop, stayed = (DEPTH, False) if violation is None else (VIOLATED, False)
        while violation is None and len(self.edges) < self.plan.depth:
            prioritised = len(self.edges) < self.plan.schedule.prioritised
            edge = self._draw_by_priority() if prioritised else self._draw(None)
            if edge is None and stayed and not prioritised:
                if not self._moves():
                    stop = STILL
                    break
                self.left = list(self.weights)
                edge = self._draw(None)
            if edge is None:
                stop = self._why_no_step()
                violation = self.walker.judge.deadlock() if stop == VIOLATED else None
                break
            stayed = edge[0] == self.state
            violation = self._take(edge, prioritised)
            stop = DEPTH if violation is None else VIOLATED
        return RandomRun(self.number, tuple(self.weights), self.start, tuple(self.edges), stop, violation)

    def _take(self, edge: Edge, prioritised: bool) -> Violation | None:
        """Take a step; what it violates."""
        old, (self.state, action, _) = self.state, edge
        self.edges.append(edge)
        self.tally.taken[action] += 1
        self._note_step(old, edge)
        if self.state == old:
            self.left[action] = 0
            if prioritised:
                self._demote(self.walker.process(edge))
        else:
            self._look()
        if prioritised or self.state != old:
            self.left = list(self.weights)
        return self.walker.judge.step(old, edge)

    # Drawing --------------------------------------------------------------------------------------------------

    def _draw(self, process: int | None) -> Edge | None:
        """An action by weight among those that are left, and one of its steps."""
        while any(self.left):
            drawn = self.chance.below(sum(self.left))
            action = 0
            while drawn >= self.left[action]:
                drawn -= self.left[action]
                action += 1
            steps = self.walker.steps(self.state, action, process)
            if steps:
                return steps[self.chance.below(len(steps))]
            self.left[action] = 0
        return None

    def _draw_by_priority(self) -> Edge | None:
        """A step of the first process that has one; at a change point that process comes last first."""
        change = len(self.edges) in self.changes
        place = 0
        while place < len(self.order):
            process = self.order[place]
            self.left = [weight if self._takes_part(process, a) else 0 for a, weight in enumerate(self.weights)]
            edge = self._draw(process)
            if edge is None:
                place += 1
            elif change:
                self._demote(process)
                change = False
            else:
                return edge
        return None

    def _takes_part(self, process: int, action: int) -> bool:
        """Whether an action may be one of the process."""
        schedule = self.plan.schedule
        return bool(schedule.strides[action]) == (process < schedule.elements)

    def _demote(self, process: int) -> None:
        self.order.remove(process)
        self.order.append(process)

    # Ending ---------------------------------------------------------------------------------------------------

    def _moves(self) -> bool:
        """Whether a step of an action that was not omitted leads to another state."""
        kept = (action for action, weight in enumerate(self.weights) if weight)
        return any(new != self.state for action in kept for new, _, _ in self.walker.steps(self.state, action, None))

    def _why_no_step(self) -> int:
        """The reason why a run ends in a state in which none of its actions has a step. It counts no cuts again."""
        cuts = self.machine.statistics.cut_counts
        before = list(cuts)
        enabled = any(self.walker.steps(self.state, action, None) for action in range(len(self.weights)))
        cut = cuts != before
        cuts[:] = before
        if enabled:
            return MASKED
        if any(self.machine.holds(prop, self.state) for prop in self.walker.finals):
            return FINAL
        if cut:
            return CUT
        return VIOLATED if self.walker.finals else STUCK

    # Noting ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Note which invariants say something in the state, and which witnesses it is."""
        tally = self.tally
        tally.silent_states = _silent(
            tally.silent_states, self.machine.checked, lambda prop: self.machine.triggered(prop, self.state)
        )
        for index, prop in enumerate(self.walker.witnesses):
            if tally.reached[index] is None and self.machine.holds(prop, self.state):
                tally.reached[index] = (self.number, len(self.edges))

    def _note_step(self, old: bytes, edge: Edge) -> None:
        """Note which step properties say something, and what becomes of the step when it is repeated."""
        new, action, args = edge
        name = self.walker.actions[action].name
        self.tally.silent_steps = _silent(
            self.tally.silent_steps,
            self.machine.checked_steps,
            lambda prop: prop.of in (None, name) and self.machine.triggered(prop, new, args, old=old),
        )
        if self.walker.actions[action] in self.walker.selection.idempotent and new != old:
            self.tally.repeats[action] += 1
            self.tally.unshown_repeats += isinstance(self.machine.step(new, name, args), Cut)


def _silent(silent: int, props: Sequence[Property], speaks: Callable[[Property], bool]) -> int:
    """The bits of the properties that still said nothing."""
    for index, prop in enumerate(props):
        if silent >> index & 1 and speaks(prop):
            silent ^= 1 << index
    return silent
