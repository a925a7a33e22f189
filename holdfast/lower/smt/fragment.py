"""Checks whether formulas stay in the decidable fragment: whether the graph of sorts has no cycle.

A function is an edge from each sort of its keys to the sort of its values. "For all x there is a y" is an edge from the
sort of x to the sort of y, because its Skolem function maps x to y. Without a cycle only finitely many terms can be
built from the terms of a question, and Z3 decides the question (EPR with stratified functions; Padon et al., PLDI
2016). With a cycle there are infinitely many terms: Z3 may still answer, but need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import attrs
import z3

from holdfast.ir.system import Action, Property
from holdfast.ir.types import BoolType, EnumType, IntType, Key, MapType, OptionalType, Scalar
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Theory
from holdfast.lower.smt.universe import NotFirstOrder
from holdfast.lower.smt.values import negation


@attrs.frozen(order=True)
class Edge:
    """An edge between two sorts; ``why`` names the variable, property or rules that it comes from."""

    source: str
    target: str
    why: str


@attrs.frozen
class Fragment:
    """All edges, and the ``circular`` ones that lie on a cycle; ``arithmetic`` are the types encoded as integers.

    ``outside`` describes each expression that no first-order formula expresses, with its place.
    """

    edges: tuple[Edge, ...]
    circular: tuple[Edge, ...]
    arithmetic: tuple[str, ...]
    outside: tuple[str, ...]

    @property
    def is_decidable(self) -> bool:
        """Whether Z3 answers every question, given enough time."""
        return not self.circular and not self.arithmetic and not self.outside


def fragment(logic: Logic) -> Fragment:
    """The dependencies between the sorts of a system's formulas, and the parts outside the decidable fragment."""
    outside: dict[str, None] = {}
    edges = sorted(set(_edges(logic, outside)))
    reach = _reach(edges)
    circular = tuple(edge for edge in edges if edge.source in reach[edge.target])
    integers = [nat.name for nat in logic.system.nats if nat.name in logic.universe.computed]
    return Fragment(tuple(edges), circular, (*integers, *(kind.name for kind in logic.system.ints)), tuple(outside))


def _reach(edges: Sequence[Edge]) -> Mapping[str, set[str]]:
    """For each sort, the sorts that are reachable from it, itself included."""
    sorts = {sort for edge in edges for sort in (edge.source, edge.target)}
    reach = {sort: {sort} for sort in sorts}
    # A path without repetition has fewer edges than there are sorts, so this number of rounds suffices.
    for _ in sorts:
        for edge in edges:
            reach[edge.source] |= reach[edge.target]
    return reach


def _edges(logic: Logic, outside: dict[str, None]) -> Iterator[Edge]:
    """All edges; adds to ``outside`` whatever no formula expresses."""
    for var in logic.theory.encoding.variables:
        yield from _of_function(var.keys, var.value, var.name)
    for action in (logic.system.init, *logic.system.actions):
        for param in action.params:
            if isinstance(param.type, MapType):
                yield from _of_function(param.type.keys, param.type.value, f"{param.name} of {action.name}")
    for write, why in _formulas(logic):
        try:
            formula = write()
        except NotFirstOrder as error:
            outside[str(error)] = None
        else:
            yield from _alternations(formula, why)
    for name, definition in logic.universe.definitions.items():
        # The last variable of a definition ranges over the domain; the others are the arguments of the symbol.
        *keys, domain = (_sort_name(definition.var_sort(place)) for place in range(definition.num_vars()))
        stem = logic.universe.symbols.meaning(name).parts[0]
        yield from (Edge(key, domain, stem) for key in keys)
        yield from _alternations(definition, stem)


def _of_function(keys: Sequence[Key], value: Scalar, why: str) -> Iterator[Edge]:
    """The edges of a variable, or of a parameter that is a whole map."""
    kind = value.of if isinstance(value, OptionalType) else value
    if not isinstance(kind, BoolType | EnumType | IntType):
        for key in keys:
            if not isinstance(key, BoolType | EnumType):
                yield Edge(key.name, kind.name, why)


def _formulas(logic: Logic) -> Iterator[tuple[Callable[[], z3.BoolRef], str]]:
    """The formulas that questions consist of: a function that writes each, and its description."""
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
    """The edges from the quantifier alternations of a formula."""
    return _under(formula, True, (), why)


def _under(formula: z3.ExprRef, positive: bool, every: tuple[str, ...], why: str) -> Iterator[Edge]:
    """The edges of a part of a formula.

    ``positive``: whether an even number of negations encloses the part; under an odd number, "for all" acts as "there
    is". ``every``: the sorts of the enclosing variables that act as "for all".
    """
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
        # A formula under an equivalence, or as a test, counts both positively and negatively.
        for part in formula.children():
            if z3.is_bool(part):
                yield from _under(part, True, every, why)
                yield from _under(part, False, every, why)


def _sort_name(sort: z3.SortRef) -> str:
    return str(sort.name()).removeprefix("sort.")
