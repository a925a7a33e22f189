"""A test of the generated differential, which must find every fault planted in the compiler or the interpreter.

The models are the same hundred every time. A fixed model shows the faults of ``tests/lower/test_faults.py``, and these
tests must find them too. They cannot find a check that refuses too little (independent loops, facts that survive a
write), since the generator writes only accepted models. ``tests/language`` shows such checks.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import attrs
import pytest

from holdfast.ir import removal
from holdfast.ir.compile import bodies, comparisons, expressions, folds, helpers, model, simplify
from holdfast.ir.compile import conversions as fitting
from holdfast.ir.compile.comparisons import comparison
from holdfast.ir.expr import TRUE, And, Expr, IfElse, IsNone, Not, Or, Ruled
from holdfast.ir.stmt import Stmt
from holdfast.ir.system import System
from holdfast.ir.types import SortType
from holdfast.lower import symmetry
from holdfast.lower.python import prune
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.interpreter import Interpreter
from tests.differential.comparing import (
    configurations,
    differences,
    first,
    pruned_differences,
    renamed_differences,
)
from tests.differential.generate import model_of
from tests.differential.running import loaded
from tests.lower.test_faults import FAULTS

EXAMPLES = 150
"""The most models that are tried; most faults show in the first few."""

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[System, random.Random, int], Iterator[str]]


@cache
def examples() -> tuple[str, ...]:
    """The same models each time."""
    return tuple(model_of(seed) for seed in range(EXAMPLES))


def found_at(compare: Check) -> int | None:
    """The number of a model that shows a difference, or None."""
    for number, source in enumerate(examples()):
        with loaded(source) as cls:
            systems = configurations(cls, random.Random(number))
            if first(part for system in systems for part in compare(system, random.Random(number), 2)):
                return number
    return None


# Faults in the compiler, the removal of rules, and symmetry -------------------------------------------------------


def rest_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Lines after an ``if`` with a return are dropped."""
    patch.setattr(bodies, "join_rest", lambda branch, rest: list(branch) or list(rest))


def return_goes_on(patch: pytest.MonkeyPatch) -> None:
    """A ``return`` in a branch of an action is ignored."""

    def join(branch: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept = [stmt for stmt in branch if not isinstance(stmt, ast.Return)]
        return [*kept, *rest]

    patch.setattr(bodies, "join_rest", join)


def arguments_are_late(patch: pytest.MonkeyPatch) -> None:
    """A procedure's argument is evaluated again at each use, even after the procedure's writes."""
    patch.setattr(bodies, "walk", lambda expr: iter(()))


def old_is_self(patch: pytest.MonkeyPatch) -> None:
    """A helper called on the old state reads the new state."""
    real = helpers.helper_value
    patch.setattr(
        expressions, "helper_value", lambda compiler, node, name, old, env: real(compiler, node, name, False, env)
    )


def swapped_choice(patch: pytest.MonkeyPatch) -> None:
    """The branches of a choice between values of one type are exchanged."""
    real = fitting.choose

    def choose(cond: Expr, left: Expr, right: Expr, node: ast.AST, env: Any) -> Expr:
        found = real(cond, left, right, node, env)
        assert isinstance(found, IfElse)
        return attrs.evolve(found, then=found.orelse, orelse=found.then)

    patch.setattr(helpers, "choose", choose)


def folded_wrongly(match: Callable[[Expr], Expr | None]) -> Plant:
    """Constant folding changes the value of an expression."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        real = simplify.simplify
        patch.setattr(simplify, "simplify", lambda expr: match(real(expr)) or real(expr))

    return plant


def or_for_and(expr: Expr) -> Expr | None:
    """A conjunction becomes a disjunction."""
    return Or(expr.args) if isinstance(expr, And) else None


def lost_negation(expr: Expr) -> Expr | None:
    """A negation is lost."""
    return expr.arg if isinstance(expr, Not) and not isinstance(expr.arg, IsNone) else None


def always_then(expr: Expr) -> Expr | None:
    """A choice takes its first branch."""
    return expr.then if isinstance(expr, IfElse) else None


def last_of_and(expr: Expr) -> Expr | None:
    """The last of several conjuncts is lost."""
    return And(expr.args[:-1]) if isinstance(expr, And) and len(expr.args) > 2 else None


def negation_of_literals(patch: pytest.MonkeyPatch) -> None:
    """``not True`` is folded to True."""
    patch.setattr(simplify, "FALSE", TRUE)


def lost_filter(patch: pytest.MonkeyPatch) -> None:
    """A comprehension forgets its filters."""
    real = folds._bindings

    def bindings(compiler: Any, node: Any, env: Any) -> Any:
        found, inner = real(compiler, node, env)
        return [(name, domain, TRUE) for name, domain, _ in found], inner

    patch.setattr(folds, "_bindings", bindings)


def lost_chain(patch: pytest.MonkeyPatch) -> None:
    """In ``a < b < c`` only the first comparison counts."""
    real = comparison
    patch.setattr(
        expressions,
        "comparison",
        lambda compiler, node, env: real(
            compiler, ast.copy_location(ast.Compare(node.left, node.ops[:1], node.comparators[:1]), node), env
        ),
    )


def in_is_not_in(patch: pytest.MonkeyPatch) -> None:
    """``not in`` is taken for ``in``."""
    patch.setattr(comparisons, "Not", lambda arg: arg if isinstance(arg, Or) else Not(arg))


class _AddsOnly:
    """The module ``ast``, with a BinOp that adds instead of subtracting."""

    def __getattr__(self, name: str) -> Any:
        return getattr(ast, name)

    def BinOp(self, left: ast.expr, op: ast.operator, right: ast.expr) -> ast.BinOp:  # noqa: N802 - as in ast
        return ast.BinOp(left, ast.Add() if isinstance(op, ast.Sub) else op, right)


def sums_for_differences(patch: pytest.MonkeyPatch) -> None:
    """``x -= 1`` adds."""
    patch.setattr(bodies, "ast", _AddsOnly())


def flags_are_false(patch: pytest.MonkeyPatch) -> None:
    """A flag stays False in its variant."""
    real = model._Compiler._context
    patch.setattr(model._Compiler, "_context", lambda self: _without_flags(real(self)))


def _without_flags(context: Any) -> Any:
    fields = {
        name: attrs.evolve(field, flag=None if field.flag is None else False) for name, field in context.fields.items()
    }
    return attrs.evolve(context, fields=fields)


def variants_are_ignored(patch: pytest.MonkeyPatch) -> None:
    """A variant's method replaces nothing."""
    patch.setattr(model._Compiler, "_replacements", lambda self: {})


def removed_holds(patch: pytest.MonkeyPatch) -> None:
    """A removed condition is True instead of False."""
    patch.setattr(removal, "FALSE", TRUE)


def removed_everywhere(patch: pytest.MonkeyPatch) -> None:
    """``LABEL@action`` removes the rule in every action."""
    real = removal._without
    everywhere = lambda action, wanted: real(action, [text.partition("@")[0] for text in wanted])  # noqa: E731
    patch.setattr(removal, "_without", everywhere)


def removal_stops_at_branches(patch: pytest.MonkeyPatch) -> None:
    """A rule is not removed if its condition is the test of a branch."""
    real = removal._expr
    patch.setattr(removal, "_expr", lambda expr, labels: expr if isinstance(expr, Ruled) else real(expr, labels))


def ghosts_take_all(patch: pytest.MonkeyPatch) -> None:
    """If the last statement of an ``if`` writes a ghost, the whole ``if`` is dropped with it."""
    real = prune._prune

    def lose(body: tuple[Stmt, ...], dropped: frozenset[str], lost: set[str]) -> tuple[Stmt, ...]:
        kept = real(body, dropped, lost)
        return kept if len(kept) == len(body) else ()

    patch.setattr(prune, "_prune", lose)


def optionals_stay(patch: pytest.MonkeyPatch) -> None:
    """A renaming forgets elements in Optionals."""
    patch.setattr(symmetry, "_holds_elements", lambda kind: isinstance(kind, SortType))


def keys_stay(patch: pytest.MonkeyPatch) -> None:
    """A renaming moves values and forgets keys."""
    patch.setattr(symmetry, "renamed_key", lambda kinds, index, renaming: index)


COMPILED: tuple[Plant, ...] = (
    rest_is_lost,
    return_goes_on,
    arguments_are_late,
    old_is_self,
    swapped_choice,
    negation_of_literals,
    lost_filter,
    lost_chain,
    in_is_not_in,
    sums_for_differences,
    flags_are_false,
    variants_are_ignored,
    removed_holds,
    removed_everywhere,
    removal_stops_at_branches,
)

PLANTS: dict[str, tuple[Plant, Check]] = {
    **{plant.__name__: (plant, differences) for plant in COMPILED},
    **{
        match.__name__: (folded_wrongly(match), differences)
        for match in (or_for_and, lost_negation, always_then, last_of_and)
    },
    "ghosts_take_all": (ghosts_take_all, pruned_differences),
    "optionals_stay": (optionals_stay, renamed_differences),
    "keys_stay": (keys_stay, renamed_differences),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some model shows each fault of the compiler, of rule removal, of pruning and of symmetry."""
    plant, check = PLANTS[name]
    plant(monkeypatch)
    assert found_at(check) is not None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_interpreter_is_found(fault: type[Emitter]) -> None:
    """Some generated model shows each fault of the interpreter that the fixed models show."""

    def compare(system: System, chance: random.Random, states: int) -> Iterator[str]:
        make = partial(Interpreter, emitter=fault)
        return differences(system, chance, states, make)

    assert found_at(compare) is not None
