"""The memo gives the same formulas as a writer without a memo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.encoding import Encoding
from holdfast.lower.smt.formula_memo import ExpressionInputs, FormulaMemo, N
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.theory import Theory, obligations
from holdfast.lower.smt.values import Value

MODEL = """\
from typing import Self
from holdfast.lang import *
class Node(Sort): ...
class Turn(Nat): ...
class Nested(Model):
    held: Map[Node, Turn]
    done: Rel[Node]
    tiny = Scope({Node: 2, Turn: 3})
    @init
    def begin(self) -> None:
        self.held.fill(Turn(0))
        self.done.fill(False)
    @action
    def go(self, n: Node) -> None:
        low = all(self.held[m] <= self.held[n] or any(self.held[k] < self.held[m] for k in Node) for m in Node)
        require(low, "SZ-01")
        require(sum(self.held[k] for k in Node) < 3, "SZ-02")
        self.held[n] += 1
        if sum(self.held[k] for k in Node) > 1:
            self.done[n] = True
        for m in Node:
            if max((self.held[k] for k in Node), default=Turn(0)) == self.held[m]:
                self.done[m] = True
    @invariant
    def small(self) -> bool:
        return all(sum(self.held[k] for k in Node) >= self.held[n] for n in Node)
    @step(of="go")
    def grows(self, old: Self, n: Node) -> bool:
        return all(old.held[m] <= self.held[m] for m in Node)
"""


@pytest.fixture
def nested(tmp_path: Path) -> System:
    """A model whose quantifiers and folds stand in one another."""
    path = tmp_path / "nested.py"
    path.write_text(MODEL)
    return compile_model(load_model(str(path)))


def written(system: System) -> list[str]:
    """The formulas of all obligations in one size."""
    theory = Theory(Encoding(SizedUniverse(system, {"Node": 2, "Turn": 3}), frozenset()), system.properties)
    dues = obligations(system.actions, [each for each in system.properties if each.kind != "lemma"], ())
    names = [each.name for each in system.properties if each.kind == "invariant"]
    return [fact.sexpr() for due in dues for fact in theory.violated(due, names).facts]


def test_the_formulas_are_the_same(nested: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a memory, to the letter; and something is remembered."""
    value, made = FormulaMemo.value, [0]

    def counted(self: FormulaMemo, node: N, at: Bindings, write: Callable[[N, Bindings], Value]) -> Value:
        def once(node: N, at: Bindings) -> Value:
            made[-1] += 1
            return write(node, at)

        return value(self, node, at, once)

    def forgetful(_: FormulaMemo, node: N, at: Bindings, write: Callable[[N, Bindings], Value]) -> Value:
        made[-1] += 1
        return write(node, at)

    monkeypatch.setattr(FormulaMemo, "value", counted)
    remembered = written(nested)
    made.append(0)
    monkeypatch.setattr(FormulaMemo, "value", forgetful)
    assert written(nested) == remembered
    assert made[0] < made[1]


@pytest.mark.parametrize("field", ["names", "variables"])
def test_a_forgotten_input_is_noticed(nested: System, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that takes different elements, or different states, for equal ones gives other formulas."""
    right = written(nested)
    of = ExpressionInputs.of
    monkeypatch.setattr(ExpressionInputs, "of", lambda node: attrs.evolve(of(node), **{field: ()}))
    assert written(nested) != right
