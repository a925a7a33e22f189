"""The text of results."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result, render_summary
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System

GREEN = """\
Table, scope tiny: exhausted, nothing violated

  states          9 distinct, 15 generated, 1 initial, at most 2 in a level
  depth           4 steps (5 states, as TLC counts)
  symmetry        states that differ only in names count as one (2 renamings)
  state           17 bits; widest: used 6, handle 4, owner 2
  actions         open 6, close 8
  evaluated       9 times: one_handle, holder_opened_last; 14 times: epochs_grow; 6 times:
                  closed_before; 4 times: close_idempotent
  witnesses       handed_over after 3 steps
  cut             no step, but a rule asked for more
  no value left   open asks for e above 2, the last Epoch (tests/check/models/table.py:78:9)
  dropped         ghosts that nothing here reads: unread"""


def test_why_it_is_green(table: System) -> None:
    """A check that holds says what it covered, how often each property was asked, and which witnesses were reached."""
    assert render_summary(search(table, table.scopes["tiny"])) == GREEN


def test_a_violation_has_no_counts(table: System) -> None:
    """After a violation the text is the run and one line; the counts of an unfinished search are left out."""
    broken = remove_rules(table, ["ST-14"])

    text = render_result(search(broken, broken.scopes["tiny"], target="table"))

    assert text.startswith("one_handle: violated after 2 steps\n")
    assert text.endswith("\n\nTable, scope tiny, without ST-14: violated after 2 steps: one_handle (INV-01)")
    assert "distinct" not in text


def test_what_is_amiss_without_a_violation(compiled: Callable[[str], System]) -> None:
    """A witness that was not reached, a vacuous property and a bound that cut are named."""
    system = compiled(
        """
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
    @action
    def never(self) -> None:
        require(self.n > N(2), "A-1")
        require(self.n > N(1), "A-2")
        self.n = N(0)
    @invariant
    def silent(self) -> bool:
        return all(n < N(1) for n in N if self.n > N(2))
    @witness
    def far(self) -> bool:
        return self.n > N(2)
    """
    )

    lines = render_summary(search(system, system.scopes["tiny"])).splitlines()

    assert lines[0] == "Written, scope tiny: exhausted, nothing violated, but not reached: far, vacuous: silent"
    for line in (
        "  never taken     never",
        "  never refused   A-2",
        "  vacuous         silent",
        "  not reached     far",
        "  cut             up by N 1",
    ):
        assert line in lines


def test_a_note_is_told(table: System) -> None:
    """A note of the search stands below the figures, after an empty line."""
    found = attrs.evolve(search(table, table.scopes["tiny"]), notes=("The interpreter searched, and not the kernel.",))

    assert render_summary(found) == f"{GREEN}\n\nThe interpreter searched, and not the kernel."


def test_no_answer_is_not_green(table: System) -> None:
    """A check that a limit ended never says that a property holds: it names the limit and the unexplored states."""
    text = render_summary(search(table, table.scopes["default"], budget=Budget(states=20)))

    assert text.startswith("Table, scope default: no answer (states: more than 20); no violation in the searched part")
    assert " left\n" in text
    assert "exhausted" not in text
