"""A violated property names the elements that make it false, under the names of the source."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs
import pytest

from holdfast.check.prove.unroll import unroll
from holdfast.check.result import trace_to_json
from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.expr import Expr, Lit, Quantified, rebuild, substitute
from holdfast.ir.expr import walk as parts
from holdfast.ir.names import source_name
from holdfast.ir.system import Property
from holdfast.lower.layout import Value
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.replay import Replayer
from holdfast.runs.where import where_it_fails
from holdfast.runs.why import why
from holdfast.trace.text import render
from tests.check.conftest import Compiled

MODEL = """
    has: Rel[Node, N]
    lead: Node | None
    open: bool
    tiny = Scope({Node: 2, N: 2})
    @init
    def begin(self) -> None:
        self.has.fill(False)
        self.lead = None
        self.open = False
    @action
    def gain(self, p: Node, e: N) -> None:
        self.has[p, e] = True
    @action
    def follow(self, p: Node) -> None:
        self.lead = p
        self.open = True
    def free(self, p: Node) -> bool:
        return all(not self.has[p, n] for n in N)
"""

CLAIMS = {
    "two variables of one all": (
        "all(not self.has[n, k] for n in Node for k in N if k > N(0))",
        ["n", "k"],
    ),
    "an all within an all": (
        "all(all(not self.has[n, k] for k in N) for n in Node)",
        ["n", "k"],
    ),
    "an all behind a condition": (
        "not self.open or all(self.has[n, k] for n in Node for k in N)",
        ["n", "k"],
    ),
    "an any that ought to be false": (
        "not any(self.has[n, k] for n in Node for k in N if k == N(2))",
        ["n", "k"],
    ),
    "an any in a filter": (
        "all(self.lead == n for n in Node if any(self.has[n, k] for k in N))",
        ["n", "k"],
    ),
    "an all in a branch": (
        "all(not self.has[n, N(1)] for n in Node) if self.open else True",
        ["n"],
    ),
    "a helper": ("all(self.free(p) for p in Node)", ["p", "n"]),
    "an any without an element": (
        "all(any(self.has[n, k] for k in N) for n in Node if self.lead == n)",
        ["n"],
    ),
    "the second of two": (
        "all(self.has[n, N(0)] for n in Node if self.has[n, N(1)]) and all(self.lead != m for m in Node)",
        ["m"],
    ),
    "two variables of one name": (
        "all(not self.has[n, k] for n in Node for k in N) or all(self.lead != n for n in Node)",
        ["n", "k", "other n"],
    ),
    "a variable that a helper hides": (
        "all(self.free(p) for p in Node for n in N if n > N(1))",
        ["p", "n", "other n"],
    ),
    "a key beyond the bound": (
        "not self.open or any(self.has[n, k + 1] for n in Node for k in N)",
        ["n", "k"],
    ),
    "the same name one after the other": (
        "all(self.lead is None or self.lead == n or True for n in Node) and all(not self.has[n, N(0)] for n in Node)",
        ["n"],
    ),
}


@pytest.mark.parametrize(("claim", "names"), CLAIMS.values(), ids=CLAIMS.keys())
def test_all_variables_are_named(claim: str, names: list[str], compiled: Compiled) -> None:
    """The search, a replay, and the explanation of the run name the same values; the text and JSON show them."""
    system = compiled(f"{MODEL}    @invariant\n    def right(self) -> bool:\n        return {claim}\n")

    result = search(system, system.scopes["tiny"])
    (trace,) = result.findings
    replayer = Replayer(system, system.scopes["tiny"])
    again = replayer.trace(replayer.script(trace), "right")

    where = trace.shown.where
    assert [name for name, _ in where] == names
    assert again.shown.where == why(replayer, trace).trace.shown.where == where
    shown = ", ".join(f"{name} = {value}" for name, value in where)
    assert f"right is violated for {shown}." in " ".join(render(trace).split())
    assert trace_to_json(trace)["claim"]["where"] == dict(where)


def test_random_runs_and_unrolled_runs_name_them(compiled: Compiled) -> None:
    """A random run and a run that the solver finds name the variables of nested quantifiers too."""
    system = compiled(
        f"{MODEL}    @invariant\n    def right(self) -> bool:\n"
        "        return all(all(not self.has[n, k] for k in N) for n in Node)\n"
    )
    (walked,) = walk(system, system.scopes["tiny"], WalkOptions(seed=1, traces=20)).findings
    unrolled = unroll(system, 1, cores=0).trace

    assert unrolled is not None
    for trace in (walked, unrolled):
        assert [name for name, _ in trace.shown.where] == ["n", "k"]
        named = dict(trace.shown.where)
        values = {cell.keys: value for cell, value in zip(trace.cells, trace.steps[-1].values, strict=True)}
        assert values[named["n"], named["k"]] is True


def test_a_step_names_its_variables_and_arguments(compiled: Compiled) -> None:
    """The arguments that a step property reads come first, then its bound variables from the outside in."""
    system = compiled(
        MODEL
        + """
    @step(of="gain")
    def slow(self, old: Self, p: Node) -> bool:
        return all(all(self.has[n, k] == old.has[n, k] for k in N if k > N(1)) for n in Node if n == p)
    """
    )
    (trace,) = search(system, system.scopes["tiny"]).findings

    ((_, taken), (_, number)) = trace.steps[-1].args
    assert trace.shown.where == (("p", taken), ("n", taken), ("k", number))


def test_a_property_that_holds_has_no_elements(compiled: Compiled) -> None:
    """Nothing is named where nothing fails."""
    system = compiled(
        f"{MODEL}    @invariant\n    def right(self) -> bool:\n        return all(n == n for n in Node)\n"
    )
    machine = Replayer(system, system.scopes["tiny"]).machine
    state = machine.initial()[0]

    assert where_it_fails(machine, system.properties[0], state, state, ()) == ()


@pytest.mark.parametrize("claim", [claim for claim, _ in CLAIMS.values()], ids=CLAIMS.keys())
def test_the_named_elements_are_to_blame(claim: str, compiled: Compiled) -> None:
    """In every state that violates it, the property is false of the named elements: it fails with each put in.

    A quantifier over a named variable is replaced by its body with the value of the variable. The result, which says
    less than the property for an ``all`` and more for an ``any``, must be false too.
    """
    system = compiled(f"{MODEL}    @invariant\n    def right(self) -> bool:\n        return {claim}\n")
    (prop,) = system.properties
    machine = Replayer(system, system.scopes["tiny"]).machine
    bound = [part for part in parts(prop.body) if isinstance(part, Quantified)]
    states = [bytes(codes) for codes in itertools.product(*(range(cell.field.codes) for cell in machine.layout.cells))]
    violated = [state for state in states if not machine.holds(prop, state)]

    assert violated
    for state in violated:
        where = where_it_fails(machine, prop, state, state, ())
        assert len({name for name, _ in where}) == len(where) <= len(bound)
        assert any(not machine.holds(told, state) for told in _with_elements(machine, prop, where))


def _with_elements(machine: Interpreter, prop: Property, where: tuple[tuple[str, Value], ...]) -> Iterator[Property]:
    """The property with the elements in place of quantifiers over their names, one for each choice of these."""
    bound = [part for part in parts(prop.body) if isinstance(part, Quantified)]
    named = [[part for part in bound if source_name(part.var) == name.split()[-1]] for name, _ in where]
    for chosen in itertools.product(*named):
        values = {
            part.var: Lit(machine.layout.encode_value(part.domain, value), part.domain)
            for part, (_, value) in zip(chosen, where, strict=True)
        }

        def put_in(expr: Expr, values: dict[str, Lit] = values) -> Expr:
            inner = rebuild(expr, put_in)
            if isinstance(inner, Quantified) and inner.var in values:
                return substitute(inner.body, {inner.var: values[inner.var]})
            return inner

        yield attrs.evolve(prop, body=put_in(prop.body))
