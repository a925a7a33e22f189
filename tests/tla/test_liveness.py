"""TLC and ``live`` on leads-to properties: both find the same violations, and TLC's runs replay on the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.live.engine import live
from holdfast.check.tlc import liveness
from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import TlcAnswer, TlcError
from holdfast.check.tlc.liveness import LiveAgreement, compare_liveness
from holdfast.check.tlc.process import Tools
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.trace.foreign import ForeignRun
from tests.tla.asking import opinion, system_of

MAILBOX = "tests/tla/models/mailbox.py"
LAMP = "tests/tla/models/lamp.py"
ALTERNATING = "tests/live/models/alternating_bit.py"
Smaller = tuple[dict[str, int], dict[str, int]]
"""Sizes and budgets that are smaller than in a scope."""
ONE_RECORD: Smaller = {"Main": 2, "Offset": 1, "LeaderEpoch": 1}, {"replace_session": 0}


def compared(asked: SecondOpinion) -> LiveAgreement:
    """Both results for a model with leads-to properties."""
    found = compare_liveness(asked)
    assert found is not None
    return found


def test_what_is_owed_comes_under_fairness(tools: Tools) -> None:
    """A letter arrives, since the action that carries it is fair for each letter."""
    found = compared(opinion(tools, system_of(MAILBOX), target=MAILBOX))
    assert (found.properties, found.ours, found.theirs, found.differences) == (("arrives",), (), (), ())


def test_a_lasso_of_tlc_is_a_run_of_the_model(tools: Tools) -> None:
    """If letters get lost, both find the property violated, and TLC's lasso violates it in the model too."""
    found = compared(opinion(tools, system_of(MAILBOX, variants=["lossy"]), target=MAILBOX))
    assert (found.ours, found.theirs, found.differences) == (("arrives",), ("arrives",), ())
    [run] = found.runs
    assert run.loop is not None
    assert run.shown.name == "arrives"
    assert "lose" in [step.action for step in run.steps]


def test_what_a_bound_cuts_is_impossible_to_tlc(tools: Tools) -> None:
    """TLC finds a property violated that ``live`` would find violated if cut steps were disabled. Another one holds."""
    found = compared(opinion(tools, system_of(LAMP), target=LAMP))
    assert (found.ours, found.only_if_cut, found.theirs) == ((), ("ages",), ("ages",))
    assert found.agrees
    assert [run.claim for run in found.runs] == [None]


STILL = """\
from holdfast.lang import *
class Node(Sort): ...
class Still(Model):
    tiny = Scope({Node: 2}, budgets={"stay": 1})
    @init
    def begin(self) -> None:
        pass
    @action
    def stay(self, n: Node) -> None:
        pass
    @action
    def wait(self) -> None:
        pass
    @leads_to
    def comes(self, n: Node) -> tuple[bool, bool]:
        return True, n != n
"""


def test_a_run_of_a_model_without_state_is_taken_again(tools: Tools, tmp_path: Path) -> None:
    """In a model without state no variable tells TLC's actions apart, so any action replays the run."""
    path = tmp_path / "still.py"
    path.write_text(STILL)
    found = compared(opinion(tools, compile_model(load_model(str(path)))))
    assert (found.ours, found.theirs, found.differences) == (("comes",), ("comes",), ())


@pytest.mark.slow
def test_a_cut_on_which_nothing_depends_holds_for_both(tools: Tools) -> None:
    """A full channel cuts fair sends of the alternating bit. Both TLC and ``live`` find that letters arrive."""
    found = compared(opinion(tools, system_of(ALTERNATING), target=ALTERNATING))
    assert (found.ours, found.only_if_cut, found.theirs, found.differences) == ((), (), (), ())
    assert live(system_of(ALTERNATING), system_of(ALTERNATING).scopes["tiny"]).exit_code == 0


def test_fairness_that_counts_ghosts_is_noticed(tools: Tools) -> None:
    """If fairness counted steps that change only ghosts, the lamp need not be lit, and the two would differ."""

    def change(files: dict[str, str]) -> dict[str, str]:
        text = files["lamp.tla"]
        assert "protocol == <<lit, age>>" in text
        return files | {"lamp.tla": text.replace("protocol == <<lit, age>>", "protocol == <<lit, age, tried>>")}

    found = compared(opinion(tools, system_of(LAMP), target=LAMP, change=change))
    assert found.differences == ("shines: live: holds; TLC: violated",)


def test_a_run_that_owes_nothing_is_an_error(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of TLC that does not name the property is an error."""
    monkeypatch.setattr(liveness, "answer_of", lambda _: TlcAnswer("liveness", name="DebtsArePaid"))
    with pytest.raises(TlcError, match="violated by a run that owes nothing"):
        compared(opinion(tools, system_of(MAILBOX), target=MAILBOX))


def test_a_model_that_owes_nothing_is_not_asked(tools: Tools) -> None:
    """TLC is not run for a model without a @leads_to."""
    assert compare_liveness(opinion(tools, system_of("tests/lower/models/streams.py"))) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "removed", "smaller", "starved"),
    [
        # Only a bound lets two of these wait for ever.
        ("reassignment", [], ({"Epoch": 4}, {}), ("leader_found", "move_ends", "close_ends", "wait_ends")),
        ("stream_log", ["RC-06"], ({"Offset": 1}, {}), ("recovery_ends", "gone_is_accepted")),
        ("snapshot_read", [], ONE_RECORD, ()),
        ("snapshot_read", ["M-19"], ONE_RECORD, ("becomes_readable",)),
    ],
)
def test_tlc_agrees_on_what_a_model_owes(
    tools: Tools, model: str, removed: list[str], smaller: Smaller, starved: tuple[str, ...]
) -> None:
    """They agree on scope tiny with smaller sizes or budgets. TLC needs up to ten minutes for scope tiny itself."""
    sizes, budgets = smaller
    found = compared(opinion(tools, system_of(model, removed), target=model, sizes=sizes, budgets=budgets))
    assert (found.theirs, found.differences) == (starved, ())


def test_a_run_of_tlc_that_is_none_of_the_model_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up run of TLC that does not replay is a difference, with the property and the reason."""
    asked = opinion(Tools("java", Path("no.jar"), frozenset()), system_of(MAILBOX), target=MAILBOX)

    def refuse(*_: object) -> None:
        raise UsageError("step 2 is not possible")

    monkeypatch.setattr(SecondOpinion, "fitted", refuse)
    unpaid = liveness.ViolatedLiveness("arrives", TlcAnswer("liveness", run=ForeignRun(Path("tlc"), "mailbox", {}, ())))
    trace, problem = liveness._taken_again(asked, unpaid)
    assert (trace, problem) == (None, "arrives: the model cannot take TLC's run: step 2 is not possible")
