"""Tests for None that the generated text leaves out: TLC and Python find the same conditions true."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Iterator, Mapping, Sequence

from holdfast.check.tlc.answer import answer_of
from holdfast.check.tlc.process import Tools, run_tlc
from holdfast.ir.expr import And, Compare, Expr, IfElse, Implies, IsNone, Lit, Name, Not, Or, Quantified, Read, Unwrap
from holdfast.ir.types import BOOL, NatType, OptionalType, SortType
from holdfast.lower.tla.expression_text import Globals, TlaExpressions
from holdfast.lower.tla.names import TlaNames
from tests.tla.asking import LIMIT

Env = Mapping[str, object]

VALUES = {"Node": ("n1", "n2"), "Epoch": (0, 1)}
OTHER = {"n1": "n2", "n2": "n1", 0: 1, 1: 0}
"""The values of the function ``f``."""

COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def value(expr: Expr, env: Env) -> object:  # noqa: C901 - one case for each kind of node
    """The value of an expression, evaluated left to right as Python does; raises ValueError if None is used."""
    match expr:
        case Lit(value=found):
            return found
        case Name(name):
            return env[name]
        case Read(keys=(key,)):
            return OTHER[value(key, env)]
        case Not(arg):
            return not value(arg, env)
        case And(args):
            return all(value(arg, env) for arg in args)
        case Or(args):
            return any(value(arg, env) for arg in args)
        case Implies(left, right):
            return not value(left, env) or value(right, env)
        case IfElse(test, then, orelse):
            return value(then if value(test, env) else orelse, env)
        case Compare(op, left, right):
            return getattr(operator, COMPARED[op])(value(left, env), value(right, env))
        case IsNone(arg):
            return value(arg, env) is None
        case Quantified("any", name, domain, body):
            return any(value(body, {**env, name: each}) for each in VALUES[str(domain)])
        case Unwrap(arg):
            found = value(arg, env)
            if found is None:
                raise ValueError(f"{arg} is None")
            return found
    raise AssertionError(expr)


class Conditions:
    """Conditions on two Optionals ``a`` and ``b`` and a value ``v`` of one type."""

    def __init__(self, kind: SortType | NatType) -> None:
        self.kind = kind
        self.a, self.b = (Name(name, OptionalType(kind)) for name in "ab")
        self.v = Name("v", kind)
        self.envs: list[dict[str, object]] = [
            dict(zip("abv", values, strict=True))
            for values in itertools.product(*[(None, *VALUES[kind.name])] * 2, VALUES[kind.name])
        ]

    def comparisons(self) -> list[Expr]:
        """Every comparison of two different terms."""
        plain = [Unwrap(self.a, self.kind), Unwrap(self.b, self.kind), self.v]
        terms = [*plain, *(Read("f", (term,), self.kind) for term in plain)]
        ops = ("==", "!=", "<", ">=") if isinstance(self.kind, NatType) else ("==", "!=")
        return [Compare(op, *sides) for op in ops for sides in itertools.permutations(terms, 2)]

    def conjunctions(self) -> Iterator[Expr]:
        """Conjunctions of tests and comparisons in any order: all with one comparison, a sample of those with two."""
        tests: list[Expr] = [Not(IsNone(self.a)), Not(IsNone(self.b))]
        found = self.comparisons()
        for comparison in found:
            yield from map(And, itertools.permutations((*tests, comparison)))
        chance = random.Random(15)
        for two in chance.sample(list(itertools.combinations(found, 2)), 30):
            for order in itertools.permutations((*tests, *two)):
                yield And(order)

    def within(self, cond: Expr, place: int) -> Expr:
        """The condition alone, and inside larger ones."""
        none, some = (
            IsNone(self.a),
            Quantified("any", "m", self.kind, And((cond, Compare("==", self.v, Name("m", self.kind))))),
        )
        larger = (cond, Not(cond), Or((none, cond)), Implies(cond, none), IfElse(cond, none, Not(none), BOOL), some)
        return larger[place % len(larger)]

    def all(self) -> list[Expr]:
        """All conditions that never use None."""
        found = [self.within(cond, place) for place, cond in enumerate(self.conjunctions())]
        return [cond for cond in found if all(self.fine(cond, env) for env in self.envs)]

    def fine(self, cond: Expr, env: Env) -> bool:
        """Whether Python evaluates the condition without an error."""
        try:
            value(cond, env)
        except ValueError:
            return False
        return True


def assumed(conditions: Conditions, cond: Expr) -> str:
    """An assumption that the condition is true for the same values in TLC and in Python."""
    module = Globals(TlaNames())
    module.domains, module.variables = {"Node": "Node", "Epoch": "Epoch"}, {"f": "F"}
    lines = TlaExpressions(module).expr(cond).lines
    kind = conditions.kind.name
    true = [env for env in conditions.envs if value(cond, env)]
    tuples = ", ".join(f"<<{', '.join(map(written, env.values()))}>>" for env in true)
    optional = rf"({kind} \cup {{Nil}})"
    head = rf"ASSUME {{t \in {optional} \X {optional} \X {kind} : LET a == t[1] b == t[2] v == t[3] IN"
    return "\n".join([head, *(f"    {line}" for line in lines), f"  }} = {{{tuples}}}"])


def written(each: object) -> str:
    """A value in TLA+."""
    return "Nil" if each is None else str(each)


def module(assumptions: Sequence[str]) -> dict[str, str]:
    """A module with these assumptions, and its configuration."""
    head = [
        "---- MODULE nil ----", "EXTENDS Integers", "CONSTANTS Nil, n1, n2", "VARIABLE x",
        "Node == {n1, n2}", "Epoch == 0..1", "Init == x = 0", "Next == x' = x",
        r"F == [k \in Node \cup Epoch |-> IF k = n1 THEN n2 ELSE IF k = n2 THEN n1 ELSE 1 - k]",
    ]  # fmt: skip
    constants = "".join(f" {name} = {name}\n" for name in ("Nil", "n1", "n2"))
    text = "\n".join([*head, *assumptions, "===="])
    return {"nil.tla": text, "nil.cfg": f"INIT Init\nNEXT Next\nCONSTANTS\n{constants}"}


def test_a_test_for_none_is_left_out_only_where_nothing_changes(tools: Tools) -> None:
    """Conditions with tests for None are true in TLA+ exactly where they are in Python, and never an error."""
    both = [Conditions(SortType("Node")), Conditions(NatType("Epoch"))]
    assumptions = [assumed(conditions, cond) for conditions in both for cond in conditions.all()]
    assert len(assumptions) > 500
    assert answer_of(run_tlc(tools, module(assumptions), "nil", "nil.cfg", seconds=LIMIT)).verdict == "exhausted"
