"""The base class of all searches: their common data, and the answer. Subclasses explore, on interpreter or kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache

from holdfast.check.budget import Meter
from holdfast.check.figures import Counters, figures, timing
from holdfast.check.result import VIOLATION, Result, Verdict, WitnessFigures
from holdfast.ir.system import LIVENESS, Property
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import group_of, unrenamed
from holdfast.runs.rebuilding import Discovery, Edge, Fits, RunBuilder, repeat_differs
from holdfast.runs.replay import with_every_ghost
from holdfast.runs.selection import Selection, deadlock_claim, idempotence, select
from holdfast.runs.starts import initial_states
from holdfast.trace.trace import Claim, Origin, Trace


class Exploration(ABC):
    """One search: its discoveries, its counters, and the answer that follows from them."""

    def __init__(
        self, machine: Interpreter, selection: Selection, symmetry: bool, keep_going: bool, meter: Meter
    ) -> None:
        self.machine = machine
        self.selection = selection
        self.keep_going = keep_going
        self.meter = meter
        self.cut_short = False
        self.actions = machine.system.actions
        self.group = group_of(machine.layout, required=symmetry)
        self.reduced = symmetry and self.group is not None
        """Whether the search stores one state of each orbit only."""
        self.group_order = self.group.order if symmetry and self.group is not None else 1
        # Without reduction the group still orders the states, so that both kinds of search find the same run.
        # Canonical states are cached: most steps lead to recent states, and an orbit costs more than a lookup.
        self.canonical: Callable[[bytes], bytes] = (
            unrenamed if self.group is None else lru_cache(1 << 16)(self.group.canonical)
        )
        self.starts: list[bytes] = []
        self.counters = Counters([0] * len(self.actions), [0] * len(self.actions))
        self.violations: dict[str, Discovery] = {}
        """The best violation found so far, by the name of the property: least in depth, then in rank."""
        self.reached: dict[str, Discovery] = {}
        """The best state found so far, by the name of the witness: least in depth, then in rank."""
        self.finals = selection.of_kind("final") if selection.deadlock else ()
        self.notes: list[str] = []

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """The claims of the properties that are checked, by name."""
        judged = self.selection.of_kind("invariant", "lemma", "step", "witness")
        return {prop.name: Claim.of_property(prop) for prop in judged}

    @property
    @abstractmethod
    def distinct(self) -> int:
        """The number of stored states."""

    @abstractmethod
    def explore(self) -> None:
        """Visit every reachable state. Stop when the budget is spent or, unless ``keep_going``, at a violation."""

    @abstractmethod
    def path(self, found: Discovery) -> list[bytes]:
        """The stored states on the way from an initial state to the discovery, in order."""

    @abstractmethod
    def silent(self) -> list[Property]:
        """The properties whose premise was never true."""

    def begin(self) -> list[bytes]:
        """Find the initial states. Return those to store, in the order in which to expand them.

        ``cut_short`` tells whether the budget was spent before all of them were known. Then the search must end.
        """
        self.starts = initial_states(self.machine, self.selection)
        orbits: dict[bytes, bytes] = {}
        for state in self.starts:
            # There may be a million of them, and in a large group each of them takes long.
            self.cut_short = bool(orbits) and self.meter.tick(0, 0, 0, len(self.starts) - len(orbits))
            if self.cut_short:
                break
            orbits[state] = self.canonical(state)
        if self.reduced:
            return sorted(set(orbits.values()))
        return sorted(orbits, key=lambda state: (orbits[state], state))

    def in_order(self, level: list[bytes]) -> list[bytes]:
        """The states of a level sorted by orbit, then by state. A canonical state stands for its orbit."""
        return sorted(level) if self.reduced else sorted(level, key=lambda state: (self.canonical(state), state))

    # Discoveries ----------------------------------------------------------------------------------------------

    def found_state(self, prop: Property, state: bytes, before: bytes | None, depth: int) -> Discovery:
        """The discovery of a state that violates an invariant or reaches a witness."""
        return Discovery(self.claims[prop.name], prop, depth, self._state_rank(state), before, state)

    def found_end(self, state: bytes, before: bytes | None, depth: int) -> Discovery:
        """The discovery of a state without a step."""
        return Discovery(deadlock_claim(self.machine.system), None, depth, self._state_rank(state), before, state)

    def _state_rank(self, state: bytes) -> tuple[bytes, ...]:
        # In a small group the least state of all is the canonical state of the least orbit: the state serves as rank.
        # If only canonical states are stored, it does, too.
        by_orbit = self.group is not None and self.group.form is not None and not self.reduced
        return (self.canonical(state), state) if by_orbit else (state,)

    def found_step(self, prop: Property, old: bytes, new: bytes, depth: int) -> Discovery:
        """The discovery of a step that violates a step property."""
        return self._found_step(self.claims[prop.name], prop, old, new, depth, self._violated_step(prop))

    def found_repeat(self, index: int, old: bytes, new: bytes, depth: int) -> Discovery:
        """The discovery of a step of an idempotent action whose repetition is refused or changes something."""
        claim = idempotence(self.machine.system, self.actions[index])
        return self._found_step(claim, None, old, new, depth, self._violated_repeat(index))

    def _found_step(
        self, claim: Claim, prop: Property | None, old: bytes, new: bytes, depth: int, fits: Fits
    ) -> Discovery:
        rank = (self.canonical(new), self.canonical(old), old)
        return Discovery(claim, prop, depth, rank, old, new, fits)

    def violates(self, prop: Property, old: bytes, edge: Edge) -> bool:
        """Whether a step violates a step property."""
        new, index, args = edge
        return prop.of in (None, self.actions[index].name) and not self.machine.holds_step(prop, old, new, args)

    def _violated_step(self, prop: Property) -> Fits:
        return lambda old, edge: self.violates(prop, old, edge)

    def _violated_repeat(self, index: int) -> Fits:
        name = self.actions[index].name

        def fits(_old: bytes, edge: Edge) -> bool:
            new, taken, args = edge
            return taken == index and repeat_differs(self.machine, new, self.machine.step(new, name, args))

        return fits

    # Answering ------------------------------------------------------------------------------------------------

    def result(self, origin: Origin) -> Result:
        """The answer of the search, with the runs that show it."""
        system, spent = self.machine.system, self.meter.spent
        # The figures come first: rebuilding a run calls the interpreter's functions, which count rules and cuts.
        counted = figures(self.machine, self.selection, self.counters, self.distinct, self.group_order)
        violations = self.chosen()
        verdict: Verdict = "violated" if violations else "out_of_budget" if spent is not None else "exhausted"
        runs = self._runs(origin)
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
            findings=tuple(self._trace(runs, found) for found in violations),
            witnesses=tuple(
                WitnessFigures(
                    self.claims[prop.name],
                    self._trace(runs, self.reached[prop.name]) if prop.name in self.reached else None,
                )
                for prop in self.selection.of_kind("witness")
            ),
            vacuous=tuple(self.claims[prop.name] for prop in self._vacuous()),
            notes=tuple(self._notes()),
            timing=timing(self.meter, self.distinct),
        )

    def findings(self, origin: Origin) -> tuple[Trace, ...]:
        """The runs that show the violations, as ``result`` has them. Runs to witnesses take longer to rebuild."""
        runs = self._runs(origin)
        return tuple(self._trace(runs, found) for found in self.chosen())

    def _runs(self, origin: Origin) -> RunBuilder:
        return RunBuilder(self.machine, self.canonical, self.starts, self.path, origin)

    def _trace(self, runs: RunBuilder, found: Discovery) -> Trace:
        # The search drops ghosts that no checked property reads. The trace shows all that a full check would show.
        trace, system = runs.trace(found), self.machine.system
        if self.selection.ghosts == select(system, None).ghosts:
            return trace
        return with_every_ghost(trace, system, self.machine.scope)

    def chosen(self) -> list[Discovery]:
        """The violations to report: properties in the order of the source, then idempotence, then deadlocks."""
        system = self.machine.system
        if not self.violations:
            return []
        names = [*self.claims, *(idempotence(system, action).name for action in self.selection.idempotent)]
        names += [deadlock_claim(system).name] if self.finals else []
        chosen = [self.violations[name] for name in names if name in self.violations]
        return chosen if self.keep_going else chosen[:1]

    def _vacuous(self) -> list[Property]:
        silent = [] if self.selection.violations_only else self.silent()
        return [prop for prop in self.selection.of_kind("invariant", "lemma", "step") if prop in silent]

    def _notes(self) -> list[str]:
        notes = list(self.notes)
        liveness = [prop.title for prop in self.machine.system.of_kind(*LIVENESS)]
        if liveness:
            notes.append(f"A search says nothing about liveness, `holdfast live` does: {', '.join(liveness)}.")
        if self.violations and self.meter.spent is not None:
            notes.append("The search ended before this length was complete, so other runs as short may exist.")
        return notes
