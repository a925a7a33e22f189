"""Bounds of terms: every value that Python computes from a term's text lies within the term's bounds."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Callable, Iterator, Mapping

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.expr import Expr
from holdfast.ir.system import System
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.instance_ends import ReturnOutcome
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.terms import (
    Term,
    add,
    greatest,
    least,
    literal,
    magnitude,
    multiply,
    subtract,
    total,
    unwrapped,
    wrapped,
)
from tests.differential.comparing import claims, some_states, starts_of, value
from tests.differential.generate import model_of
from tests.differential.running import loaded

ENDS = [(-3, -1), (-2, 0), (-3, 2), (-1, 3), (0, 0), (0, 2), (1, 3), (2, 2)]
"""Intervals below 0, above 0, at 0 and across 0."""

OF_ONE: Mapping[str, Callable[[Term], Term]] = {
    "magnitude": magnitude,
    "wrapped": lambda one: wrapped(one, "t"),
    "plus": lambda one: add(one, literal(3)),
    "minus": lambda one: subtract(one, literal(2)),
    "from": lambda one: subtract(literal(1), one),
    "times": lambda one: multiply(one, literal(-2)),
    "not below": lambda one: greatest([one, literal(1)]),
    "not above": lambda one: least([literal(-1), one]),
}

OF_TWO: Mapping[str, Callable[[Term, Term], Term]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "total": lambda one, two: total([one, two, literal(-1)]),
    "least": lambda one, two: least([one, two]),
    "greatest": lambda one, two: greatest([one, two]),
}


def variable(name: str, lo: int, hi: int) -> Term:
    """A variable of an interval."""
    return literal(lo) if lo == hi else Term(name, lo, hi)


def computed(text: str, names: Mapping[str, int]) -> Iterator[int]:
    """All numbers that Python computes for a term, constants included; the term's value is first."""
    tree = ast.parse(text, mode="eval").body
    # The text for an Optional binds a name that its other parts read, so no part can be computed alone.
    whole = any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))
    for node in (tree,) if whole else ast.walk(tree):
        called = isinstance(node, ast.Name) and node.id in ("abs", "min", "max")
        if isinstance(node, ast.expr) and not called:
            yield eval(compile(ast.Expression(node), "<term>", "eval"), dict(names))  # noqa: S307 - written by terms


def values(term: Term, of: Mapping[str, tuple[int, int]]) -> list[int]:
    """The term's value for all values of its variables. Fails if a partial result lies beyond the term's reach."""
    found = []
    for numbers in itertools.product(*(range(lo, hi + 1) for lo, hi in of.values())):
        first, *others = computed(term.text, dict(zip(of, numbers, strict=True)))
        assert max(map(abs, (first, *others))) <= term.reach, term
        found.append(first)
    return found


@pytest.mark.parametrize("name", OF_ONE)
def test_the_bounds_of_one_operand_are_its_least_and_greatest_value(name: str) -> None:
    """Both bounds of a term with one operand are values that occur, and no value lies outside."""
    for ends in ENDS:
        term = OF_ONE[name](variable("x", *ends))
        found = values(term, {"x": ends})
        assert (min(found), max(found)) == (term.lo, term.hi), ends


@pytest.mark.parametrize("name", OF_TWO)
def test_the_bounds_of_two_operands_are_their_least_and_greatest_value(name: str) -> None:
    """The same for two operands, whatever their intervals."""
    for one, two in itertools.product(ENDS, ENDS):
        term = OF_TWO[name](variable("x", *one), variable("y", *two))
        found = values(term, {"x": one, "y": two})
        assert (min(found), max(found)) == (term.lo, term.hi), (one, two)


SMALL = least([greatest([Term("x", -1000, 1000), literal(0)]), literal(1)])
"""A term whose value is 0 or 1 and whose partial result may be a thousand."""


@pytest.mark.parametrize(
    "found",
    [
        *(of(SMALL) for of in OF_ONE.values()),
        *(of(*pair) for of in OF_TWO.values() for pair in ((SMALL, literal(3)), (literal(3), SMALL))),
        unwrapped(SMALL, "t"),
        wrapped(subtract(SMALL, literal(1)), "t"),
        magnitude(subtract(SMALL, literal(2))),
    ],
    ids=lambda found: found.text,
)
def test_a_term_reaches_as_far_as_its_parts(found: Term) -> None:
    """A term's reach covers its partial results, however small the result is."""
    assert found.constant or found.reach >= 1000


def test_an_optional_gives_back_what_it_was_made_of() -> None:
    """An Optional made of a value is not None and gives back that value, within the bounds of both terms."""
    for ends in ENDS:
        optional = wrapped(variable("x", *ends), "t")
        back = unwrapped(Term("code", optional.lo, optional.hi + 1), "u")
        for number in range(ends[0], ends[1] + 1):
            code = next(computed(optional.text, {"x": number}))
            assert code != 0
            assert next(computed(back.text, {"code": code})) == number
            assert back.lo <= number <= back.hi


def grown(chance: random.Random, depth: int, names: Iterator[str], of: dict[str, tuple[int, int]]) -> Term:
    """A nested term over variables, each used once. ``of`` receives the variables' intervals."""
    if depth == 0 or chance.random() < 0.2:
        name = next(names)
        of[name] = chance.choice(ENDS)
        return variable(name, *of[name])
    if chance.random() < 0.4:
        name = chance.choice([name for name in OF_ONE if name != "wrapped"])
        return OF_ONE[name](grown(chance, depth - 1, names, of))
    parts = [grown(chance, depth - 1, names, of) for _ in range(2)]
    return chance.choice(list(OF_TWO.values()))(*parts)


@pytest.mark.parametrize("most", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_no_value_of_a_nested_term_lies_beyond_its_bounds(most: int) -> None:
    """No value of a nested term lies beyond its bounds, and no partial result beyond its reach."""
    chance = random.Random(most)
    for _ in range(most):
        of: dict[str, tuple[int, int]] = {}
        term = grown(chance, 3, (f"x{number}" for number in itertools.count()), of)
        if len(of) <= 4:
            assert all(term.lo <= found <= term.hi for found in values(term, of)), term


# What the interpreter computes ------------------------------------------------------------------------------------


class WatchingEmitter(Emitter):
    """An emitter whose code passes every computed value and its bounds to ``seen``."""

    def expr(self, node: Expr) -> Term:
        found = super().expr(node)
        if found.constant:
            return found
        return Term(f"seen({found.lo}, {found.hi}, {found.text})", found.lo, found.hi)


def seen(lo: int, hi: int, number: int) -> int:
    """Return the number; fail if it lies beyond its bounds."""
    assert lo <= number <= hi, (lo, number, hi)
    return number


def watch(system: System, seed: int, states: int) -> None:
    """Run actions and properties in some states; fail at a value beyond its bounds."""
    interpreter = Interpreter(system, system.scopes["tiny"], emitter=WatchingEmitter)
    interpreter._globals["seen"] = seen
    chance = random.Random(seed)
    looked_at = some_states(interpreter, starts_of(interpreter), states, chance)
    for old, state in itertools.pairwise([looked_at[-1], *looked_at]):
        for successors in interpreter.successors:
            successors(state)
        for claim in claims(interpreter):
            value(interpreter, claim, old, state)


def test_no_value_in_a_model_lies_beyond_its_bounds(gauges: System) -> None:
    """In a model with the full language, and in generated models, no value lies beyond its bounds."""
    watch(gauges, 1, states=20)
    for seed in range(4):
        with loaded(model_of(seed)) as model:
            watch(compile_model(model), seed, states=6)


def test_a_value_beyond_its_bounds_is_seen(gauges: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above fails if the bounds are too narrow."""
    true = Emitter.if_else

    def narrow(self: Emitter, node: object) -> Term:
        found = true(self, node)
        return found if found.constant else Term(found.text, found.lo, found.hi - 1)

    monkeypatch.setattr(Emitter, "if_else", narrow)
    with pytest.raises(AssertionError):
        watch(gauges, 1, states=20)


@pytest.mark.parametrize(("lo", "hi", "least_one", "most"), [(2, 5, 0, 5), (-5, -2, -5, 0), (-1, 3, -1, 3)])
def test_what_is_left_out_of_a_sum_adds_nothing(lo: int, hi: int, least_one: int, most: int, gauges: System) -> None:
    """An element that a condition may leave out adds 0, so 0 lies within the bounds of its summand."""
    writer = Emitter(Interpreter(gauges, gauges.scopes["tiny"]).layout, "a test", ReturnOutcome([]))
    found = writer.counted(Term("left", 0, 1), Term("value", lo, hi))
    assert (found.lo, found.hi) == (least_one, most)
