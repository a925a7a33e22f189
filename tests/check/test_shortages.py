"""Shortages: which parameters had no value left, and where a search must not say so."""

from __future__ import annotations

from itertools import product

import pytest

from holdfast.check.result import Result
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.ir import shortages
from holdfast.ir.expr import conjunction
from holdfast.ir.removal import remove_rules
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Interpreter
from tests.check.conftest import Compiled

CHOOSE = """
    x: N
    y: N
    tiny = Scope({{N: {last}}})
    @init
    def zero(self) -> None:
        self.x = N(0)
        self.y = N(0)
    @action
    def choose(self, x: N, y: N) -> None:
        self.x = x
        self.y = y
    @action
    def pick(self, k: N) -> None:
        require({rule})
"""
"""A model that reaches every pair of values. It takes ``k`` where a rule lets it."""

RULES = [
    "k == self.x",
    "k == self.x + 1",
    "self.x + 1 == k",
    "k == self.x + self.y",
    "k > self.x",
    "self.x < k",
    "k >= self.x",
    "k >= self.x + 2",
    "k < self.x",
    "k <= self.x + 5",
    "k + 1 == self.x",
    "k > self.x and k > self.y",
    "k == self.x + 1 and self.x == self.y",
    "k == self.x + 1 and self.x < N(1)",
    "k == self.x + 1 and self.x < self.x",
    "all(k > v for v in N if v == self.x)",
    "all(k > v and v == self.x for v in N if v == self.x)",
    "k == max((v for v in N if v <= self.x), default=N(0)) + 1",
]
"""Rules for ``k``, with all forms that are looked into."""

UNSEEN = ["k > self.x or self.y == N(0)", "k - 1 == self.x", "not k <= self.x"]
"""Rules that may ask for more, and are not looked into."""


def searched(compiled: Compiled, rule: str, last: int) -> Result:
    """The search of ``CHOOSE`` with a rule, where N has the values 0 to ``last``."""
    system = compiled(CHOOSE.format(rule=rule, last=last))
    return search(system, system.scopes["tiny"])


def wants_more(compiled: Compiled, rule: str, last: int) -> bool:
    """Whether in some state no value up to ``last`` satisfies a rule and a greater one does: a larger scope tells."""
    system = compiled(CHOOSE.format(rule=rule, last=4 * last + 8))
    machine = Interpreter(system, system.scopes["tiny"])

    def takes(x: int, y: int, k: int) -> bool:
        return isinstance(machine.step(machine.layout.encode({"x": x, "y": y}), "pick", (k,)), Taken)

    return any(
        any(takes(x, y, k) for k in range(last + 1, 4 * last + 9)) and not any(takes(x, y, k) for k in range(last + 1))
        for x, y in product(range(last + 1), repeat=2)
    )


@pytest.mark.parametrize("last", [0, 1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_a_parameter_is_named_if_a_larger_scope_had_a_value(compiled: Compiled, rule: str, last: int) -> None:
    """A search names the parameter exactly where only a value beyond the bound would satisfy the rule."""
    named = len(searched(compiled, rule, last).figures.shortages)

    assert named == wants_more(compiled, rule, last)


@pytest.mark.parametrize("rule", UNSEEN)
def test_what_is_not_looked_into_is_never_named(compiled: Compiled, rule: str) -> None:
    """A search is silent about a rule with another form, although a larger scope had a value."""
    assert wants_more(compiled, rule, 3)
    assert searched(compiled, rule, 3).figures.shortages == ()


@pytest.mark.parametrize("rule", [*RULES, *UNSEEN])
def test_machine_code_names_the_same(compiled: Compiled, rule: str) -> None:
    """The kernel gives the figures of the interpreter, on one core and on two."""
    system = compiled(CHOOSE.format(rule=rule, last=3))
    scope = system.scopes["tiny"]
    wanted = search(system, scope, engine="interpreter").figures

    for cores in (1, 2):
        assert search(system, scope, engine="kernel", cores=cores).figures == wanted


def test_a_rule_that_refuses_before_it_asks_for_nothing(compiled: Compiled) -> None:
    """Where an earlier rule refuses, a later one is not asked."""
    rule = 'k < N(3), "A-1")\n        require(k == self.x + 1'

    assert searched(compiled, rule, 3).figures.shortages == ()


def test_a_value_under_a_name(compiled: Compiled) -> None:
    """The value that is asked for may have a name, and may stand in a branch."""
    lines = ["self.y == N(0))", "wanted = self.x + 1", "if self.x > N(1):", "    require(k == wanted"]
    body = "\n        ".join(lines)

    (shortage,) = searched(compiled, body, 3).figures.shortages

    assert (shortage.action, shortage.parameter, shortage.type, shortage.last) == ("pick", "k", "N", 3)


def test_a_search_without_the_rule_is_silent(compiled: Compiled) -> None:
    """A rule that is removed asks for nothing; the rest of the search is asked as before."""
    system = compiled(CHOOSE.format(rule='k == self.x + 1, "A-1"', last=3))
    scope = system.scopes["tiny"]

    assert search(system, scope).figures.shortages
    assert not search(remove_rules(system, ["A-1"]), scope).figures.shortages


def test_the_summary_names_parameter_bound_and_place(compiled: Compiled) -> None:
    """The text does not say that the bounds cut nothing."""
    text = render_result(searched(compiled, "k == self.x + 1", 3))

    assert "cut             no step, but a rule asked for more" in text
    assert "no value left   pick asks for k above 3, the last N (" in text


@pytest.mark.parametrize("fault", ["the last value", "the bound", "the rest"])
def test_a_planted_fault_is_noticed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A search that asks at another argument, with another comparison, or without the rest of the rule is wrong."""
    match fault:
        case "the last value":
            right = Layout.last
            monkeypatch.setattr(Layout, "last", lambda layout, kind: right(layout, kind) - 1)
        case "the bound":
            monkeypatch.setitem(shortages.BEYOND, ">", ">")
        case _:
            monkeypatch.setattr(shortages, "conjunction", lambda parts: conjunction(parts[-1:]))

    wrong = [
        rule for rule in RULES if bool(searched(compiled, rule, 3).figures.shortages) != wants_more(compiled, rule, 3)
    ]

    assert wrong
