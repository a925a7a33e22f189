"""The report of a comparison: verdicts and figures side by side, a limit that ended it, and the same bytes twice."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.budget import Budget
from holdfast.check.diff.engine import Diff, diff, diff_to_json
from holdfast.check.diff.text import render_diff
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.check.comparing import LEASE, versions
from tests.check.conftest import Compiled


def test_verdicts_stand_side_by_side(table: System) -> None:
    """Both models are searched completely: verdicts, counts, and the differing properties and witnesses are shown."""
    found = diff(*versions(table, remove_rules(table, ["ST-14"])))
    assert found.searched_a is not None
    assert found.searched_b is not None
    text = render_diff(found)

    assert found.searched_b.figures.distinct > found.searched_a.figures.distinct
    figures = (found.searched_a.figures, found.searched_b.figures)
    rows = [line.split() for line in text.splitlines()]
    assert ["states", *(f"{each.distinct:,}" for each in figures)] in rows
    violated = [trace.shown.name for trace in found.searched_b.findings]
    assert violated
    for name in violated:
        assert any(row[:3] == [name, "holds", "violated"] for row in rows)


def test_a_property_that_one_model_has_gets_a_line_unless_it_holds(compiled: Compiled) -> None:
    """A property of only one model stands in the table if it does not simply hold there."""
    for condition, expected in (("< N(2)", [["early", "-", "violated"]]), ("<= N(2)", [])):
        more = f"{LEASE}    @invariant\n    def early(self) -> bool:\n        return self.epoch {condition}\n"
        text = render_diff(diff(*versions(compiled(LEASE), compiled(more))))
        assert [row[:3] for row in map(str.split, text.splitlines()) if row[:1] == ["early"]] == expected


def test_a_budget_ends_it_honestly(table: System) -> None:
    """A comparison that a limit ends says so, with its progress and code 20, and does not call the models equal."""
    found = diff(*versions(table, table), budget=Budget(states=5))
    assert (found.exit_code, found.ended_by) == (20, "states: more than 5")
    assert found.compared.waiting > 0
    assert "No answer (states: more than 5): nothing differs in the first" in render_diff(found)
    assert "Both do the same" not in render_diff(found)


def test_equal_comparisons_are_equal_bytes(table: System) -> None:
    """The same comparison, run twice, gives the same text and record except for the times."""
    less = remove_rules(table, ["ST-12"])

    def record(found: Diff) -> object:
        whole = diff_to_json(found)
        for side in ("a", "b"):
            del whole[side]["search"]["timing"]
        return whole

    one, two = (diff(*versions(table, less)) for _ in range(2))
    assert render_diff(one) == render_diff(two)
    assert record(one) == record(two)
    assert attrs.evolve(one, searched_a=None, searched_b=None) == attrs.evolve(two, searched_a=None, searched_b=None)


@pytest.mark.parametrize("left_out", ["searched_a", "searched_b"])
def test_what_was_not_searched_has_no_figures(left_out: str, compiled: Compiled) -> None:
    """If one version was not searched, the other's figures stand beside dashes."""
    found = diff(*versions(compiled(LEASE), compiled(LEASE)))
    whole, lacking = (render_diff(each) for each in (found, attrs.evolve(found, **{left_out: None})))
    for name in ("states", "steps", "depth"):
        (line,) = (line.split() for line in whole.splitlines() if line.split()[:1] == [name])
        (beside,) = (line.split() for line in lacking.splitlines() if line.split()[:1] == [name])
        assert beside == ([name, "-", line[2]] if left_out == "searched_a" else [name, line[1], "-"])
