"""A search on the interpreter: state by state, in Python."""

from __future__ import annotations

from holdfast.check.budget import Meter
from holdfast.check.search.exploration import Exploration
from holdfast.ir.system import Property
from holdfast.lower.outcome import Cut
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.rebuilding import Discovery, Edge, keep_least, repeat_differs
from holdfast.runs.selection import Selection


class PlainSearch(Exploration):
    """Breadth-first, with the stored states in a dictionary.

    It gives up, with ``gave_up`` set, once it has stored more than ``patience`` states and is not done: something
    faster should take its place (None: never). If there is nothing faster, it can go on.
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
        """The states to expand next."""
        self.parents: dict[bytes, bytes | None] = {}
        """Every visited state, with the visited state it was first reached from; canonical states under symmetry."""
        self.witnesses = list(selection.of_kind("witness"))
        """The witnesses that no earlier level reached."""
        self.untriggered = list(selection.of_kind("invariant", "lemma"))
        """The invariants and lemmas that have not said anything yet."""
        self.untriggered_steps = [
            [prop for prop in selection.of_kind("step") if prop.of in (None, action.name)] for action in self.actions
        ]
        """For each action, the step properties that have not said anything yet."""
        self.checked_steps = [bool(props) for props in self.untriggered_steps]
        """For each action, whether any step property speaks of it."""
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
        return [*self.untriggered, *(prop for props in self.untriggered_steps for prop in props)]

    # Exploring ------------------------------------------------------------------------------------------------

    def explore(self) -> None:
        self._level = self.begin()
        for state in self._level:
            self._visit(state, None, 0)
        self.counters.initial = self.counters.generated = self.counters.waiting = len(self._level)
        self._drop_reached()
        self._expand_levels()

    def go_on(self) -> None:
        """After giving up, explore the rest all the same."""
        self.patience, self.gave_up = None, False
        self._expand_levels()

    def _expand_levels(self) -> None:
        while self._level and not self._must_stop():
            self.counters.widest_level = max(self.counters.widest_level, len(self._level))
            self._level = self._expand(self._level)
            self.counters.depth += bool(self._level)
            self._drop_reached()
        self.counters.widest_level = max(self.counters.widest_level, len(self._level))

    def _must_stop(self) -> bool:
        done = (bool(self.violations) and not self.keep_going) or self.meter.spent is not None
        self.gave_up = not done and self.patience is not None and len(self.parents) > self.patience
        return done or self.gave_up

    def _drop_reached(self) -> None:
        """What this level reached need not be looked for in the next."""
        self.witnesses = [prop for prop in self.witnesses if prop.name not in self.reached]

    def _expand(self, level: list[bytes]) -> list[bytes]:
        """The next level, in order. Every step out of this level is checked on the way."""
        parents, counters, meter, reduced, canonical = (
            self.parents, self.counters, self.meter, self.reduced, self.canonical
        )  # fmt: skip
        actions = list(zip(self.machine.successors, self.checked_steps, self.idempotent, strict=True))
        following: list[bytes] = []
        for position, state in enumerate(level):
            queue = counters.waiting = len(level) - position + len(following)
            if meter.tick(counters.depth, len(parents), counters.generated, queue):
                return self.in_order(following)
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
        first = self.machine.invariants(state)
        if first >= 0:
            self._note_violated(state, before, depth, first)
        if self.witnesses:
            self._note_reached(state, before, depth)
        if self.untriggered:
            self.untriggered = [prop for prop in self.untriggered if not self.machine.triggered(prop, state)]
        self.parents[state] = before

    # Checking states ------------------------------------------------------------------------------------------

    def _note_violated(self, state: bytes, before: bytes | None, depth: int, first: int) -> None:
        """Of a state, one violation counts: that of the first property. To keep going is to want each."""
        checked = self.machine.checked
        for prop in checked[first:] if self.keep_going else checked[first : first + 1]:
            if not self.machine.holds(prop, state):
                keep_least(self.violations, self.found_state(prop, state, before, depth))

    def _note_reached(self, state: bytes, before: bytes | None, depth: int) -> None:
        for prop in self.witnesses:
            if self.machine.holds(prop, state):
                keep_least(self.reached, self.found_state(prop, state, before, depth))

    def _check_end(self, state: bytes, *, cut: bool) -> None:
        """A state without a step is a deadlock, unless it is final or a bound of the scope cut a step from it."""
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
        if self.untriggered_steps[index]:
            self._note_triggered_by_step(state, index, steps)

    def _note_violated_by_step(self, state: bytes, edge: Edge, first: int) -> None:
        checked = self.machine.checked_steps
        for prop in checked[first:] if self.keep_going else checked[first : first + 1]:
            if self.violates(prop, state, edge):
                keep_least(self.violations, self.found_step(prop, state, edge[0], self.counters.depth + 1))

    def _note_triggered_by_step(self, state: bytes, index: int, steps: list[tuple[bytes, Args]]) -> None:
        seen = [
            prop
            for prop in self.untriggered_steps[index]
            if any(self.machine.triggered(prop, new, args, old=state) for new, args in steps)
        ]
        if seen:
            self.untriggered_steps = [[prop for prop in props if prop not in seen] for props in self.untriggered_steps]

    def _check_repeats(self, state: bytes, index: int, steps: list[tuple[bytes, Args]]) -> None:
        """After a step of an idempotent action, the same step must be possible and change nothing.

        A step that changed nothing repeats itself.
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
