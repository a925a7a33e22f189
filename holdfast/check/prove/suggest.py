"""Suggests clauses that exclude a counterexample to induction. They are shown to the author and never assumed.

A candidate is a clause of a few literals. The first state of the counterexample violates it, and no explored state
does. Houdini selects the candidates that every step preserves, given the assumptions. Then a small set of them is
chosen with which the obligation is met, if there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import attrs
import numpy as np
import numpy.typing as npt

from holdfast.check.prove.asking import Askers
from holdfast.check.prove.clauses import clause, literals, pool
from holdfast.check.prove.result import Counterexample, Suggestion
from holdfast.ir.errors import HoldfastError
from holdfast.ir.expr import Read, walk
from holdfast.ir.stmt import Require, statements
from holdfast.ir.system import Property, Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.smt.houdini import Clause, Clauses
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Obligation, obligations

LONGEST, MOST_SETS = 4, 40_000
"""The most literals of a clause, and the most sets of literals of one length that are examined."""

EXPLORED, SAMPLE, CHUNK = 20_000, 1_000, 100
"""The number of states of a scope that are explored; about how many of them are sampled for the atoms; and the number
of sampled states that are evaluated at once."""

SIZE, CLAUSES, CANDIDATES, CONFIRMED = 2, 2_000, 40, 12
"""The size in which candidates are tried, and three limits on the number of clauses.

CLAUSES: the most candidates. CANDIDATES: of the candidates that suffice alone, and again of all candidates, this number
is tested for preservation in size SIZE. CONFIRMED: this number of the preserved ones is tested for any sizes.
"""

PATIENCE = 1.0

Bits = npt.NDArray[np.uint8]


class Suggester:
    """Suggests clauses for one model. The explored states serve all its counterexamples."""

    def __init__(self, system: System, logic: Logic, assumed: Sequence[Property], askers: Askers) -> None:
        self.system = system
        self.logic = logic
        self.assumed = tuple(assumed)
        self.askers = askers
        self.names = pool(system)
        self.literals = literals(system, self.names, logic.ghosts)
        self.like = next(iter(system.of_kind("invariant", "lemma", "step")))
        self._grid: Bits | None = None

    def suggest(self, due: Obligation, found: Counterexample) -> tuple[Suggestion, ...]:
        """The clauses with which the obligation is met; if there are none, an inductive clause that excludes the state.

        Empty if there is no such clause either, or if the formulas of size SIZE would be too large.
        """
        names = [prop.name for prop in self.assumed]
        sizes = self.logic.smallest.uniform(SIZE)
        if self.logic.smallest.too_large(sizes) is not None:
            return ()
        small = self.logic.smallest.theory(sizes)
        candidates = self._candidates(due, found)
        atoms = [atom.expr for atom in self.literals[::2]]
        patience = partial(self.askers.allowed, PATIENCE)
        clauses = Clauses(small, atoms, self.names, patience, used=frozenset().union(*candidates))
        enough = clauses.enough(due, names, candidates)
        # A clause that does not suffice alone may make another one inductive, so such clauses are tried too.
        tried = dict.fromkeys([*enough[:CANDIDATES], *candidates[:CANDIDATES]])
        kept = clauses.kept(names, list(tried))
        left = self._confirmed([self._lemma(number, clause) for number, clause in enumerate(kept[:CONFIRMED])])
        if not left:
            return ()
        needed = self._needed(due, left)
        chosen = needed or left[:1]
        return tuple(Suggestion(prop, bool(needed)) for prop in chosen)

    def _lemma(self, number: int, parts: Clause) -> Property:
        chosen = [self.literals[index] for index in sorted(parts)]
        return clause(f"clause {number}", chosen, self.names, self.like)

    # Candidates -----------------------------------------------------------------------------------------------

    def _candidates(self, due: Obligation, found: Counterexample) -> list[Clause]:
        """The clauses that the counterexample's first state violates and no explored state does, the shortest first."""
        state, machine = found.trace.steps[0].code, self._machine(found.scope)
        grid, relevant = self._explored(), self._relevant(due)
        clauses = {
            parts: None
            for true in self._true_literals(machine, state)
            for parts in self._exclusive(true, grid, [index for index in true if index in relevant])
            if self._names_in_order(parts)
        }
        return sorted(clauses, key=lambda parts: (len(parts), self._breadth(parts), sorted(parts)))[:CLAUSES]

    def _exclusive(self, true: Sequence[int], grid: Bits, relevant: Sequence[int]) -> list[Clause]:
        self.askers.look()
        return exclusive(true, grid, relevant)

    def _names_in_order(self, parts: Clause) -> bool:
        """Whether a clause uses the second name of a type only beside the first.

        A clause with the second name alone equals, up to renaming, one with the first name.
        """
        used = frozenset().union(*(self.literals[index].names for index in parts))
        mine = [param for param in self.names if param.name in used]
        return all(
            param.name in used
            for param in self.names
            if any(other.type == param.type and self.names.index(other) > self.names.index(param) for other in mine)
        )

    def _breadth(self, parts: Clause) -> int:
        """The number of names in a clause."""
        return len(frozenset().union(*(self.literals[index].names for index in parts)))

    def _relevant(self, due: Obligation) -> set[int]:
        """The literals that read only variables that the property or the rules of the action read."""
        exprs = [] if due.prop is None else list(walk(due.prop.body))
        rules = (
            [] if due.action is None else [stmt for stmt in statements(due.action.body) if isinstance(stmt, Require)]
        )
        exprs += [part for rule in rules for part in walk(rule.cond)]
        read = {part.var for part in exprs if isinstance(part, Read)}
        return {
            index
            for index, literal in enumerate(self.literals)
            if all(part.var in read for part in walk(literal.expr) if isinstance(part, Read))
        }

    def _true_literals(self, machine: Interpreter, state: bytes) -> list[list[int]]:
        """For each choice of elements, the literals that are true in a state; equal lists only once."""
        rows = np.unpackbits(self._pictures(machine, [state]), axis=1)[:, : len(self.literals) // 2]
        return [[2 * index + int(not true) for index, true in enumerate(row)] for row in rows]

    def _explored(self) -> Bits:
        """A row of bits for each literal: in which pictures of explored states it is true.

        A picture is the set of atoms that are true for one state and one choice of elements; equal ones count once.
        """
        if self._grid is None:
            scopes = [self.system.scopes[name] for name in ("tiny", "default") if name in self.system.scopes]
            machines = map(self._machine, scopes)
            pictures = [self._pictures(machine, explored(machine, self.askers.look)) for machine in machines]
            whole = np.unpackbits(np.unique(np.concatenate(pictures), axis=0), axis=1)[:, : len(self.literals) // 2]
            # The padding bits of the last byte are 0 for an atom and for its negation, so they stand for no picture.
            self._grid = np.array([row for atom in whole.T for row in (np.packbits(atom), np.packbits(1 - atom))])
        return self._grid

    def _pictures(self, machine: Interpreter, states: Sequence[bytes]) -> Bits:
        """The pictures of states: for each state and choice of elements, the true atoms as a row of packed bits.

        Equal rows are kept only once. States are evaluated in chunks to bound the memory.
        """
        found: list[Bits] = []
        for start in range(0, len(states), CHUNK):
            self.askers.look()
            some = states[start : start + CHUNK]
            shape = self._shape(machine, len(some))
            atoms = [np.broadcast_to(self._table(machine, atom, some), shape).ravel() for atom in self._atoms]
            found.append(np.unique(np.packbits(np.stack(atoms, axis=1), axis=1), axis=0))
        return np.unique(np.concatenate(found), axis=0)

    def _machine(self, scope: Scope) -> Interpreter:
        return Interpreter(self.system, scope, ghosts=self.logic.ghosts, properties=[])

    def _shape(self, machine: Interpreter, states: int) -> tuple[int, ...]:
        return (states, *(machine.layout.codes(param.type) for param in self.names))

    @cached_property
    def _atoms(self) -> tuple[Property, ...]:
        """Each atom as a property. A machine writes a function for each property that it meets: so each exists once."""
        return tuple(
            attrs.evolve(
                self.like,
                name=f"atom_{2 * number}",
                kind="witness",
                params=tuple(param for param in self.names if param.name in literal.names),
                body=literal.expr,
                premise=literal.expr,
                of=None,
            )
            for number, literal in enumerate(self.literals[::2])
        )

    def _table(self, machine: Interpreter, atom: Property, states: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Whether the atom is true: an array with an axis for the states and one for each name.

        The axis of a name that the atom does not contain has size 1, so that numpy broadcasts it.
        """
        choices = list(itertools.product(*(range(machine.layout.codes(param.type)) for param in atom.params)))
        found = np.array([[machine.holds(atom, state, args) for args in choices] for state in states], dtype=np.bool_)
        sizes = [machine.layout.codes(param.type) if param in atom.params else 1 for param in self.names]
        return found.reshape((len(states), *sizes))

    # Houdini --------------------------------------------------------------------------------------------------

    def _confirmed(self, candidates: Sequence[Property]) -> list[Property]:
        """The candidates that every step preserves, for any sizes."""
        left = list(candidates)
        while left:
            logic, names = self._logic(left)
            dues = obligations(self.system.actions, left, ())
            questions = [partial(logic.violated, due, names) for due in dues]
            answers = self.askers.answers(questions, PATIENCE, groups=[due.where for due in dues])
            failed = {
                due.prop.name
                for due, answer in zip(dues, answers, strict=True)
                if answer.verdict != "unsat" and due.prop is not None
            }
            if not failed:
                break
            left = [prop for prop in left if prop.name not in failed]
        return left

    def _needed(self, due: Obligation, left: Sequence[Property]) -> list[Property]:
        """A small set of candidates with which the obligation is met; empty if all of them do not suffice.

        A single candidate if one suffices. Otherwise candidates are left out one by one as long as the rest suffices.
        """
        for prop in left:
            if self._suffices(due, [prop]):
                return [prop]
        chosen = list(left)
        if not self._suffices(due, chosen):
            return []
        for prop in left:
            others = [other for other in chosen if other is not prop]
            if others and self._suffices(due, others):
                chosen = others
        return chosen

    def _suffices(self, due: Obligation, some: Sequence[Property]) -> bool:
        """Whether, with these candidates assumed, the obligation and the candidates' own obligations are met."""
        logic, names = self._logic(some)
        dues = [due, *obligations(self.system.actions, some, ())]
        questions = [partial(logic.violated, each, names) for each in dues]
        answers = self.askers.each(questions, PATIENCE, groups=[each.where for each in dues])
        return all(answer.verdict == "unsat" for _, answer in answers)

    def _logic(self, more: Sequence[Property]) -> tuple[Logic, list[str]]:
        assumed = (*self.assumed, *more)
        return Logic(self.system, self.logic.ghosts, assumed), [prop.name for prop in assumed]


def explored(machine: Interpreter, look: Callable[[], None]) -> list[bytes]:
    """Reachable states in breadth-first order, sampled evenly; none if there are no valid initial states.

    ``look`` is called now and then, and may raise an exception.
    """
    try:
        level = machine.initial()
    except HoldfastError:
        return []
    known = dict.fromkeys(level)
    while level and len(known) < EXPLORED:
        following: list[bytes] = []
        for number, state in enumerate(level):
            if number % CHUNK == 0:
                look()
            for successors in machine.successors:
                for new, _ in successors(state):
                    if new not in known:
                        known[new] = None
                        following.append(new)
        level = following
    states = list(known)
    return states[:: max(1, len(states) // SAMPLE)]


def exclusive(true: Sequence[int], grid: Bits, relevant: Sequence[int]) -> list[Clause]:
    """The minimal sets of ``true`` literals that are true together in no explored state.

    Sets of one or two are made of all true literals, larger sets of the relevant ones only. ``grid`` has a row of bits
    for each literal: in which pictures it is true.
    """
    found: list[Clause] = []
    level: list[tuple[tuple[int, ...], Bits]] = [((), np.full(grid.shape[1:], 255, dtype=np.uint8))]
    for size in range(1, LONGEST + 1):
        pool, following = true if size <= 2 else relevant, list[tuple[tuple[int, ...], Bits]]()
        for parts, rows in level:
            more = [index for index in pool if not parts or index > parts[-1]]
            # From size 3 on, a set with an irrelevant literal is not extended.
            if not more or not set(parts) <= set(pool):
                continue
            both = grid[more] & rows
            for index, pictures, somewhere in zip(more, both, np.any(both, axis=1).tolist(), strict=True):
                # A set that is true in some picture grows further. Any other set is a result, if it is minimal.
                if somewhere:
                    following.append(((*parts, index), pictures))
                elif _is_minimal((*parts, index), grid):
                    found.append(frozenset((*parts, index)))
            if len(following) > MOST_SETS:
                break
        level = following[:MOST_SETS]
    return found


def _is_minimal(parts: tuple[int, ...], grid: Bits) -> bool:
    """Whether the literals are true together in some picture as soon as any one of them is left out."""
    return len(parts) == 1 or all(
        np.bitwise_and.reduce(grid[[part for part in parts if part != index]]).any() for index in parts
    )
