"""Exact breadth-first search over whole states: is a bad state reachable within the scope?

States are explored level by level, a level being the states that are equally many steps away from the start, so the
first violation found has a shortest run. The search stores states themselves, not fingerprints of them, and so never
takes two states for one.

Under symmetry it stores one state of each orbit, the least ("canonical") one. What it answers does not depend on that,
nor on any order in which a machine happens to work: a level is expanded in the order of its orbits, so that an orbit
is first reached from the least of its predecessors; and a level is finished before a violation is chosen, so that
every run of that length competes. The first property of the source wins, and of its violations the least orbit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from holdfast.check.budget import Budget, Meter, Progress, interruptible
from holdfast.check.figures import Counters, figures, timing
from holdfast.check.result import VIOLATION, Result, Verdict, WitnessFigures
from holdfast.check.runs import Edge, Fits, Found, Runs, keep_least, repeat_differs
from holdfast.check.select import DEADLOCK, Selection, deadlock_claim, idempotence, select
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.system import Property, Scope, System
from holdfast.lower.interpreter import Args, Interpreter
from holdfast.lower.outcome import Cut
from holdfast.lower.symmetry import Symmetry
from holdfast.trace.trace import Claim, Origin

NO_BUDGET = Budget()


def search(
    system: System,
    scope: Scope,
    *,
    properties: Sequence[str] | None = None,
    symmetry: bool = True,
    keep_going: bool = False,
    budget: Budget = NO_BUDGET,
    progress: Callable[[Progress], None] | None = None,
    target: str | None = None,
    interpreter: Callable[..., Interpreter] = Interpreter,
) -> Result:
    """Explore every state reachable in the scope and check the properties in each.

    ``properties`` are names or rule ids; None is all that a search decides, idempotence and deadlocks included.
    ``keep_going`` explores on after a violation and reports each violated property once, with a shortest run.
    ``target`` is what the command line calls the model, for the line that repeats a run. The first Ctrl-C ends the
    search with what it has.

    Raises UsageError for unknown properties and for a scope that does not fit, and ModelError where the scope
    contradicts the model: an assumption is false, or a bound is exceeded at the start.
    """
    meter = Meter(budget, progress)
    with interruptible(meter):
        selection = select(system, properties)
        machine = interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
        options = [part for name in properties or () for part in ("--property", name)]
        options += ["--keep-going"] if keep_going else []
        origin = Origin(system, machine.layout, system.file if target is None else target, tuple(options))
        found = _Search(machine, selection, symmetry, keep_going, meter)
        found.explore()
        return found.result(origin)


class _Search:
    """One search: what was visited, what was found, what was counted."""

    def __init__(
        self, machine: Interpreter, selection: Selection, symmetry: bool, keep_going: bool, meter: Meter
    ) -> None:
        self.machine = machine
        self.selection = selection
        self.keep_going = keep_going
        self.meter = meter
        self.actions = machine.system.actions
        group = _group(machine, symmetry)
        self.reduced = symmetry and group is not None
        """Whether one state of each orbit is stored."""
        self.group_order = group.order if symmetry and group is not None else 1
        # Most steps lead to states met not long before, and an orbit costs more than a look into a table.
        self.canonical: Callable[[bytes], bytes] = _same if group is None else lru_cache(1 << 16)(group.canonical)

        self.starts: list[bytes] = []
        self.parents: dict[bytes, bytes | None] = {}
        """Every visited state, with the visited state it was first reached from; canonical states under symmetry."""
        self.counters = Counters([0] * len(self.actions), [0] * len(self.actions))
        self.violations: dict[str, Found] = {}
        """The best violation so far of each property, by the property's name."""
        self.reached: dict[str, Found] = {}
        """The best state so far for each witness, by the witness's name."""

        self.claims = {
            prop.name: Claim.of_property(prop) for prop in selection.of_kind("invariant", "lemma", "step", "witness")
        }
        self.finals = selection.of_kind("final") if selection.deadlock else ()
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

    # Exploring ------------------------------------------------------------------------------------------------

    def explore(self) -> None:
        """Visit every reachable state, as far as the budget goes and, unless ``keep_going``, up to a violation."""
        level = self._begin()
        while level and self.meter.spent is None and (self.keep_going or not self.violations):
            level = self._expand(level)
            self.counters.depth += bool(level)
            # What this level reached need not be looked for in the next.
            self.witnesses = [prop for prop in self.witnesses if prop.name not in self.reached]

    def _begin(self) -> list[bytes]:
        """The initial states, in order."""
        self.starts = self.machine.initial()
        self._check_assumptions()
        level: list[bytes] = []
        for state in self.starts:
            stored = self.canonical(state) if self.reduced else state
            if stored not in self.parents:
                self._visit(stored, None, 0)
                level.append(stored)
        self.counters.initial = self.counters.generated = self.counters.waiting = len(level)
        self.witnesses = [prop for prop in self.witnesses if prop.name not in self.reached]
        return self._sorted(level)

    def _expand(self, level: list[bytes]) -> list[bytes]:
        """The next level, in order. Every step out of this level is checked on the way."""
        parents, counters, meter, reduced, canonical = (
            self.parents, self.counters, self.meter, self.reduced, self.canonical
        )  # fmt: skip
        actions = list(zip(self.machine.successors, self.checked_steps, self.idempotent, strict=True))
        following: list[bytes] = []
        for position, state in enumerate(level):
            queue = counters.waiting = len(level) - position + len(following)
            counters.max_queue = max(counters.max_queue, queue)
            if meter.tick(counters.depth, len(parents), counters.generated, queue):
                return self._sorted(following)
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
        return self._sorted(following)

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

    def _sorted(self, level: list[bytes]) -> list[bytes]:
        """By orbit, then by state. Canonical states are their orbits."""
        return sorted(level) if self.reduced else sorted(level, key=lambda state: (self.canonical(state), state))

    # Checking states ------------------------------------------------------------------------------------------

    def _check_assumptions(self) -> None:
        """Assumptions speak of constants, so the initial states show them all."""
        scope = self.machine.scope
        for prop in self.selection.of_kind("assume"):
            if not all(self.machine.holds(prop, state) for state in self.starts):
                raise ModelError(
                    scope.at,
                    scope.name,
                    f"its constants contradict the assumption {prop.title}",
                    "give them other values, or mend the assumption",
                )

    def _note_violated(self, state: bytes, before: bytes | None, depth: int, first: int) -> None:
        """Of a state, one violation counts: that of the first property. To keep going is to want each."""
        checked = self.machine.checked
        for prop in checked[first:] if self.keep_going else checked[first : first + 1]:
            if not self.machine.holds(prop, state):
                keep_least(self.violations, self._found_state(prop, state, before, depth))

    def _note_reached(self, state: bytes, before: bytes | None, depth: int) -> None:
        for prop in self.witnesses:
            if self.machine.holds(prop, state):
                keep_least(self.reached, self._found_state(prop, state, before, depth))

    def _found_state(self, prop: Property, state: bytes, before: bytes | None, depth: int) -> Found:
        # The least of the states is that of the least orbit, so the state itself ranks it.
        return Found(self.claims[prop.name], prop, depth, (state,), before, state)

    def _check_end(self, state: bytes, *, cut: bool) -> None:
        """A state without a step is a deadlock, unless it is final or a bound of the scope cut a step from it."""
        if any(self.machine.holds(prop, state) for prop in self.finals):
            return
        if cut:
            self.counters.cut_ends += 1
            return
        claim = deadlock_claim(self.finals[0].at)
        keep_least(self.violations, Found(claim, None, self.counters.depth, (state,), self.parents[state], state))

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
            if self._violates(prop, state, edge):
                fits = self._violated_step(prop)
                keep_least(self.violations, self._found_step(self.claims[prop.name], prop, state, edge, fits))

    def _violated_step(self, prop: Property) -> Fits:
        return lambda old, edge: self._violates(prop, old, edge)

    def _violates(self, prop: Property, old: bytes, edge: Edge) -> bool:
        new, index, args = edge
        return prop.of in (None, self.actions[index].name) and not self.machine.holds_step(prop, old, new, args)

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
                edge, fits = (new, index, args), self._violated_repeat(index)
                keep_least(self.violations, self._found_step(idempotence(action), None, state, edge, fits))

    def _violated_repeat(self, index: int) -> Fits:
        name = self.actions[index].name

        def fits(_old: bytes, edge: Edge) -> bool:
            new, taken, args = edge
            return taken == index and repeat_differs(self.machine, new, self.machine.step(new, name, args))

        return fits

    def _found_step(self, claim: Claim, prop: Property | None, old: bytes, edge: Edge, fits: Fits) -> Found:
        rank = (self.canonical(edge[0]), self.canonical(old), old)
        return Found(claim, prop, self.counters.depth + 1, rank, old, edge[0], fits)

    # Answering ------------------------------------------------------------------------------------------------

    def result(self, origin: Origin) -> Result:
        """The answer, with the runs that show it."""
        system, spent = self.machine.system, self.meter.spent
        # The figures come first: rebuilding a run calls the functions that count.
        counted = figures(self.machine, self.selection, self.counters, len(self.parents), self.group_order)
        violations = self._chosen()
        verdict: Verdict = "violated" if violations else "out_of_budget" if spent is not None else "exhausted"
        runs = Runs(self.machine, self.canonical, self.starts, self.parents, origin)
        return Result(
            engine="search",
            model=system.name,
            target=origin.target,
            scope=self.machine.scope.name,
            variants=system.chosen,
            removed=system.removed,
            fingerprint=system.fingerprint,
            verdict=verdict,
            ended_by=spent or (VIOLATION if violations and not self.keep_going else None),
            figures=counted,
            findings=tuple(runs.trace(found) for found in violations),
            witnesses=tuple(
                WitnessFigures(
                    self.claims[prop.name],
                    runs.trace(self.reached[prop.name]) if prop.name in self.reached else None,
                )
                for prop in self.selection.of_kind("witness")
            ),
            vacuous=tuple(self.claims[prop.name] for prop in self._vacuous()),
            notes=tuple(self._notes()),
            timing=timing(self.meter, len(self.parents)),
        )

    def _chosen(self) -> list[Found]:
        """The violations to report: properties in the order of the source, then idempotence, then deadlocks."""
        names = [*self.claims, *(idempotence(action).name for action in self.selection.idempotent), DEADLOCK]
        chosen = [self.violations[name] for name in names if name in self.violations]
        return chosen if self.keep_going else chosen[:1]

    def _vacuous(self) -> list[Property]:
        silent = [*self.untriggered, *(prop for props in self.untriggered_steps for prop in props)]
        return [prop for prop in self.selection.of_kind("invariant", "lemma", "step") if prop in silent]

    def _notes(self) -> list[str]:
        notes = []
        liveness = [prop.title for prop in self.machine.system.of_kind("leads_to")]
        if liveness:
            notes.append(f"A search says nothing about liveness: {', '.join(liveness)}.")
        if self.violations and self.meter.spent is not None:
            notes.append("The search ended before this length was complete, so other runs as short may exist.")
        return notes


def _group(machine: Interpreter, symmetry: bool) -> Symmetry | None:
    """The group of the scope; None where it is trivial, or too large for a search that does without it."""
    try:
        group = Symmetry(machine.layout)
    except UsageError:
        if symmetry:
            raise
        return None
    return None if group.trivial else group


def _same(state: bytes) -> bytes:
    return state
