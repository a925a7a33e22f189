"""Whether formulas stay in the decidable fragment: where quantifiers and functions lead from sort to sort in a circle.

A function leads from the sorts of its keys to the sort of its values; a "for all x there is a y" from the sort of x to
that of y, for it stands for a function too. While no way leads back to where it began, only finitely many terms can be
made of those that a question begins with, and Z3 decides it (EPR with stratified functions; Padon et al., PLDI 2016).
Around a circle there is no end to terms: Z3 may still answer, but need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import attrs
import z3

from holdfast.ir.system import Action, Property
from holdfast.ir.types import BoolType, EnumType, IntType, OptionalType
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Theory
from holdfast.lower.smt.universe import NotFirstOrder
from holdfast.lower.smt.values import negation


@attrs.frozen(order=True)
class Edge:
    """A way from one sort to another, and what makes it."""

    source: str
    target: str
    why: str


@attrs.frozen
class Fragment:
    """All ways, and those of them that lie on a circle; ``arithmetic`` are the types that are integers.

    ``outside`` says what no formula can say at all, and where it stands.
    """

    edges: tuple[Edge, ...]
    circular: tuple[Edge, ...]
    arithmetic: tuple[str, ...]
    outside: tuple[str, ...]

    @property
    def is_decidable(self) -> bool:
        """Whether Z3 must come to an answer, given time."""
        return not self.circular and not self.arithmetic and not self.outside


def fragment(logic: Logic) -> Fragment:
    """Where the formulas of a system lead."""
    outside: dict[str, None] = {}
    edges = sorted(set(_edges(logic, outside)))
    reach = _reach(edges)
    circular = tuple(edge for edge in edges if edge.source in reach[edge.target])
    integers = [nat.name for nat in logic.system.nats if nat.name in logic.universe.computed]
    return Fragment(tuple(edges), circular, (*integers, *(kind.name for kind in logic.system.ints)), tuple(outside))


def _reach(edges: Sequence[Edge]) -> Mapping[str, set[str]]:
    """For each sort the sorts that can be come to from it, itself included."""
    sorts = {sort for edge in edges for sort in (edge.source, edge.target)}
    reach = {sort: {sort} for sort in sorts}
    for _ in sorts:
        for edge in edges:
            reach[edge.source] |= reach[edge.target]
    return reach


def _edges(logic: Logic, outside: dict[str, None]) -> Iterator[Edge]:
    """All ways; what no formula can say is noted in ``outside``."""
    for var in logic.theory.encoding.variables:
        kind = var.value.of if isinstance(var.value, OptionalType) else var.value
        if not isinstance(kind, BoolType | EnumType | IntType):
            for key in var.keys:
                if not isinstance(key, EnumType):
                    yield Edge(key.name, kind.name, var.name)
    for write, why in _formulas(logic):
        try:
            formula = write()
        except NotFirstOrder as error:
            outside[str(error)] = None
        else:
            yield from _alternations(formula, why)
    for name, definition in logic.universe.definitions.items():
        # Its last variable is any element of the domain, and the others are what the symbol depends on.
        *keys, domain = (_sort_name(definition.var_sort(place)) for place in range(definition.num_vars()))
        stem = logic.universe.symbols.meaning(name).parts[0]
        yield from (Edge(key, domain, stem) for key in keys)
        yield from _alternations(definition, stem)


def _formulas(logic: Logic) -> Iterator[tuple[Callable[[], z3.BoolRef], str]]:
    """What questions are made of, each to be written, and what it is."""
    system, theory = logic.system, logic.theory
    for prop in logic.assumed:
        yield partial(theory.invariant, prop), prop.name
    for prop in system.of_kind("assume"):
        yield partial(theory.encoding.holds, prop, theory.before), prop.name
    for action in system.actions:
        yield partial(_guard, theory, action), f"the rules of {action.name}"
        for prop in logic.assumed:
            yield partial(_violated_after, theory, action, prop), f"not {prop.name} afterwards"


def _guard(theory: Theory, action: Action) -> z3.BoolRef:
    return theory.step(action).guard


def _violated_after(theory: Theory, action: Action, prop: Property) -> z3.BoolRef:
    return negation(theory.encoding.holds(prop, theory.step(action).after))


def _alternations(formula: z3.ExprRef, why: str) -> Iterator[Edge]:
    """The ways that quantifiers in a formula make."""
    return _under(formula, True, (), why)


def _under(formula: z3.ExprRef, positive: bool, every: tuple[str, ...], why: str) -> Iterator[Edge]:
    """``every`` are the sorts of the variables around that stand for all elements."""
    if z3.is_quantifier(formula):
        sorts = [_sort_name(formula.var_sort(place)) for place in range(formula.num_vars())]
        if formula.is_forall() == positive:
            every = (*every, *sorts)
        else:
            yield from (Edge(one, other, why) for one in every for other in sorts)
        yield from _under(formula.body(), positive, every, why)
    elif z3.is_not(formula):
        yield from _under(formula.arg(0), not positive, every, why)
    elif z3.is_implies(formula):
        yield from _under(formula.arg(0), not positive, every, why)
        yield from _under(formula.arg(1), positive, every, why)
    elif z3.is_and(formula) or z3.is_or(formula):
        for part in formula.children():
            yield from _under(part, positive, every, why)
    elif z3.is_app(formula):
        # Under an equivalence, or as a test, a formula stands both ways.
        for part in formula.children():
            if z3.is_bool(part):
                yield from _under(part, True, every, why)
                yield from _under(part, False, every, why)


def _sort_name(sort: z3.SortRef) -> str:
    return str(sort.name()).removeprefix("sort.")
