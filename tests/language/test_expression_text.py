"""Expressions as text: ``holdfast prove`` suggests lemmas that people paste into a model."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.check.prove.expression_text import written
from holdfast.ir.expr import Implies, Name
from holdfast.ir.types import BOOL
from tests.language.conftest import Build

EXPRESSIONS = {
    "self.on": "self.on",
    "not self.on": "not self.on",
    "True": "True",
    "self.mode == Phase.BUSY": "self.mode == Phase.BUSY",
    "not self.mode == Phase.BUSY": "self.mode != Phase.BUSY",
    "not self.mode != Phase.BUSY": "self.mode == Phase.BUSY",
    "not self.high < self.low": "self.high >= self.low",
    "not self.high <= self.low": "self.high > self.low",
    "not self.high > self.low": "self.high <= self.low",
    "not self.high >= self.low": "self.high < self.low",
    "self.owner is None": "self.owner is None",
    "self.owner is not None": "self.owner is not None",
    "not (self.owner is None)": "self.owner is not None",
    "all(self.held[n, s] for n in Node for s in Stream)": "all(self.held[n, s] for n in Node for s in Stream)",
    "any(not self.held[n, s] for n in Node for s in Stream)": "any(not self.held[n, s] for n in Node for s in Stream)",
    "all(any(self.held[n, s] for n in Node) for s in Stream)": (
        "all(any(self.held[n, s] for n in Node) for s in Stream)"
    ),
    "all(self.on for n in Node if n == self.first)": "all(self.on for n in Node if n == self.first)",
    "any(self.on and n == self.first for n in Node)": "any(self.on and n == self.first for n in Node)",
    "self.on and (self.off or self.high < self.low)": "self.on and (self.off or self.high < self.low)",
    "(self.on and self.off) or self.high < self.low": "self.on and self.off or self.high < self.low",
    "not (self.on and self.off)": "not (self.on and self.off)",
    "(self.on == self.off) == (self.high < self.low)": "(self.on == self.off) == (self.high < self.low)",
    "(self.off if self.on else self.high < self.low)": "self.off if self.on else self.high < self.low",
    "count(n == self.first for n in Node) == 1": "count(n == self.first for n in Node) == 1",
    "sum(self.gap for n in Node) == 1": "sum(self.gap for n in Node) == 1",
    "sum(self.gap for n in Node if n == self.first) == 1": "sum(self.gap for n in Node if n == self.first) == 1",
    "max((self.gap for n in Node if n == self.first), default=1) == 1": (
        "max((self.gap for n in Node if n == self.first), default=1) == 1"
    ),
    "min(self.gap, 2) < self.gap + 1": "min(self.gap, 2) < (self.gap + 1)",
    "max(self.gap, 2) < 3": "max(self.gap, 2) < 3",
    "abs(self.gap) <= 2": "abs(self.gap) <= 2",
}
MODEL = """
class M(Model):
    on: bool
    off: bool
    mode: Phase
    high: Epoch
    low: Epoch
    gap: Gap
    first: Node
    owner: Node | None
    held: Rel[Node, Stream]

    tiny = Scope({Node: 2, Stream: 2, Epoch: 1})

    @init
    def begin(self, n: Node, answer: bool, mode: Phase, e: Epoch, gap: Gap) -> None:
        self.on = answer
        self.off = not answer
        self.mode = mode
        self.high = e
        self.low = e
        self.gap = gap
        self.first = n
        self.owner = n
        self.held.fill(answer)
"""
CLAIM = """
    @invariant
    def claim_{number}(self) -> bool:
        return {text}
"""


def rewritten(build: Build, texts: Iterable[str]) -> list[str]:
    """The expressions of these texts, parsed and written as text again."""
    claims = [CLAIM.format(number=number, text=text) for number, text in enumerate(texts)]
    return [written(prop.body) for prop in build(MODEL + "".join(claims)).properties]


def test_an_expression_is_written_as_the_model_language(build: Build) -> None:
    """The text is plain Python with the necessary parentheses, and compiles to the expression it was written from."""
    found = rewritten(build, EXPRESSIONS)
    assert dict(zip(EXPRESSIONS, found, strict=True)) == EXPRESSIONS
    assert rewritten(build, found) == found


def test_an_implication_is_written_as_an_or() -> None:
    """The language has no implication: its premise is negated."""
    on, off = Name("on", BOOL), Name("off", BOOL)
    assert written(Implies(on, off)) == "not on or off"
