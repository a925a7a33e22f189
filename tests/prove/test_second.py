"""A second prover, cvc5: what it confirms, leaves open and contradicts."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from holdfast.check.prove import asking, second_prover
from holdfast.check.prove.engine import prove
from holdfast.check.prove.result import proof_to_json
from holdfast.check.prove.text import render_proof
from holdfast.cli.app import main
from holdfast.lower.smt import second_solver as prover
from holdfast.lower.smt.second_solver import ask_cvc5
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion, ask
from tests.prove.conftest import EXAMPLES, Compiled, example

UNLOCKED = """
inside: Rel[Node]
@init
def nobody(self) -> None:
    self.inside.fill(False)
@action
def enter(self, n: Node) -> None:
    self.inside[n] = True
@invariant
def one_inside(self) -> bool:
    return all(n == m for n in Node for m in Node if self.inside[n] and self.inside[m])
"""


def test_a_second_prover_agrees() -> None:
    """cvc5 answers the same questions independently, and confirms each of Z3's contradictions."""
    result = prove(example("two_phase_commit"), cores=0, second=True)
    assert result.second is not None
    assert (result.exit_code, result.second.agreed, result.second.unanswered) == (0, 24, ())
    assert "agrees on 24 of 24 questions" in render_proof(result)
    assert proof_to_json(result)["second"]["agreed"] == 24


def test_what_only_one_prover_shows_is_a_disagreement(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Z3 called everything contradictory, cvc5 would find satisfiable questions: exit code 1."""
    monkeypatch.setattr(asking, "ask", lambda *_, **__: SolverAnswer("unsat"))
    result = prove(compiled(UNLOCKED), cores=0, searched=False, sane=False, tried=False, suggest=False, second=True)
    assert result.second is not None
    assert result.second.contradicted == ("one_inside after enter",)
    assert (result.verdict, result.exit_code) == ("contradicted", 1)
    assert "contradicts Z3 on one_inside after enter" in render_proof(result)


def test_a_core_that_lacks_something_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """cvc5 gets the formulas of Z3's core alone. If the core lacks what a proof needs, cvc5 does not agree."""

    def without_core(*args: Any, **options: Any) -> SolverAnswer:
        return attrs.evolve(ask(*args, **options), core=())

    monkeypatch.setattr(asking, "ask", without_core)
    result = prove(example("two_phase_commit"), cores=0, searched=False, sane=False, tried=False, second=True)
    assert result.second is not None
    assert "all_agree after decide" in {*result.second.contradicted, *result.second.unanswered}
    assert result.exit_code != 0


def test_what_the_second_prover_cannot_answer_is_not_green(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question without an answer of cvc5 is named, and leaves the proof open."""
    monkeypatch.setattr(second_prover, "ask_cvc5", lambda *_: SolverAnswer("unknown", reason="no time"))
    result = prove(example("two_phase_commit"), properties=["final"], cores=0, second=True)
    assert result.second is not None
    assert (result.second.agreed, result.exit_code) == (0, 20)
    assert "cvc5 has not all answers" in " ".join(render_proof(result).split())


def test_what_is_no_question_has_no_answer() -> None:
    """If cvc5 cannot parse a question, the answer is the reason alone."""
    answer = ask_cvc5(SolverQuestion((), ("(assert (nonsense))",), ()), 1.0)
    assert answer.verdict == "unknown"
    assert "nonsense" in answer.reason


def test_a_package_that_is_missing_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If cvc5 is not installed, one line names the extra to install."""
    monkeypatch.setattr(prover, "is_installed", lambda: False)
    assert main(["prove", str(EXAMPLES / "two_phase_commit.py"), "--with", "cvc5"]) == 2
    assert capsys.readouterr().err.strip().endswith("pip install 'holdfast[cvc5]'")


def test_a_package_is_there_if_python_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test for a package does not import it."""
    asked: list[str] = []
    monkeypatch.setattr(prover, "find_spec", lambda name: asked.append(name) or object())
    assert prover.is_installed()
    monkeypatch.setattr(prover, "find_spec", asked.append)
    assert not prover.is_installed()
    assert asked == ["cvc5", "cvc5"]
