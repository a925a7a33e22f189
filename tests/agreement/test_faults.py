"""A test of the agreement tests: each planted fault in one engine must be noticed by another engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from holdfast.check.live.fair import FairComponents
from holdfast.check.search.plain_search import PlainSearch
from holdfast.check.tlc import answer
from holdfast.check.verify.opinions import Opinion, compared, drawn, proved, second_opinion, unrolled, walked
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.stmt import Assign
from holdfast.ir.system import System
from holdfast.lower.graph.labelled_steps import LabelledSteps
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.terms import Term
from holdfast.lower.smt.bodies import BodyFormulas, Execution
from holdfast.lower.tla import expression_text as tla_expressions
from holdfast.lower.tla.conjuncts import Conjuncts
from holdfast.lower.tla.text import word
from holdfast.runs.judge import StepJudge
from tests.kernel.plain import use_python
from tests.kernel.test_faults import FAULTS as KERNEL_FAULTS

TESTS = Path(__file__).parents[1]

Plant = Callable[[pytest.MonkeyPatch], None]
Question = Callable[["AgreementModels"], Opinion]


@attrs.frozen
class AgreementModels:
    """Two models, each complete and with one needed rule removed."""

    table: System
    open_twice: System
    lease: System
    kept: System


@pytest.fixture(scope="module")
def asked() -> AgreementModels:
    """A stream table that, without ST-14, allows two opens; and leases that, without LS-08, nobody ends."""
    table = compile_model(load_model(str(TESTS / "check" / "models" / "table.py")))
    lease = compile_model(load_model(str(TESTS / "live" / "models" / "lease.py")))
    return AgreementModels(table, remove_rules(table, ["ST-14"]), lease, remove_rules(lease, ["LS-08"]))


def by_kernel(asked: AgreementModels) -> Opinion:
    """Compare interpreter and kernel on the model and on its mutant."""
    whole = compared(asked.table, asked.table.scopes["tiny"])
    return whole if whole.problems else compared(asked.open_twice, asked.open_twice.scopes["tiny"])


def by_walk(asked: AgreementModels) -> Opinion:
    """Compare random runs of the model and of its mutant."""
    whole = walked(asked.table, asked.table.scopes["tiny"], None)
    return whole if whole.problems else walked(asked.open_twice, asked.open_twice.scopes["tiny"], 2)


def by_graph(asked: AgreementModels) -> Opinion:
    """Compare the liveness answers on the model's graph and on the mutant's graph."""
    return drawn(asked.kept, asked.kept.scopes["tiny"])


def by_proof(asked: AgreementModels) -> Opinion:
    """The prover must not prove the mutant."""
    return proved(asked.open_twice, "table", None, violated=True, cores=0)


def by_unrolling(asked: AgreementModels) -> Opinion:
    """Compare Z3's bounded search with the exhaustive search."""
    return unrolled(asked.open_twice, asked.open_twice.scopes["tiny"], 2, cores=0)


def by_tlc(asked: AgreementModels) -> Opinion:
    """Compare with TLC on safety."""
    return second_opinion(asked.table, asked.table.scopes["tiny"], "table", 300, owed=True)


def by_tlc_live(asked: AgreementModels) -> Opinion:
    """Compare with TLC on liveness: one violated property and one that holds."""
    starved = second_opinion(asked.kept, asked.kept.scopes["tiny"], "lease", 300, owed=True)
    return (
        starved
        if starved.problems
        else second_opinion(asked.lease, asked.lease.scopes["tiny"], "lease", 300, owed=True)
    )


QUESTIONS = (by_kernel, by_walk, by_graph, by_proof, by_unrolling, by_tlc, by_tlc_live)

FAULTS: list[tuple[Plant, Question]] = []
"""Each fault with the comparison that must notice it."""


def noticed(question: Question) -> Callable[[Plant], Plant]:
    """Register a fault with the comparison that must notice it."""

    def note(plant: Plant) -> Plant:
        FAULTS.append((plant, question))
        return plant

    return note


# The interpreter, and what it shares with the kernel ----------------------------------------------------------------


class TurnedComparison(Emitter):
    """An emitter that computes ``>=`` where the model says ``>``."""

    def compare(self, op: str, left: Term, right: Term) -> Term:
        return super().compare(">=" if op == ">" else op, left, right)


@noticed(by_kernel)
def interpreter_turns_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter computes ``>=`` where the model says ``>``."""
    defaults = Interpreter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "emitter", TurnedComparison)


@noticed(by_tlc)
def both_turn_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreter and kernel both compute ``>=`` where the model says ``>``: they agree, and TLC disagrees."""
    right = Emitter.compare
    monkeypatch.setattr(
        Emitter, "compare", lambda self, op, left, one: right(self, ">=" if op == ">" else op, left, one)
    )


# The search and the kernel ------------------------------------------------------------------------------------------


@noticed(by_kernel)
def search_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search on the interpreter ends before the last level."""
    right = PlainSearch._must_stop
    monkeypatch.setattr(PlainSearch, "_must_stop", lambda self: right(self) or self.counters.depth >= 3)


@noticed(by_kernel)
def kernel_judges_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel leaves the last step property out."""
    KERNEL_FAULTS["The last step property is left out where steps are judged."](monkeypatch)


@noticed(by_kernel)
def kernel_does_not_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the kernel a write does not clear the cell's old bits."""
    KERNEL_FAULTS["A write does not clear what the cell held."](monkeypatch)


# Walks --------------------------------------------------------------------------------------------------------------


@noticed(by_walk)
def walks_are_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random runs do not judge their steps."""
    monkeypatch.setattr(StepJudge, "step", lambda self, old, edge: None)
    monkeypatch.setattr(StepJudge, "state", lambda self, state: None)


# Liveness -----------------------------------------------------------------------------------------------------------


@noticed(by_tlc_live)
def no_run_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """``live`` drops every fair component, so it finds no starvation."""
    right = FairComponents.of

    def of(self: FairComponents, whole: object) -> object:
        found = right(self, whole)
        return attrs.evolve(found, states=found.states[:0], components=found.components[:0])

    monkeypatch.setattr(FairComponents, "of", of)


@noticed(by_graph)
def interpreter_draws_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph that the interpreter builds lacks one step of each state."""
    right = LabelledSteps.of

    def of(self: LabelledSteps, state: bytes) -> object:
        steps, cuts = right(self, state)
        return steps[:-1], cuts

    monkeypatch.setattr(LabelledSteps, "of", of)


# Proofs -------------------------------------------------------------------------------------------------------------


def _lost_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    def assign(self: BodyFormulas, stmt: Assign, run: Execution) -> None:
        """Write nothing."""

    monkeypatch.setattr(BodyFormulas, "assign", assign)


@noticed(by_unrolling)
def formulas_without_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Z3's formulas no action changes a variable."""
    _lost_writes(monkeypatch)


# TLC ----------------------------------------------------------------------------------------------------------------


@noticed(by_tlc)
def module_turns_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The TLA+ generator writes ``>=`` where the model says ``>``."""
    monkeypatch.setitem(tla_expressions._COMPARED, ">", ">=")


@noticed(by_tlc)
def module_without_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """The TLA+ module omits the UNCHANGED clauses."""
    monkeypatch.setattr(Conjuncts, "unchanged", lambda *_: word("TRUE"))


@noticed(by_tlc)
def depth_is_misread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of TLC's output takes the number of states in a run for the number of steps."""
    right = answer._exhausted
    monkeypatch.setattr(
        answer, "_exhausted", lambda messages: attrs.evolve(found := right(messages), depth=(found.depth or 0) + 1)
    )


# Tests --------------------------------------------------------------------------------------------------------------


def problems(question: Question, asked: AgreementModels) -> Iterator[str]:
    """The differences that a comparison finds; a crash of an engine counts as a difference."""
    try:
        yield from question(asked).problems
    except Exception as error:  # noqa: BLE001 - as holdfast verify has it
        yield f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("plant", "question"), FAULTS, ids=[plant.__name__ for plant, _ in FAULTS])
def test_a_fault_in_one_engine_is_noticed_by_another(
    plant: Plant, question: Question, asked: AgreementModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each planted fault the comparison reports a difference."""
    use_python(monkeypatch)
    plant(monkeypatch)
    assert list(problems(question, asked))


@pytest.mark.parametrize("question", QUESTIONS, ids=[question.__name__ for question in QUESTIONS])
def test_without_a_fault_all_agree(question: Question, asked: AgreementModels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a planted fault the comparisons report no difference."""
    use_python(monkeypatch)
    assert list(problems(question, asked)) == []


def test_there_are_ten() -> None:
    """There are at least ten faults, in six engines."""
    assert len(FAULTS) >= 10
