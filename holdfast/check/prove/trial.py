"""A proof is tried before it is believed: does a search of sizes that no scope declares agree with it?

A proof says that no run violates a property, whatever the sizes. A violation in any size then means that the formulas
say something else than the interpreter. The sizes are few and small, and the search of each stops after some states,
so that a trial which finds nothing shows little more than the search of the scopes; but a fault in the translation
that makes proofs out of nothing is met soon.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import attrs

from holdfast.check.result import Result
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import Read, walk
from holdfast.ir.system import Property, Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.smt.constants import some_scopes
from holdfast.lower.smt.extent import too_large
from holdfast.lower.smt.logic import Logic

MOST_ELEMENTS = 3
"""How many elements a sort has at most."""

GREATEST, CAP = 3, 6
"""How far a Nat goes: to ``GREATEST``, or one beyond the largest bound of a scope, and never beyond ``CAP``."""

MOST_SIZES = 8
"""How many sizes are searched."""

GIVEN = 2
"""With how many values of the given constants."""

STATES = 500
"""After how many states each search stops."""

PATIENCE = 2.0
"""Seconds for a question about given constants."""


@attrs.frozen
class Attempt:
    """A search of one scope; ``exhausted`` says that it came to an end."""

    scope: Scope
    states: int
    exhausted: bool


@attrs.frozen
class ProofTrial:
    """What was tried. ``violation`` is what contradicts the proof, with the scope of it; so does a ``problem``.

    ``skipped`` counts the sizes that could not be searched: no scope can have them, or they have no initial state.
    """

    attempts: tuple[Attempt, ...]
    skipped: int = 0
    violation: Result | None = None
    problem: str | None = None

    @property
    def contradicts(self) -> bool:
        """Whether the proof is contradicted."""
        return self.violation is not None or self.problem is not None

    @property
    def scope_text(self) -> str | None:
        """The scope of the violation as a model writes it."""
        if self.violation is None:
            return None
        scope = self.attempts[-1].scope
        sizes = ", ".join(f"{name}: {size}" for name, size in scope.sizes.items())
        given = ", given={" + ", ".join(f'"{name}": {value!r}' for name, value in scope.given.items()) + "}"
        return f"{scope.name} = Scope({{{sizes}}}{given if scope.given else ''})"

    @property
    def states(self) -> int:
        """How many states were met."""
        return sum(each.states for each in self.attempts)

    @property
    def exhausted(self) -> int:
        """How many searches came to an end."""
        return sum(each.exhausted for each in self.attempts)


def trial(logic: Logic, look: Callable[[Scope, int], Result], progress: Callable[[str], None]) -> ProofTrial:
    """Search sizes beyond the scopes for a violation of what is proved.

    ``look`` searches a scope for it; it takes the scope and the number of states after which to stop.
    """
    attempts: list[Attempt] = []
    skipped = 0
    for sizes in trial_sizes(logic.system, logic.universe.literals):
        progress(f"trying the proof in size {', '.join(f'{name} {size}' for name, size in sizes.items())}")
        scopes = [] if too_large(logic.system, sizes) else some_scopes(logic.smallest.theory(sizes), GIVEN, PATIENCE)
        skipped += not scopes
        for scope in (attrs.evolve(scope, name=_name(logic.system)) for scope in scopes):
            try:
                found = look(scope, STATES)
            except UsageError:
                skipped += 1
                continue
            except ModelError as error:
                wrong = _contradicted(logic.system, scope)
                if wrong is not None:
                    problem = f"the formulas take {wrong.title} for true of constants of which it is false: {error}"
                    return ProofTrial(tuple(attempts), skipped, None, problem)
                skipped += 1
                continue
            attempts.append(Attempt(scope, found.figures.distinct, found.ended_by is None))
            if found.findings:
                return ProofTrial(tuple(attempts), skipped, found)
    return ProofTrial(tuple(attempts), skipped)


def _name(system: System) -> str:
    """A name for a scope that the model does not have."""
    name = "tried"
    while name in system.scopes:
        name += "_again"
    return name


def trial_sizes(system: System, literals: Mapping[str, int]) -> list[Mapping[str, int]]:
    """The sizes to be tried, smaller ones first: those with few elements, and others spread over all the rest.

    Nats all go one further at a time. ``literals`` says how far each must go.
    """
    every = sorted(_every_size(system, literals), key=lambda sizes: (sum(sizes.values()), tuple(sizes.values())))
    if len(every) <= MOST_SIZES:
        return every
    first, rest = every[: MOST_SIZES // 2], every[MOST_SIZES // 2 :]
    last = MOST_SIZES - len(first) - 1
    return [*first, *(rest[place * (len(rest) - 1) // last] for place in range(last + 1))]


def _every_size(system: System, literals: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    least = {nat.name: max(1, literals[nat.name]) for nat in system.nats}
    most = {nat.name: max(least[nat.name], _greatest(system, nat.name)) for nat in system.nats}
    levels = max((most[name] - least[name] for name in least), default=0)
    for level in range(levels + 1):
        nats = {name: min(least[name] + level, most[name]) for name in least}
        for elements in itertools.product(range(1, MOST_ELEMENTS + 1), repeat=len(system.sorts)):
            yield {**dict(zip((sort.name for sort in system.sorts), elements, strict=True)), **nats}


def _greatest(system: System, nat: str) -> int:
    declared = max((scope.sizes.get(nat, 0) for scope in system.scopes.values()), default=0)
    return min(CAP, max(GREATEST, declared + 1))


def _contradicted(system: System, scope: Scope) -> Property | None:
    """The assumption of given constants that is false in a scope."""
    given = {var.name for var in system.variables if var.given}
    bare = attrs.evolve(system, actions=())
    for prop in system.of_kind("assume"):
        if {part.var for part in walk(prop.body) if isinstance(part, Read)} <= given:
            machine = Interpreter(bare, scope, ghosts=frozenset(), properties=())
            if not machine.holds(prop, machine.layout.blank()):
                return prop
    return None
