"""What is no proof: what a contradiction empties, what no formula says, and what has no answer in time."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from holdfast.check.budget import Budget
from holdfast.check.prove import asking
from holdfast.check.prove.engine import prove
from holdfast.check.prove.result import SanityCheck, proof_to_json
from holdfast.check.prove.text import render_proof
from holdfast.check.prove.unroll import DepthResult, DepthVerdict
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.types import NatType, Plain
from holdfast.lower.smt.solve import SolverAnswer
from holdfast.lower.smt.unbounded_universe import UnboundedUniverse
from holdfast.records.proof import _possible, depth_record
from tests.prove.conftest import Compiled, example
from tests.prove.samples import LEMMA, LOCK, proof_of

# What empties a proof --------------------------------------------------------------------------------------------


def test_a_contradictory_assumption_is_exposed(compiled: Compiled) -> None:
    """A contradictory assumption implies everything, so the prover looks for one: exit code 10."""
    body = """
    near: Rel[Node]
    seen: bool
    @init
    def begin(self) -> None:
        self.seen = False
    @action
    def see(self, n: Node) -> None:
        require(self.near[n], "NE-01")
        self.seen = True
    @assume
    def impossible(self) -> bool:
        return all(self.near[n] and not self.near[n] for n in Node)
    @invariant
    def blind(self) -> bool:
        return not self.seen
    """
    result = prove(compiled(body), cores=0, searched=False)
    assert (result.verdict, result.exit_code) == ("vacuous", 10)
    assert {proof.verdict for proof in result.properties} == {"vacuous"}
    assert "there is no initial state: its formula contradicts itself" in [
        checked.problem for checked in result.failed_sanity
    ]


def test_an_action_that_is_never_possible_fails(compiled: Compiled) -> None:
    """An action is named whose rules contradict one another, or the assumptions: exit code 10."""
    action = '@action\ndef both(self, n: Node) -> None:\n    require(self.inside[n] and not self.inside[n], "LK-04")\n'
    lemma = (
        "@lemma\ndef free_is_empty(self) -> bool:\n    return not self.free or not any(self.inside[n] for n in Node)\n"
    )
    result = prove(compiled(LOCK + action + lemma), cores=0, searched=False)
    assert (result.verdict, result.exit_code) == ("vacuous", 10)
    (failed,) = result.failed_sanity
    assert failed.what == "both possible"
    assert "both is never possible" in render_proof(result)
    assert "proved" not in render_proof(result)


def test_an_invariant_that_says_nothing_fails(compiled: Compiled) -> None:
    """An invariant that is true in every state, reachable or not, fails."""
    idle = "@invariant\ndef idle(self) -> bool:\n    return self.free or not self.free\n"
    result = prove(compiled(LOCK + idle), cores=0, searched=False, suggest=False)
    assert [checked.what for checked in result.failed_sanity] == ["idle can be false"]


def test_what_must_be_possible_is_reported_at_its_line(compiled: Compiled) -> None:
    """The report of a failed sanity check has the line of its action, its invariant or the initial condition."""
    system = compiled(LOCK)
    claims = ["enter possible", "one_inside can be false", "start possible"]
    places = [_possible(system, SanityCheck(claim, None, "it is not")).at for claim in claims]
    one_inside = next(prop for prop in system.properties if prop.name == "one_inside")
    assert places == [system.action("enter").at, one_inside.at, system.init.at]


@pytest.mark.parametrize(
    ("verdict", "status", "message"),
    [
        ("none_within", "passed", "not violated within 3 steps, for any sizes"),
        ("unknown", "unanswered", "no answer at depth 3: it took too long"),
    ],
)
def test_a_depth_is_reported_of_each_property(
    compiled: Compiled, verdict: DepthVerdict, status: str, message: str
) -> None:
    """Every property is reported, passed or open, with its depth."""
    result = DepthResult("Written", verdict, 3, 7, reason="it took too long")
    record = depth_record(compiled(LOCK), "lock.py", result, None)
    assert [case.name for case in record.cases] == ["one_inside"]
    assert {(case.status, case.message) for case in record.cases} == {(status, message)}


def test_a_property_whose_premise_is_impossible_says_nothing(compiled: Compiled) -> None:
    """If the assumptions make a property's premise impossible, the property has no proof."""
    more = """
@lemma
def free_is_empty(self) -> bool:
    return not self.free or not any(self.inside[n] for n in Node)
@invariant
def free_inside(self) -> bool:
    return all(n != n for n in Node if self.free and self.inside[n])
@step
def never_both(self, old: Self) -> bool:
    return all(self.inside[n] for n in Node if old.free and self.free and self.inside[n])
"""
    result = prove(compiled(LOCK + more), cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("vacuous", 10)
    assert {proof.claim.name: proof.verdict for proof in result.properties} == {
        "one_inside": "proved",
        "free_is_empty": "proved",
        "free_inside": "vacuous",
        "never_both": "vacuous",
    }
    assert "the premise of never_both is true of no step" in render_proof(result)


def test_a_definition_that_contradicts_itself_is_exposed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a Nat had no greatest value, "there is a maximum" would be false for it, and would prove everything."""

    def endless(self: UnboundedUniverse, value: z3.ExprRef, kind: Plain) -> z3.BoolRef:
        return value >= 0 if isinstance(kind, NatType) else self.true

    monkeypatch.setattr(UnboundedUniverse, "within", endless)
    body = """
    rel: Rel[N]
    clock: N
    @init
    def begin(self) -> None:
        self.rel.fill(True)
        self.clock = N(0)
    @action
    def tick(self) -> None:
        self.clock = self.clock + 1
    @invariant
    def small(self) -> bool:
        return max((e for e in N if self.rel[e]), default=N(0)) <= N(2)
    """
    result = prove(compiled(body), cores=0, searched=False, tried=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("vacuous", 10)
    assert any("contradicts itself" in str(checked.problem) for checked in result.failed_sanity)


def test_what_a_proof_rests_on_is_said_in_full(compiled: Compiled) -> None:
    """The answer lists assumed literals, the order, the integers, extrema, constants, assumptions, and the trial."""
    body = """
    near: Map[Node, N]
    clock: N
    tiny = Scope({Node: 1, N: 2}, given={"near": (2,)})
    @init
    def begin(self) -> None:
        self.clock = N(0)
    @action
    def tick(self) -> None:
        require(self.clock < max((self.near[n] for n in Node), default=N(0)), "NE-01")
        self.clock = max((self.near[n] for n in Node), default=N(0))
    @assume
    def near_enough(self) -> bool:
        return all(self.near[n] >= N(2) for n in Node)
    @invariant
    def fair(self) -> bool:
        return self.clock == N(0) or self.clock >= N(2)
    """
    result = prove(compiled(body), cores=0)
    assert result.exit_code == 0
    said = {ground.what: ground.text for ground in result.rests_on}
    assert list(said) == ["scopes", "literals", "orders", "extrema", "constants", "assumed", "tried"]
    assert "N 0 to 2" in said["literals"]
    assert said["extrema"].startswith("max:")
    assert (said["constants"][-4:], said["assumed"]) == ("near", "near_enough")
    assert "nothing violated" in said["tried"]
    text = " ".join(render_proof(result).split())
    assert all(" ".join(ground.text.split()) in text for ground in result.rests_on)
    assert [each["what"] for each in proof_to_json(result)["rests_on"]] == list(said)


def test_false_as_a_lemma_is_exposed(compiled: Compiled) -> None:
    """A lemma that is never true proves nothing: it fails in the initial state, and makes every action impossible."""
    lemma = "@lemma\ndef never(self) -> bool:\n    return self.free and not self.free\n"
    result = prove(compiled(LOCK + lemma), cores=0, searched=False, suggest=False)
    assert proof_of(result, "never").verdict == "not_inductive"
    assert {"enter possible", "leave possible"} <= {checked.what for checked in result.failed_sanity}
    assert result.exit_code != 0


# No answer -------------------------------------------------------------------------------------------------------


def test_what_no_formula_says_is_unknown(compiled: Compiled) -> None:
    """A sum over a sort of any size is not first-order: there is no answer, with the reason. The rest is proved."""
    body = """
    x: Map[Node, N]
    tiny = Scope({Node: 2, N: 1})
    @init
    def zero(self) -> None:
        self.x.fill(N(0))
    @action
    def stay(self, n: Node) -> None:
        self.x[n] = N(0)
    @invariant
    def little(self) -> bool:
        return sum(self.x[n] for n in Node) <= 1
    @invariant
    def none_at_all(self) -> bool:
        return all(self.x[n] == N(0) for n in Node)
    """
    result = prove(compiled(body), cores=0, searched=False)
    little = proof_of(result, "little")
    assert little.verdict == "unknown"
    problem = "no formula says this: sum over Node, which has no size in a proof"
    assert little.gaps[0].reason.startswith(f"{problem} (")
    assert little.gaps[0].reason.endswith("written0.py:23:5)")
    assert little.gaps[0].question is None
    assert proof_of(result, "none_at_all").verdict == "proved"
    assert result.exit_code == 20


def test_a_minimum_has_the_meaning_it_has_in_a_scope() -> None:
    """Over a type of any size ``min`` is the value that no other element's value is below, in each queue separately."""
    queues = compile_model(load_model(str(Path(__file__).parents[1] / "smt" / "models" / "queues.py")))
    result = prove(queues, cores=0, searched=False, suggest=False)
    verdicts = {proof.claim.ids[0]: proof.verdict for proof in result.properties}
    assert verdicts.pop("QU-05") == "not_inductive"
    assert set(verdicts.values()) == {"proved"}


def test_no_answer_keeps_the_question(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Z3 gives up, the answer keeps the reason and the question in SMT-LIB, and never says proved."""
    monkeypatch.setattr(asking, "ask", lambda *_, **__: SolverAnswer("unknown", reason="(incomplete quantifiers)"))
    lemma = (
        "@lemma\ndef free_is_empty(self) -> bool:\n    return not self.free or not any(self.inside[n] for n in Node)\n"
    )
    result = prove(compiled(LOCK + lemma), cores=0, searched=False)
    gap = proof_of(result, "one_inside").gaps[0]
    assert (result.verdict, result.exit_code) == ("unknown", 20)
    assert gap.reason == "(incomplete quantifiers)"
    assert gap.question is not None
    assert gap.question.endswith("(check-sat-assuming ())\n")


@pytest.mark.parametrize("names", [None, ["one_inside"]])
def test_what_no_proof_says_is_named(compiled: Compiled, names: list[str] | None) -> None:
    """A proof is about safety. If the model has liveness properties, the result names them, whatever was asked for."""
    live = """
@leads_to
def served(self, n: Node) -> tuple[bool, bool]:
    \"\"\"LV-01. Whoever waits is served.\"\"\"
    return True, self.inside[n]
"""
    note = "A proof says nothing about liveness: served (LV-01)."
    for body, notes in ((LOCK + LEMMA, ()), (LOCK + LEMMA + live, (note,))):
        result = prove(
            compiled(body), properties=names, cores=0, suggest=False, searched=False, sane=False, tried=False
        )
        assert (result.verdict, result.notes) == ("proved", notes)
        assert (note in render_proof(result)) == bool(notes)


def test_a_limit_ends_without_an_answer() -> None:
    """A proof that runs out of time is no proof."""
    result = prove(example("two_phase_commit"), cores=0, budget=Budget(seconds=1e-9))
    assert (result.verdict, result.exit_code) == ("unknown", 20)
    assert result.ended_by == "time: more than 1e-09 s"


def test_what_cannot_be_proved_is_refused() -> None:
    """A witness is refused, since it is no claim about all runs."""
    with pytest.raises(UsageError, match="done: none of these names can be proved"):
        prove(example("two_phase_commit"), properties=["done"], cores=0)
