"""A search on the interpreter, state by state, in Python."""

from __future__ import annotations

from holdfast.check.budget import Meter
from holdfast.check.handover import states_within
from holdfast.check.search.exploration import Exploration
from holdfast.ir.system import Property
from holdfast.lower.outcome import Cut
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.rebuilding import Discovery, Edge, keep_least, repeat_differs
from holdfast.runs.selection import Selection


class PlainSearch(Exploration):
    """A breadth-first search that stores its states in a dictionary.

    If it is not done after a level and has stored more than ``patience`` states (None: no limit), it stops and sets
    ``gave_up``: a faster engine should take its place. If there is none, ``go_on`` continues.
    """

    def __init__(
        self,
        machine: Interpreter,
        selection: Selection,
        symmetry: bool,
        keep_going: bool,
        meter: Meter,
        patience: int | None = None,
    ) -> None:
        super().__init__(machine, selection, symmetry, keep_going, meter)
        self.patience = patience
        self.gave_up = False
        self._level: list[bytes] = []
        """The frontier: the states to expand next."""
        self.parents: dict[bytes, bytes | None] = {}
        """Every visited state, with the visited state it was first reached from. Under symmetry both are canonical."""
        self.witnesses = list(selection.of_kind("witness"))
        """The witnesses that no earlier level reached."""
        judged = () if selection.violations_only else selection.properties
        self.vacuous = [prop for prop in judged if prop.kind in ("invariant", "lemma")]
        """The invariants and lemmas whose premise has not been true yet."""
        self.vacuous_steps = [
            [prop for prop in judged if prop.kind == "step" and prop.of in (None, action.name)]
            for action in self.actions
        ]
        """For each action, the step properties whose premise has not been true yet."""
        self.checked_steps = [
            any(prop.of in (None, action.name) for prop in selection.of_kind("step")) for action in self.actions
        ]
        """For each action, whether a step property is about it."""
        self.idempotent = [action in selection.idempotent for action in self.actions]

    @property
    def distinct(self) -> int:
        return len(self.parents)

    def path(self, found: Discovery) -> list[bytes]:
        path, state = [found.last], found.before
        while state is not None:
            path.append(state)
            state = self.parents[state]
        return path[::-1]

    def silent(self) -> list[Property]:
        return [*self.vacuous, *(prop for props in self.vacuous_steps for prop in props)]

    # Exploring ------------------------------------------------------------------------------------------------

    def explore(self) -> None:
        self._level = self.begin()
        for state in self._level:
            self._visit(state, None, 0)
        self.counters.initial = self.counters.generated = self.counters.waiting = len(self._level)
        self._drop_reached()
        self._expand_levels()

    def go_on(self, patience: int | None = None) -> None:
        """Explore on after giving up: the rest, or up to ``patience`` states."""
        self.patience, self.gave_up = patience, False
        self._expand_levels()

    def within(self, microseconds: float) -> int:
        """The number of states that this search explores in about this time."""
        return states_within(microseconds, self.machine.layout, 1 if self.group is None else self.group.effort)

    def _expand_levels(self) -> None:
        while self._level and not self._must_stop():
            self.counters.widest_level = max(self.counters.widest_level, len(self._level))
            self._level = self._expand(self._level)
            self.counters.depth += bool(self._level)
            self._drop_reached()
        self.counters.widest_level = max(self.counters.widest_level, len(self._level))

    def _must_stop(self) -> bool:
        # This is asked between levels only: a level is complete before a violation ends the search.
        done = (bool(self.violations) and not self.keep_going) or self.meter.spent is not None
        self.gave_up = not done and self.patience is not None and len(self.parents) > self.patience
        return done or self.gave_up

    def _drop_reached(self) -> None:
        """Stop looking for the witnesses that this level reached. Within one level the least state still competes."""
        self.witnesses = [prop for prop in self.witnesses if prop.name not in self.reached]

    def _expand(self, level: list[bytes]) -> list[bytes]:
        """Expand a level and check its steps. Return the next level, in order; incomplete if the budget is spent."""
        # Local names: this is the inner loop of the interpreter's search.
        parents, counters, meter, reduced, canonical = (
            self.parents, self.counters, self.meter, self.reduced, self.canonical
        )  # fmt: skip
        actions = list(zip(self.machine.successors, self.checked_steps, self.idempotent, strict=True))
        following: list[bytes] = []
        for position, state in enumerate(level):
            queue = counters.waiting = len(level) - position + len(following)
            if meter.tick(counters.depth, len(parents), counters.generated, queue):
                return self.in_order(following)
            # Computing the successors counts the cut steps. If the count grows and no step is left, a bound is to blame
            # and the state is no deadlock.
            stuck, cut_before = True, self._cuts() if self.finals else 0
            for index, (successors, has_step_properties, idempotent) in enumerate(actions):
                steps = successors(state)
                if not steps:
                    continue
                stuck = False
                counters.taken[index] += len(steps)
                counters.generated += len(steps)
                if has_step_properties:
                    self._check_steps(state, index, steps)
                if idempotent:
                    self._check_repeats(state, index, steps)
                for new, _ in steps:
                    # A visited state needs no canonical form: under symmetry only canonical states are stored.
                    if new in parents:
                        continue
                    stored = canonical(new) if reduced else new
                    if stored not in parents:
                        self._visit(stored, state, counters.depth + 1)
                        following.append(stored)
            if stuck and self.finals:
                self._check_end(state, cut=self._cuts() != cut_before)
        counters.waiting = len(following)
        return self.in_order(following)

    def _visit(self, state: bytes, before: bytes | None, depth: int) -> None:
        """Check a new state, then store it."""
        # The index of the first violated property, or -1.
        first = self.machine.invariants(state)
        if first >= 0:
            self._note_violated(state, before, depth, first)
        if self.witnesses:
            self._note_reached(state, before, depth)
        if self.vacuous:
            self.vacuous = [prop for prop in self.vacuous if not self.machine.premise(prop, state)]
        self.parents[state] = before

    # Checking states ------------------------------------------------------------------------------------------

    def _note_violated(self, state: bytes, before: bytes | None, depth: int, first: int) -> None:
        """Note the first property that the state violates; all of them if the search keeps going.

        ``first`` is the index of the first violated property.
        """
        checked = self.machine.checked
        for prop in checked[first:] if self.keep_going else checked[first : first + 1]:
            if not self.machine.holds(prop, state):
                keep_least(self.violations, self.found_state(prop, state, before, depth))

    def _note_reached(self, state: bytes, before: bytes | None, depth: int) -> None:
        for prop in self.witnesses:
            if self.machine.holds(prop, state):
                keep_least(self.reached, self.found_state(prop, state, before, depth))

    def _check_end(self, state: bytes, *, cut: bool) -> None:
        """Note a deadlock: a state without a step, unless it is final or a bound of the scope cut one of its steps."""
        if any(self.machine.holds(prop, state) for prop in self.finals):
            return
        if cut:
            self.counters.cut_ends += 1
            return
        keep_least(self.violations, self.found_end(state, self.parents[state], self.counters.depth))

    def _cuts(self) -> int:
        return sum(self.machine.statistics.cut_counts)

    # Checking steps -------------------------------------------------------------------------------------------

    def _check_steps(self, state: bytes, index: int, steps: list[tuple[bytes, Args]]) -> None:
        failing = self.machine.steps[index]
        for new, args in steps:
            first = failing(new, state, args)
            if first >= 0:
                self._note_violated_by_step(state, (new, index, args), first)
        if self.vacuous_steps[index]:
            self._note_premises_of_step(state, index, steps)

    def _note_violated_by_step(self, state: bytes, edge: Edge, first: int) -> None:
        checked = self.machine.checked_steps
        for prop in checked[first:] if self.keep_going else checked[first : first + 1]:
            if self.violates(prop, state, edge):
                keep_least(self.violations, self.found_step(prop, state, edge[0], self.counters.depth + 1))

    def _note_premises_of_step(self, state: bytes, index: int, steps: list[tuple[bytes, Args]]) -> None:
        seen = [
            prop
            for prop in self.vacuous_steps[index]
            if any(self.machine.premise(prop, new, args, old=state) for new, args in steps)
        ]
        if seen:
            self.vacuous_steps = [[prop for prop in props if prop not in seen] for props in self.vacuous_steps]

    def _check_repeats(self, state: bytes, index: int, steps: list[tuple[bytes, Args]]) -> None:
        """Repeat each step of an idempotent action: the repetition must be possible and change nothing.

        A step that changes nothing needs no check: its repetition is the same step.
        """
        action = self.actions[index]
        for new, args in steps:
            if new == state:
                continue
            self.counters.repeats[index] += 1
            outcome = self.machine.step(new, action.name, args)
            if isinstance(outcome, Cut):
                self.counters.unshown_repeats += 1
            elif repeat_differs(self.machine, new, outcome):
                keep_least(self.violations, self.found_repeat(index, state, new, self.counters.depth + 1))
