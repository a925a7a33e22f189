"""Random runs on the interpreter: any run, by its number, step by step.

The walker draws the same random numbers as ``lower/kernel/walk_draws.py``, in the same order.
``lower/random_runs/plan.py`` defines that order. The kernel reports only the number of a violating run; the walker
repeats the run and finds the violated property.
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
    STILL,
    STUCK,
    VIOLATED,
    Stops,
    WalkPlan,
    WalkTally,
    instances,
    strides,
    tries,
)
from holdfast.runs.judge import StepJudge, Violation
from holdfast.runs.rebuilding import Edge
from holdfast.runs.selection import Selection


@attrs.frozen
class RandomRun:
    """One run: the weights of its actions (0: omitted to the end), its initial state and steps, and why it ended.

    ``returned``: the omitted actions that came back, in that order. ``stop`` is one of the reasons in
    ``lower/random_runs/plan.py``.
    """

    number: int
    weights: tuple[int, ...]
    returned: tuple[int, ...]
    start: bytes
    edges: tuple[Edge, ...]
    stop: int
    violation: Violation | None


class Walker:
    """Makes the runs of a plan on the interpreter, whose statistics note decisive rules and cuts."""

    def __init__(self, machine: Interpreter, selection: Selection, plan: WalkPlan) -> None:
        self.machine = machine
        self.selection = selection
        self.plan = plan
        self.actions = machine.system.actions
        self.judge = StepJudge(machine, selection)
        self.witnesses = selection.of_kind("witness")
        self.finals = selection.of_kind("final") if selection.deadlock else ()
        self._strides = [strides(machine.layout, action) for action in self.actions]
        self._instances = [instances(machine.layout, action) for action in self.actions]

    def tally(self) -> WalkTally:
        """A new, empty tally for ``run``."""
        sizes = (len(self.machine.checked_steps), len(self.machine.checked), len(self.witnesses))
        return WalkTally.empty(len(self.actions), *sizes)

    def run(self, number: int, tally: WalkTally | None = None) -> RandomRun:
        """Make the run with this number and add it to the tally."""
        tally = self.tally() if tally is None else tally
        found = _Walk(self, number, tally).follow()
        length = len(found.edges)
        tally.stops[found.stop].add(Stops(1, length, length, length))
        tally.violation = number if found.violation is not None else None
        return found

    # Questions about one state --------------------------------------------------------------------------------

    def steps(self, state: bytes, action: int, process: int | None) -> list[Edge]:
        """The steps of an action in the order of their arguments; with ``process``, only the steps of that process."""
        found = sorted(self.machine.successors[action](state), key=lambda step: step[1])
        edges = [(new, action, args) for new, args in found]
        if process is None:
            return edges
        return [edge for edge in edges if self.process(edge) == process]

    def choices(self, action: int, process: int | None) -> int:
        """The number of instances of an action; with ``process``, only of those that belong to this process."""
        schedule = self.plan.schedule
        shared = process is not None and schedule.strides[action]
        return self._instances[action] // schedule.elements if shared else self._instances[action]

    def attempt(self, state: bytes, action: int, process: int | None, place: int) -> Edge | None:
        """The step of the instance at a place among ``choices``; None if the instance is not enabled."""
        number = place if process is None else self.plan.schedule.own(action, process, place)
        params = zip(self._strides[action], self.actions[action].params, strict=True)
        args = tuple(number // stride % self.machine.layout.codes(param.type) for stride, param in params)
        new = self.machine.attempt(state, self.actions[action].name, args)
        return None if new is None else (new, action, args)

    def process(self, edge: Edge) -> int:
        """The number of the process that takes the step."""
        _, action, args = edge
        number = sum(code * stride for code, stride in zip(args, self._strides[action], strict=True))
        return self.plan.schedule.process(action, number)


class _Walk:
    """One run in progress.

    The order of the draws matters everywhere in this class: the kernel draws in the same order.
    """

    def __init__(self, walker: Walker, number: int, tally: WalkTally) -> None:
        self.walker = walker
        self.machine = walker.machine
        self.plan = walker.plan
        self.number = number
        self.tally = tally
        self.chance = chance = Chance(self.plan.seed, number)
        self.weights, self.omitted = self._swarm() if self.plan.swarm else ([1] * len(walker.actions), {})
        self.returned: list[int] = []
        self.order, self.changes = self._priorities()
        self.start = self.state = self.plan.starts[chance.below(len(self.plan.starts))]
        self.left = list(self.weights)
        """The weights of the actions that may still be drawn in this state; 0 for all others."""
        self.edges: list[Edge] = []

    def _swarm(self) -> tuple[list[int], dict[int, int]]:
        """Draw which actions this run omits, and a weight for each action.

        Returns the weights of all actions, 0 for the omitted ones; and the weights with which those may come back.
        """
        chance, actions = self.chance, range(len(self.walker.actions))
        share = chance.below(100)
        kept = [chance.below(100) >= share for _ in actions]
        # At least one action stays.
        if not any(kept) and kept:
            kept[chance.below(len(kept))] = True
        drawn = [1 + chance.below(100) for _ in actions]
        return (
            [weight if stays else 0 for weight, stays in zip(drawn, kept, strict=True)],
            {action: drawn[action] for action in actions if not kept[action]},
        )

    def _priorities(self) -> tuple[list[int], set[int]]:
        """Draw the processes in the order of their priority, highest first, and the steps that are change points."""
        schedule = self.plan.schedule
        if not schedule.prioritised:
            return [], set()
        order = list(range(schedule.processes))
        # The Fisher-Yates shuffle, from the end.
        for last in range(schedule.processes - 1, 0, -1):
            other = self.chance.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order, {self.chance.below(schedule.prioritised) for _ in range(schedule.points)}

    def follow(self) -> RandomRun:
        """Take all steps of the run.

        An action whose step changed nothing is not drawn again before the state changes. ``stayed`` tells whether the
        last step changed nothing: then actions are out of the draw although they may have steps.
        """
        self._look()
        violation = self.walker.judge.state(self.state)
        stop, stayed = (DEPTH, False) if violation is None else (VIOLATED, False)
        while violation is None and len(self.edges) < self.plan.depth:
            prioritised = len(self.edges) < self.plan.schedule.prioritised
            edge = self._draw_by_priority() if prioritised else self._draw(None)
            waits = stayed and not prioritised
            if edge is None and waits:
                edge = self._draw_moving()
            if edge is None and self._brings_back():
                edge = self._draw_by_priority() if prioritised else self._draw_moving()
            if edge is None:
                stop = STILL if waits else self._why_no_step()
                violation = self.walker.judge.deadlock() if stop == VIOLATED else None
                break
            stayed = edge[0] == self.state
            violation = self._take(edge, prioritised)
            stop = DEPTH if violation is None else VIOLATED
        return RandomRun(
            self.number, tuple(self.weights), tuple(self.returned), self.start, tuple(self.edges), stop, violation
        )

    def _take(self, edge: Edge, prioritised: bool) -> Violation | None:
        """Take a step. Return its violation, if there is one."""
        old, (self.state, action, _) = self.state, edge
        self.edges.append(edge)
        self.tally.taken[action] += 1
        self._note_step(old, edge)
        if self.state == old:
            self.left[action] = 0
            # Otherwise this process would keep all others from running.
            if prioritised:
                self._demote(self.walker.process(edge))
        else:
            self._look()
        if prioritised or self.state != old:
            self.left = list(self.weights)
        return self.walker.judge.step(old, edge)

    # Drawing --------------------------------------------------------------------------------------------------

    def _draw_moving(self) -> Edge | None:
        """Draw among all actions of the run, only steps that change the state. None if no action has such a step."""
        self.left = list(self.weights)
        return self._draw(None, moving=True)

    def _draw(self, process: int | None, *, moving: bool = False) -> Edge | None:
        """Draw an action by weight among those that are left, then one of its steps. None if no action has a step.

        If ``moving``, only steps that change the state count.
        """
        while any(self.left):
            # Find the action whose share of the total weight the number falls into.
            drawn = self.chance.below(sum(self.left))
            action = 0
            while drawn >= self.left[action]:
                drawn -= self.left[action]
                action += 1
            choices = self.walker.choices(action, process)
            for _ in range(tries(choices)):
                tried = self.walker.attempt(self.state, action, process, self.chance.below(choices))
                if tried is not None and not (moving and tried[0] == self.state):
                    return tried
            steps = self.walker.steps(self.state, action, process)
            if moving:
                steps = [edge for edge in steps if edge[0] != self.state]
            if steps:
                return steps[self.chance.below(len(steps))]
            # The action has no step in this state, so draw among the others.
            self.left[action] = 0
        return None

    def _draw_by_priority(self) -> Edge | None:
        """Draw a step of the process with the highest priority that has one.

        At a change point that process first falls to the lowest priority, and the draw is repeated.
        """
        change = len(self.edges) in self.changes
        place = 0
        while place < len(self.order):
            process = self.order[place]
            self.left = [weight if self._takes_part(process, a) else 0 for a, weight in enumerate(self.weights)]
            edge = self._draw(process)
            if edge is None:
                place += 1
            elif change:
                # ``place`` stays: after the demotion the next process stands there.
                self._demote(process)
                change = False
            else:
                return edge
        return None

    def _takes_part(self, process: int, action: int) -> bool:
        """Whether the process may take the action."""
        schedule = self.plan.schedule
        # Stride 0 marks actions of the environment, which is the last process.
        return bool(schedule.strides[action]) == (process < schedule.elements)

    def _demote(self, process: int) -> None:
        self.order.remove(process)
        self.order.append(process)

    # Ending ---------------------------------------------------------------------------------------------------

    def _brings_back(self) -> bool:
        """Bring one omitted action back that has a step to another state. Returns False if none has one."""
        able = [
            action
            for action in self.omitted
            if any(new != self.state for new, _, _ in self.walker.steps(self.state, action, None))
        ]
        if not able:
            return False
        action = able[self.chance.below(len(able))]
        self.weights[action] = self.omitted.pop(action)
        self.returned.append(action)
        return True

    def _why_no_step(self) -> int:
        """The reason to end in a state in which no action has a step to another state. Restores the counts of cuts."""
        cuts = self.machine.statistics.cut_counts
        # The loop below asks for all steps a second time, omitted actions included, which counts their cuts again.
        before = list(cuts)
        enabled = any(self.walker.steps(self.state, action, None) for action in range(len(self.weights)))
        cut = cuts != before
        cuts[:] = before
        if enabled:
            return STILL
        if any(self.machine.holds(prop, self.state) for prop in self.walker.finals):
            return FINAL
        if cut:
            return CUT
        return VIOLATED if self.walker.finals else STUCK

    # Noting ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Note the invariants whose premise holds in the state, and the witnesses that it reaches."""
        tally = self.tally
        tally.silent_states = _silent(
            tally.silent_states, self.machine.checked, lambda prop: self.machine.premise(prop, self.state)
        )
        for index, prop in enumerate(self.walker.witnesses):
            if tally.reached[index] is None and self.machine.holds(prop, self.state):
                tally.reached[index] = (self.number, len(self.edges))

    def _note_step(self, old: bytes, edge: Edge) -> None:
        """Note the step properties whose premise holds, and the outcome of repeating an idempotent step."""
        new, action, args = edge
        name = self.walker.actions[action].name
        self.tally.silent_steps = _silent(
            self.tally.silent_steps,
            self.machine.checked_steps,
            lambda prop: prop.of in (None, name) and self.machine.premise(prop, new, args, old=old),
        )
        if self.walker.actions[action] in self.walker.selection.idempotent and new != old:
            self.tally.repeats[action] += 1
            self.tally.unshown_repeats += isinstance(self.machine.step(new, name, args), Cut)


def _silent(silent: int, props: Sequence[Property], speaks: Callable[[Property], bool]) -> int:
    """The bits of ``silent`` without those properties that ``speaks`` is true of."""
    for index, prop in enumerate(props):
        if silent >> index & 1 and speaks(prop):
            silent ^= 1 << index
    return silent
