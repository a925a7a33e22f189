"""Conditions that must be true again and again, or for good at last: models with known answers."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from holdfast.check.live.engine import live
from holdfast.check.live.result import LiveResult, live_to_json, render_live
from holdfast.ir.errors import UsageError
from holdfast.records.live import live_record
from holdfast.runs.loading import open_trace
from holdfast.runs.replay import Replayer
from holdfast.runs.why import why
from holdfast.trace.itf import write_itf
from holdfast.trace.line import to_line
from holdfast.trace.text import render
from tests.live.asking import answer, run
from tests.live.conftest import Compiled
from tests.live.oracle import KINDS

AGAIN_AND_FOR_GOOD = """
@always_eventually
def again(self) -> bool:
    \"\"\"LV-01. It is true again and again.\"\"\"
    return CONDITION
@eventually_always
def for_good(self) -> bool:
    \"\"\"LV-02. It is true for good at last.\"\"\"
    return CONDITION
"""

BLINKING = """
n: N
tiny = Scope({N: 3})
@init
def zero(self) -> None:
    self.n = N(0)
@action(fair="weak")
def turn(self) -> None:
    require(self.n != N(3), "A-1")
    self.n = N(1) if self.n != N(1) else N(2)
@action FAIR
def end(self) -> None:
    require(self.n == N(2), "A-2")
    self.n = N(3)
"""
"""From 0 to 1, and from then on between 1 and 2. In 2 the run may end, in 3."""


def decided(compiled: Compiled, body: str, condition: str) -> LiveResult:
    """The answer for the condition: again and again, and for good."""
    return answer(compiled(body + AGAIN_AND_FOR_GOOD.replace("CONDITION", condition)))


def violations(result: LiveResult) -> dict[str, tuple[list[str], list[str]]]:
    """The violated properties, each with the steps of its run before the loop and in it."""
    return {trace.shown.name: run(trace) for trace in result.findings}


# Answers -----------------------------------------------------------------------------------------------------------


ONCE, TWICE, AT_LAST = ["turn()"], ["turn()"] * 2, ["turn()", "turn()", "end()"]


@pytest.mark.parametrize(
    ("fair", "condition", "wrong"),
    [
        # 1 and 2 alternate for ever, or the run ends in 3: no state comes for good, and 1 not in every run.
        ("", "self.n == N(1)", {"again": (AT_LAST, []), "for_good": (TWICE, TWICE)}),
        ("", "self.n == N(1) or self.n == N(3)", {"for_good": (TWICE, TWICE)}),
        ("", "self.n != N(0)", {}),
        # The end is possible now and then: under weak fairness a run may avoid it for ever.
        ('(fair="weak")', "self.n == N(3)", {"again": (ONCE, TWICE), "for_good": (ONCE, TWICE)}),
        # Under strong fairness it may not, and from then on it stays there.
        ('(fair="strong")', "self.n == N(3)", {}),
        ('(fair="strong")', "self.n == N(1)", {"again": (AT_LAST, []), "for_good": (AT_LAST, [])}),
        # A condition that is never true is neither, and one that is always true is both.
        ("", "self.n == N(0) and self.n == N(1)", {"again": (ONCE, TWICE), "for_good": (ONCE, TWICE)}),
        ("", "self.n <= N(3)", {}),
    ],
)
def test_answers_that_are_known(
    compiled: Compiled, fair: str, condition: str, wrong: dict[str, tuple[list[str], list[str]]]
) -> None:
    """Two states alternate, and a third one is the end, if fairness demands it."""
    result = decided(compiled, BLINKING.replace(" FAIR", fair), condition)
    assert violations(result) == wrong
    assert (result.verdict, result.exit_code) == (("violated", 13) if wrong else ("exhausted", 0))
    assert result.vacuous == ()


def test_without_fairness_a_run_may_stay_anywhere(compiled: Compiled) -> None:
    """If no action is fair, a run may stay at the start, or where it has gone, for ever."""
    lazy = BLINKING.replace('(fair="weak")', "").replace(" FAIR", "")
    found = decided(compiled, lazy, "self.n != N(0)")
    assert violations(found) == {"again": ([], []), "for_good": ([], [])}
    found = decided(compiled, lazy, "self.n == N(0)")
    assert violations(found) == {"again": (ONCE, []), "for_good": (ONCE, [])}


def test_a_run_that_relapses_need_not_stay_without_the_condition(compiled: Compiled) -> None:
    """The states without the condition are no fair loop by themselves: a fair step leaves each of them."""
    found = decided(compiled, BLINKING.replace(" FAIR", ""), "self.n != N(2)")
    assert violations(found) == {"for_good": (TWICE, TWICE)}


TURNS = """
last: Node | None
tiny = Scope({Node: 3})
@init
def nobody(self) -> None:
    self.last = None
@action FAIR
def serve(self, c: Node) -> None:
    self.last = c
@always_eventually
def served(self, c: Node) -> bool:
    \"\"\"LV-01. Each is served again and again.\"\"\"
    return self.last is not None and self.last == c
@eventually_always
def kept(self, c: Node) -> bool:
    \"\"\"LV-02. Each is the last one for good.\"\"\"
    return self.last is not None and self.last == c
@eventually_always
def begun(self) -> bool:
    \"\"\"LV-03. In the end somebody was served.\"\"\"
    return self.last is not None
"""


def test_each_value_of_a_parameter_is_a_property(compiled: Compiled) -> None:
    """With a demand for each node each node is served again and again. With one for all, two nodes may take turns."""
    each = answer(compiled(TURNS.replace(" FAIR", '(fair="weak", per=("c",))')))
    assert [(trace.shown.name, trace.shown.where) for trace in each.findings] == [("kept", (("c", "n1"),))]
    some = answer(compiled(TURNS.replace(" FAIR", '(fair="weak")')))
    assert [(trace.shown.name, trace.shown.where) for trace in some.findings] == [
        ("served", (("c", "n1"),)),
        ("kept", (("c", "n1"),)),
    ]
    assert run(some.findings[0]) == (["serve(n2)"], ["serve(n3)", "serve(n2)"])
    assert [(owed.claim.name, owed.instances, owed.owing) for owed in some.figures.owed] == [
        ("served", 3, 3),
        ("kept", 3, 3),
        ("begun", 1, 1),
    ]


CLIMBING = """
n: N
tiny = Scope({N: 2})
@init
def zero(self) -> None:
    self.n = N(0)
@action(fair="weak")
def climb(self) -> None:
    self.n = self.n + 1
"""


def test_an_answer_that_a_cut_decides_is_none(compiled: Compiled) -> None:
    """If climbing beyond 2 is impossible, the run stays in 2, which is not 1. In the protocol it goes on."""
    result = decided(compiled, CLIMBING, "self.n == N(1)")
    assert (result.verdict, result.exit_code, result.findings) == ("inconclusive", 20, ())
    assert [each.only_if_cut for each in result.figures.owed] == [2, 2]
    assert "again (LV-01), for_good (LV-02) are violated." in " ".join(render_live(result).split())


@pytest.mark.parametrize("condition", ["self.n == N(1)", "self.n == N(3)"])
def test_the_kernel_decides_as_the_interpreter(compiled: Compiled, condition: str) -> None:
    """Both graphs have the same answer, to the letter."""
    body = BLINKING.replace(" FAIR", '(fair="weak")') + AGAIN_AND_FOR_GOOD.replace("CONDITION", condition)
    system = compiled(body)
    one, two = (
        live_to_json(live(system, system.scopes["tiny"], engine=engine)) | {"timing": None}
        for engine in ("interpreter", "kernel")
    )
    assert one == two


# Text and runs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def violated(compiled: Compiled) -> LiveResult:
    """The answer for a condition that ends, and that is left again and again."""
    return decided(compiled, BLINKING.replace(" FAIR", ""), "self.n == N(1)")


def test_each_kind_has_its_own_words(violated: LiveResult, compiled: Compiled) -> None:
    """The text, the JSON and the record say what was asked, and do not speak of a leads-to."""
    text = " ".join(render_live(violated).split())
    assert "again (LV-01) is violated: from some point on it is never true again, though every fair" in text
    assert "for_good (LV-02) is violated: it is false again and again, or for ever, though every fair" in text
    assert "recurs again (LV-01), which is false in 3 states" in text
    assert "lasts for_good (LV-02), which is false in 3 states" in text
    assert "owed" not in text
    assert [(each["property"], each["kind"]) for each in live_to_json(violated)["figures"]["owed"]] == [
        ("again", "always_eventually"),
        ("for_good", "eventually_always"),
    ]
    system = compiled(BLINKING.replace(" FAIR", "") + AGAIN_AND_FOR_GOOD.replace("CONDITION", "self.n != N(0)"))
    assert [case.message for case in live_record(system, answer(system)).cases] == [
        "false in 1 state, and always true again later",
        "false in 1 state, and in every fair run true for good at last",
    ]


def test_a_lasso_is_opened_as_it_was(violated: LiveResult, tmp_path: Path) -> None:
    """Lines and files of both kinds lead to the same run, which violates the same property."""
    for trace in violated.findings:
        assert "holdfast live " in str(trace.command)
        assert open_trace(to_line(trace)).trace == attrs.evolve(trace, options=None)
        write_itf(trace, tmp_path / "run.itf.json")
        opened = open_trace(str(tmp_path / "run.itf.json"), model=trace.target)
        assert (opened.trace, opened.changed) == (trace, None)
        assert json.loads((tmp_path / "run.itf.json").read_text())["loop"] == trace.loop
        assert render(opened.trace) == render(trace)


def test_a_run_with_another_loop_is_no_violation(violated: LiveResult, compiled: Compiled) -> None:
    """The interpreter rejects a loop that is unfair, a run without a loop, and a loop with the condition throughout."""
    system = compiled(BLINKING.replace(" FAIR", "") + AGAIN_AND_FOR_GOOD.replace("CONDITION", "self.n == N(1)"))
    replayer = Replayer(system, system.scopes["tiny"], liveness=tuple(system.of_kind(*KINDS)))
    again, for_good = (replayer.script(trace) for trace in violated.findings)
    assert replayer.shows(again, "again")
    assert replayer.shows(again, "for_good")
    assert replayer.shows(for_good, "for_good")
    assert not replayer.shows(for_good, "again")
    assert not replayer.shows(attrs.evolve(for_good, loop=None), "for_good")
    assert not replayer.shows(attrs.evolve(for_good, steps=for_good.steps[:2], loop=2), "for_good")
    either = compiled(BLINKING.replace(" FAIR", "") + AGAIN_AND_FOR_GOOD.replace("CONDITION", "self.n > N(0)"))
    replayer = Replayer(either, either.scopes["tiny"], liveness=tuple(either.of_kind(*KINDS)))
    # The condition is false at the start only, and the loop does not return there.
    assert not replayer.shows(for_good, "for_good")
    assert not replayer.shows(again, "again")


def test_no_single_state_explains_the_run(violated: LiveResult, compiled: Compiled) -> None:
    """``--why`` refuses a property that the whole run violates."""
    system = compiled(BLINKING.replace(" FAIR", "") + AGAIN_AND_FOR_GOOD.replace("CONDITION", "self.n == N(1)"))
    replayer = Replayer(system, system.scopes["tiny"], liveness=tuple(system.of_kind(*KINDS)))
    for trace in violated.findings:
        with pytest.raises(UsageError, match=f"the run violates {trace.shown.name} as a whole"):
            why(replayer, trace)


def test_a_ghost_that_the_condition_does_not_read_may_grow(compiled: Compiled) -> None:
    """A lasso keeps only the ghosts that its property reads: any other ghost would keep it from leading back."""
    text = BLINKING.replace(" FAIR", "").replace("n: N\n", "n: N\nseen: Ghost[N]\n", 1)
    text = text.replace("    self.n = N(0)\n", "    self.n = N(0)\n    self.seen = N(0)\n")
    text = text.replace("else N(2)\n", "else N(2)\n    self.seen = N(1)\n")
    found = decided(compiled, text, "self.n == N(1)")
    assert [cell.name for cell in found.findings[1].cells] == ["n"]
    assert violations(found) == {"again": (AT_LAST, []), "for_good": (TWICE, TWICE)}
