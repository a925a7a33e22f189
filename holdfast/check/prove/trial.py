"""Tries a proof: searches sizes that no scope declares, to see whether they contradict it.

A proof says that no run violates a property in any sizes. So a violation in some sizes means that the formulas differ
from the interpreter. The sizes are few and small, and each search stops after some states. A trial that finds nothing
therefore shows little more than the search of the scopes. But it soon finds a fault in the translation that lets
everything be proved.
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
"""The greatest number of elements of a sort."""

GREATEST, CAP = 3, 6
"""The greatest value of a Nat: ``GREATEST``, or one more than its largest bound in a scope, but at most ``CAP``."""

MOST_SIZES = 8
"""The most sizes that are searched."""

GIVEN = 2
"""The number of choices of the given constants for each of the sizes."""

STATES = 500
"""The number of states after which a search stops."""

PATIENCE = 2.0
"""Seconds for a question about given constants."""


@attrs.frozen
class Attempt:
    """A search of one scope; ``exhausted``: it visited all reachable states."""

    scope: Scope
    states: int
    exhausted: bool


@attrs.frozen
class ProofTrial:
    """The outcome of a trial. A ``violation`` contradicts the proof (in the scope of the last attempt), and so does a
    ``problem``: an assumption that the formulas make and that is false.

    ``skipped`` counts the sizes that could not be searched: no scope can have them, or they have no initial state.
    """

    attempts: tuple[Attempt, ...]
    skipped: int = 0
    violation: Result | None = None
    problem: str | None = None

    @property
    def contradicts(self) -> bool:
        """Whether the trial contradicts the proof."""
        return self.violation is not None or self.problem is not None

    @property
    def scope_text(self) -> str | None:
        """The scope of the violation in the model language; None if there is no violation."""
        if self.violation is None:
            return None
        scope = self.attempts[-1].scope
        sizes = ", ".join(f"{name}: {size}" for name, size in scope.sizes.items())
        given = ", given={" + ", ".join(f'"{name}": {value!r}' for name, value in scope.given.items()) + "}"
        return f"{scope.name} = Scope({{{sizes}}}{given if scope.given else ''})"

    @property
    def states(self) -> int:
        """The number of states that all searches visited."""
        return sum(each.states for each in self.attempts)

    @property
    def exhausted(self) -> int:
        """The number of searches that visited all reachable states."""
        return sum(each.exhausted for each in self.attempts)


def trial(logic: Logic, look: Callable[[Scope, int], Result], progress: Callable[[str], None]) -> ProofTrial:
    """Search sizes beyond the scopes for a violation of the proved properties.

    ``look`` searches a scope for a violation; it takes the scope and the number of states after which to stop.
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
                # The search rejects the scope. If it does so because an assumption is false, the formulas are wrong:
                # the scope was made from them, and they contain this assumption.
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
    """A name that no scope of the model has."""
    name = "tried"
    while name in system.scopes:
        name += "_again"
    return name


def trial_sizes(system: System, literals: Mapping[str, int]) -> list[Mapping[str, int]]:
    """The sizes to try, the smaller ones first: half of them the smallest, the others spread evenly over the rest.

    The bounds of all Nats grow together, but for two sizes in which one bound is much greater than the others.
    ``literals`` has the least bound of each Nat.
    """
    every = sorted(_every_size(system, literals), key=lambda sizes: (sum(sizes.values()), tuple(sizes.values())))
    apart = list(_apart(system, literals))
    most = MOST_SIZES - len(apart)
    if len(every) > most:
        first, rest = every[: MOST_SIZES // 2], every[MOST_SIZES // 2 :]
        last = most - len(first) - 1
        every = [*first, *(rest[place * (len(rest) - 1) // last] for place in range(last + 1))]
    return [*every, *(sizes for sizes in apart if sizes not in every)]


def _every_size(system: System, literals: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    least = {nat.name: max(1, literals[nat.name]) for nat in system.nats}
    most = {nat.name: max(least[nat.name], _greatest(system, nat.name)) for nat in system.nats}
    levels = max((most[name] - least[name] for name in least), default=0)
    for level in range(levels + 1):
        nats = {name: min(least[name] + level, most[name]) for name in least}
        for elements in itertools.product(range(1, MOST_ELEMENTS + 1), repeat=len(system.sorts)):
            yield {**dict(zip((sort.name for sort in system.sorts), elements, strict=True)), **nats}


def _apart(system: System, literals: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """A size in which the first Nat alone is large, and one in which the last Nat is; none for fewer than two Nats.

    A proof may take a value of one Nat for one of another, and then holds where all bounds are equal.
    """
    if len(system.nats) > 1:
        sorts = {sort.name: 2 for sort in system.sorts}
        least = {nat.name: max(1, literals[nat.name]) for nat in system.nats}
        for nat in (system.nats[0], system.nats[-1]):
            yield {**sorts, **least, nat.name: max(least[nat.name], _greatest(system, nat.name))}


def _greatest(system: System, nat: str) -> int:
    declared = max((scope.sizes.get(nat, 0) for scope in system.scopes.values()), default=0)
    return min(CAP, max(GREATEST, declared + 1))


def _contradicted(system: System, scope: Scope) -> Property | None:
    """An assumption about given constants that is false in a scope; None if there is none."""
    given = {var.name for var in system.variables if var.given}
    bare = attrs.evolve(system, actions=())
    for prop in system.of_kind("assume"):
        if {part.var for part in walk(prop.body) if isinstance(part, Read)} <= given:
            machine = Interpreter(bare, scope, ghosts=frozenset(), properties=())
            if not machine.holds(prop, machine.layout.blank()):
                return prop
    return None
