"""The faults that engines once had: each function undoes exactly one fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import pytest
import z3

from holdfast.check.mutate import bench
from holdfast.check.prove import engine as prove
from holdfast.check.prove.rests import grounds
from holdfast.check.search import checkpoint
from holdfast.ir import system
from holdfast.ir.compile import (
    checks,
    comparisons,
    helpers,
    key_bounds,
    memberships,
    model,
    properties,
    record_fields,
    records,
    sequences,
)
from holdfast.ir.expr import TRUE, And, Compare, Expr, IfElse, IsNone, Lit, MapRead, Not, Unwrap, Wrap
from holdfast.ir.stmt import is_check
from holdfast.ir.types import BOOL, INT, MapType, NatType, NumberType, OptionalType
from holdfast.lower.kernel import build, emit, source
from holdfast.lower.python import expression_text
from holdfast.lower.python.emit import Emitter
from holdfast.lower.smt import unbounded_universe
from holdfast.lower.tla import bodies as tla_bodies
from holdfast.lower.tla import expression_text as tla_expressions
from tests.generated.small import FROM, FROM_ANSWERS, FROM_MAPS, FROM_POOLS, FROM_SEQUENCES

Patch = pytest.MonkeyPatch


# Proofs -------------------------------------------------------------------------------------------------------------


def negative_literals(patch: Patch) -> None:
    """A negative number becomes a constant of a Nat that is only compared, though all values are at least 0."""
    real = unbounded_universe._is_simple
    patch.setattr(unbounded_universe, "_is_simple", lambda expr: isinstance(expr, Lit) or real(expr))
    patch.setattr(unbounded_universe.UnboundedUniverse, "number", _any_number)


def _any_number(universe: Any, value: int, sort: Any) -> Any:
    if sort.kind() == z3.Z3_INT_SORT:
        return z3.IntVal(value, universe.ctx)
    return z3.Const(f"{sort.name()}.{value}", sort)


def endless_numbers(patch: Patch) -> None:
    """A Nat with arithmetic has no greatest value, yet the greatest of all its values is used."""

    def within(universe: Any, value: Any, kind: Any) -> Any:
        if isinstance(kind, NatType) and kind.name in universe.computed:
            return value >= 0
        return real(universe, value, kind)

    real = unbounded_universe.UnboundedUniverse.within
    patch.setattr(unbounded_universe.UnboundedUniverse, "within", within)


def unsaid_literals(patch: Patch) -> None:
    """A proof does not state its assumption that the model's literals exist."""
    patch.setattr(prove, "grounds", lambda logic: tuple(each for each in grounds(logic) if each.what != "literals"))


def shared_symbols(patch: Patch) -> None:
    """The name of a symbol is made by joining the model's names."""
    from holdfast.lower.smt import symbols  # noqa: PLC0415

    def glued(symbol: Any) -> str:
        if symbol.role in ("field", "argument"):
            return ".".join((*(("self",) if symbol.role == "field" else ()), *symbol.parts)) + symbol.mark
        return plain(symbol)

    plain = symbols.Symbol.__str__
    patch.setattr(symbols.Symbol, "__str__", glued)
    patch.setattr(symbols.Symbols, "_named", _noted)


def _noted(table: Any, symbol: Any) -> str:
    table._meanings.setdefault(str(symbol), symbol)
    return str(symbol)


# The kernel, checkpoints, mutants -----------------------------------------------------------------------------------


def kernel_names(patch: Patch) -> None:
    """A kernel function has the name of its action, and the function of all steps is called ``of_all``."""
    patch.setattr(
        source.KernelSource, "name", lambda _, family, action: f"{family}_{action.name if action else 'of_all'}"
    )
    patch.setattr(build, "refuse_clashes", lambda text: text, raising=False)


def any_checkpoint(patch: Patch) -> None:
    """A checkpoint does not record its scope."""
    real = checkpoint.header_of
    kept = ("version", "model", "scope", "fingerprint", "kernel", "keep_going")
    patch.setattr(checkpoint, "header_of", lambda search: {k: v for k, v in real(search).items() if k in kept})


def listed_steps(patch: Patch) -> None:
    """Two graphs count as equal only if their steps are listed in the same order."""
    patch.setattr(bench, "_same_steps", lambda one, two: one == two, raising=False)


# The compiler -------------------------------------------------------------------------------------------------------


def silent_overrides(patch: Patch) -> None:
    """An override without a decorator silently removes the overridden method."""
    patch.setattr(model, "check_overrides", lambda _cls, _source, _refusals: None)


def computed_ghosts(patch: Patch) -> None:
    """The compiler does not look into locals for computed numbers."""
    patch.setattr(checks, "is_computed", lambda value, _: any(map(_is_number, _results(value))), raising=False)


def computed_keys(patch: Patch) -> None:
    """Only a key's type decides whether it is computed."""
    patch.setattr(key_bounds, "is_loose_key", lambda key, _: _is_number(key))


def endless_keys(patch: Patch) -> None:
    """A key beyond its bound cuts no step."""
    patch.setattr(model, "with_bounds", lambda action, *_: action)


def eager_keys(patch: Patch) -> None:
    """A key of a part that Python leaves out cuts the step, too."""
    patch.setattr(key_bounds, "_if", lambda _test, then, orelse, _at: [*then, *orelse])


def first_keys(patch: Patch) -> None:
    """Of a quantifier only the keys of elements are computed that do not follow a decision of others."""
    patch.setattr(key_bounds, "_for", lambda _name, _domain, _body, _at: [])


def true_beyond(patch: Patch) -> None:
    """A property takes the nearest cell where a key is beyond its bound."""
    patch.setattr(properties, "where_defined", lambda claim, _: claim)


def unbounded_kernel(patch: Patch) -> None:
    """A kernel looks at no bound of a key."""
    real = emit.KernelEmitter.statement
    patch.setattr(emit.KernelEmitter, "statement", lambda self, stmt: is_check(stmt) or real(self, stmt))


def unbounded_module(patch: Patch) -> None:
    """A TLA+ module looks at no bound of a key."""
    real = tla_bodies.Body.block
    patch.setattr(
        tla_bodies.Body,
        "block",
        lambda self, body, later, owned: real(self, [stmt for stmt in body if not is_check(stmt)], later, owned),
    )


def _is_number(value: Expr) -> bool:
    return isinstance(value.type, NumberType)


def _results(value: Expr) -> Iterable[Expr]:
    match value:
        case Wrap(arg=arg):
            yield from _results(arg)
        case IfElse(then=then, orelse=orelse):
            yield from (*_results(then), *_results(orelse))
        case _:
            yield value


def one_name(patch: Patch) -> None:
    """A deadlock has the same name as a property called so."""
    patch.setattr(system.System, "claim_name", lambda _, name: name, raising=False)


# TLA+ ---------------------------------------------------------------------------------------------------------------


def dropped_tests(patch: Patch) -> None:
    """Two compared Optionals are not tested for None."""

    def without(_: object, args: Iterable[Expr]) -> list[Expr]:
        every = list(args)
        known = [
            side.arg
            for arg in every
            if isinstance(arg, Compare) and arg.op == "=="
            for side, other in ((arg.left, arg.right), (arg.right, arg.left))
            if isinstance(side, Unwrap) and not isinstance(other.type, OptionalType)
        ]
        return [
            arg for arg in every if not (isinstance(arg, Not) and isinstance(arg.arg, IsNone) and arg.arg.arg in known)
        ]

    patch.setattr(tla_expressions.TlaExpressions, "without_tests", without)


# Sequences ------------------------------------------------------------------------------------------------------------


def stale_entries(patch: Patch) -> None:
    """A sequence that is cut back keeps the entries beyond its length."""
    patch.setattr(sequences, "_before", lambda _length, index, found: found.stored(index))


def any_entry(patch: Patch) -> None:
    """An index without an entry takes the nearest cell."""
    patch.setattr(sequences.SequenceCells, "at", lambda self, index: self.stored(index))


def equal_lengths(patch: Patch) -> None:
    """Sequences of one length are equal."""
    patch.setattr(sequences, "_same", lambda _one, _two, _index: TRUE)


def one_more(patch: Patch) -> None:
    """A step that takes the first entry away keeps the length."""
    real = sequences._one
    patch.setattr(sequences, "_one", lambda op, value, index: value if op == "-" else real(op, value, index))


def first_parts(patch: Patch) -> None:
    """Records are equal if their first parts are."""
    real = records.equal

    def equal(*args: Any) -> Expr:
        found = real(*args)
        return attrs.evolve(found, args=found.args[:1]) if isinstance(found, And) else found

    patch.setattr(comparisons, "same_parts", equal)


def all_are_members(patch: Patch) -> None:
    """A loop over the members of a relation visits all values of their type."""
    patch.setattr(memberships.Membership, "test", lambda _self, _variables: TRUE)


def one_cell(patch: Patch) -> None:
    """A whole map has the value of its first cell in all of them."""
    real = expression_text.PythonExpressions.lookup

    def lookup(text: Any, node: MapRead) -> Any:
        return real(text, attrs.evolve(node, keys=tuple(Lit(0, INT) for _ in node.keys)))

    patch.setattr(expression_text.PythonExpressions, "lookup", lookup)


def whole_members(patch: Patch) -> None:
    """A parameter that is a relation has all members, for the module of TLA+."""
    real = tla_expressions.Globals.domain

    def domain(shared: Any, kind: Any) -> str:
        return str(real(shared, kind)).replace("BOOLEAN", "{TRUE}") if isinstance(kind, MapType) else real(shared, kind)

    patch.setattr(tla_expressions.Globals, "domain", domain)


def true_parts(patch: Patch) -> None:
    """A loop over records visits only those whose truth values are true."""
    real = expression_text.PythonExpressions.elements

    def elements(text: Any, var: str, domain: Any) -> Iterator[int]:
        yield from (code for code in real(text, var, domain) if domain != BOOL or code)

    patch.setattr(expression_text.PythonExpressions, "elements", elements)


def true_messages(patch: Patch) -> None:
    """A part of a record that is a truth value is true, for the module of TLA+."""
    real = tla_expressions.Globals.domain
    patch.setattr(tla_expressions.Globals, "domain", lambda at, kind: "{TRUE}" if kind == BOOL else real(at, kind))


def parts_one_by_one(patch: Patch) -> None:
    """A part of a record is computed from the parts that are written before."""
    patch.setattr(record_fields, "_settled", lambda _compiler, exprs, _variables, _at: ([], tuple(exprs)))


def last_return(patch: Patch) -> None:
    """Of a helper that returns a record, only the last ``return`` counts."""
    real = helpers.value_body

    def wrong(compiler: Any, body: Any, env: Any, owner: Any, part: Any = helpers.WHOLE) -> Expr:
        return real(compiler, body[-1:] if isinstance(part, helpers.ResultPart) else body, env, owner, part)

    patch.setattr(helpers, "value_body", wrong)


def endless_pools(patch: Patch) -> None:
    """Nothing checks the bound of a pool."""
    patch.setattr(Emitter, "limited", lambda *_: True)


def one_member_more(patch: Patch) -> None:
    """In the kernel, a pool may have a member more."""
    real = emit.KernelEmitter.members
    patch.setattr(emit.KernelEmitter, "members", lambda self, pool: f"{real(self, pool)} - 1")


@attrs.frozen
class Fault:
    """A fault, an engine, and seeds: one of their models shows the fault, and without it no model differs."""

    plant: Callable[[Patch], None]
    engine: str
    seeds: range


FAULTS = (
    Fault(negative_literals, "prove", range(1109, 1112)),
    Fault(endless_numbers, "prove", range(299, 302)),
    Fault(unsaid_literals, "prove", range(4085, 4089)),
    Fault(shared_symbols, "prove", range(2054, 2057)),
    Fault(kernel_names, "kernel-text", range(50, 60)),
    Fault(any_checkpoint, "resume", range(165, 171)),
    Fault(listed_steps, "mutate", range(133, 138)),
    Fault(silent_overrides, "interpreter", range(278, 283)),
    Fault(computed_ghosts, "interpreter", range(118, 123)),
    Fault(computed_keys, "interpreter", range(176, 179)),
    Fault(endless_keys, "interpreter", range(FROM, FROM + 2)),
    Fault(eager_keys, "interpreter", range(FROM, FROM + 2)),
    Fault(first_keys, "interpreter", range(FROM + 26, FROM + 28)),
    Fault(true_beyond, "interpreter", range(FROM, FROM + 2)),
    Fault(unbounded_kernel, "kernel-text", range(FROM, FROM + 2)),
    Fault(stale_entries, "interpreter", range(FROM_SEQUENCES + 16, FROM_SEQUENCES + 17)),
    Fault(any_entry, "interpreter", range(FROM_SEQUENCES + 4, FROM_SEQUENCES + 6)),
    Fault(equal_lengths, "interpreter", range(FROM_SEQUENCES + 151, FROM_SEQUENCES + 152)),
    Fault(one_more, "interpreter", range(FROM_SEQUENCES + 4, FROM_SEQUENCES + 6)),
    Fault(first_parts, "interpreter", range(FROM_SEQUENCES + 11, FROM_SEQUENCES + 12)),
    Fault(all_are_members, "interpreter", range(FROM_SEQUENCES + 11, FROM_SEQUENCES + 12)),
    Fault(one_cell, "interpreter", range(FROM_MAPS + 8, FROM_MAPS + 9)),
    Fault(whole_members, "tlc", range(FROM_MAPS + 8, FROM_MAPS + 9)),
    Fault(endless_pools, "interpreter", range(FROM_POOLS, FROM_POOLS + 2)),
    Fault(one_member_more, "kernel-text", range(FROM_POOLS, FROM_POOLS + 2)),
    Fault(true_parts, "interpreter", range(FROM_ANSWERS + 26, FROM_ANSWERS + 27)),
    Fault(parts_one_by_one, "interpreter", range(FROM_ANSWERS + 6, FROM_ANSWERS + 7)),
    Fault(last_return, "interpreter", range(FROM_ANSWERS + 31, FROM_ANSWERS + 32)),
    Fault(true_messages, "tlc", range(FROM_ANSWERS, FROM_ANSWERS + 3)),
    Fault(one_name, "interpreter", range(153, 158)),
    Fault(dropped_tests, "tlc", range(178, 182)),
    Fault(unbounded_module, "tlc", range(FROM + 1, FROM + 3)),
)
