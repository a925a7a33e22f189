"""How `holdfast verify` weighs a proof against the search's answer on the same model."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from holdfast.check.prove import engine as prover
from holdfast.check.prove.result import ProofResult
from holdfast.check.prove.second_prover import SecondProverResult
from holdfast.check.verify import opinions
from holdfast.check.verify.jobs import SHORT, JobResult, VerifyJob, jobs, make
from holdfast.check.verify.manifest import Configuration, ManifestEntry, read_manifest
from holdfast.check.verify.opinions import Opinion, _differences, drawn, joined, proved
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.kernel import graphs
from holdfast.records.verification import _case
from tests.kernel.plain import plain_build

MODELS = Path(__file__).parents[2] / "models"
TWO = Path(__file__).parents[2] / "docs" / "examples" / "two_phase_commit.py"


LAMP = """from holdfast.lang import *


class Lamp(Model):
    on: bool
    tiny = Scope({{}})

    @init
    def dark(self) -> None:
        self.on = False

    @action
    def toggle(self) -> None:
        self.on = not self.on

    @{claim}
    def lit(self) -> bool:
        return self.on
"""


@pytest.fixture(scope="module")
def two() -> System:
    """A model that the prover proves."""
    return compile_model(load_model(str(TWO)))


@pytest.fixture(scope="module")
def result(two: System) -> ProofResult:
    """The result of its proof."""
    return prover.prove(two, cores=0, searched=False, tried=False, suggest=False)


def opinion(
    two: System, result: ProofResult, monkeypatch: pytest.MonkeyPatch, *, violated: bool = False, **changes: object
) -> Opinion:
    """The opinion that results from this answer of the prover."""
    monkeypatch.setattr(prover, "prove", lambda *_, **__: attrs.evolve(result, **changes))
    return proved(two, target="two", lemmas_from=None, violated=violated, cores=0)


def test_a_proof_of_what_a_search_violates_is_a_disagreement(
    two: System, result: ProofResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the search finds a violation of a proved property, one of the two engines is wrong."""
    found = opinion(two, result, monkeypatch, violated=True)
    assert found.problems == ("two: a search finds a violation, and the proof goes through",)


def test_a_violation_that_no_search_finds_is_a_disagreement(
    two: System, result: ProofResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If only the prover finds a violation, that is a disagreement; with both, or with an open proof, they agree."""
    found = opinion(two, result, monkeypatch, verdict="violated")
    assert found.problems == ("two: a search finds nothing, and a proof shows a violation",)
    assert opinion(two, result, monkeypatch, violated=True, verdict="violated") == attrs.evolve(found, problems=())
    open_still = opinion(two, result, monkeypatch, verdict="unknown")
    assert (open_still.problems, open_still.open) == ((), ("two: not all is proved; `holdfast prove`",))


@pytest.mark.parametrize("violated", [True, False])
def test_a_proof_that_another_engine_contradicts_is_a_disagreement(
    two: System, result: ProofResult, monkeypatch: pytest.MonkeyPatch, violated: bool
) -> None:
    """If another engine contradicts a proof, that is a disagreement, whatever the search answers."""
    found = opinion(two, result, monkeypatch, violated=violated, verdict="contradicted")
    assert found.problems == ("two: another engine contradicts the proof; `holdfast prove two`",)


def test_an_unstable_proof_leaves_something_open(
    two: System, result: ProofResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof that holds under some Z3 seeds only is open; a question that the second prover cannot answer is not."""
    second = SecondProverResult("cvc5", 3, ("final after hear",), ())
    assert opinion(two, result, monkeypatch, second=second) == Opinion("5 proved; cvc5 agrees on 3 of 4 questions")
    found = opinion(two, result, monkeypatch, unstable=("final",), second=None)
    assert (found.found, found.open) == ("5 proved", ("two: not all is proved; `holdfast prove`",))


def test_what_a_second_prover_says() -> None:
    """Counted are a second prover's agreements, contradictions and missing answers; zero counts are left out."""
    said = SecondProverResult("cvc5", 1_200, (), ())
    assert (said.asked, said.text) == (1_200, "agrees on 1,200 of 1,200 questions")
    told = attrs.evolve(said, unanswered=("a", "b"), contradicted=("c", "d"))
    assert told.text == "agrees on 1,200 of 1,204 questions; contradicts Z3 on c, d; no answer to a, b"
    assert attrs.evolve(said, unanswered=("a",)).text == "agrees on 1,200 of 1,201 questions; no answer to a"
    assert attrs.evolve(said, contradicted=("c",)).text == "agrees on 1,200 of 1,201 questions; contradicts Z3 on c"


def test_how_long_a_job_took_says_nothing_of_what_came_out() -> None:
    """Two runs of a verification are equal if their answers are equal; their durations do not count."""
    job = VerifyJob("two", "prove", (), 0)
    assert JobResult(job, Opinion("5 proved"), 1.0) == JobResult(job, Opinion("5 proved"), 2.0)
    assert JobResult(job, Opinion("5 proved"), 1.0) != JobResult(job, Opinion("4 proved"), 1.0)


def test_what_live_says_in_a_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary of a liveness check names the violated properties, or the verdict if none is violated."""
    monkeypatch.setattr(graphs, "build", plain_build)
    lease = compile_model(load_model(str(TWO.parents[2] / "tests" / "live" / "models" / "lease.py")))
    assert drawn(lease, lease.scopes["tiny"]) == Opinion("tiny: exhausted")
    kept = remove_rules(lease, ["LS-08"])
    assert drawn(kept, kept.scopes["tiny"]) == Opinion("tiny: violated: served, freed")


@pytest.mark.parametrize("engine", ["unroll", "walk"])
def test_pinned_mutants_are_asked_about(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded search and random runs must find each mutant's pinned violation; the answer counts the mutants."""
    entries = tuple(
        entry
        for entry in read_manifest(MODELS)
        if entry.configuration.model == "ownership"
        and entry.configuration.engine == "check"
        and entry.expected is not None
        and entry.expected.steps is not None
        and entry.expected.steps <= SHORT
        and entry.configuration.without
    )[:2]
    assert len(entries) == 2
    asked: list[str] = []

    def answer(system: System, *_: object, **__: object) -> Opinion:
        asked.append(",".join(system.removed))
        return Opinion("asked")

    monkeypatch.setattr(opinions, "unrolled", answer)
    monkeypatch.setattr(opinions, "walked", answer)
    found, _ = make(MODELS, VerifyJob("ownership", engine, entries, 1), slow=False)
    assert "2 mutants found" in found.found
    assert [each for each in asked if each] == [",".join(entry.configuration.without) for entry in entries]


def test_a_failed_job_is_reported_with_what_it_left_open() -> None:
    """The report shows contradictions first, then open questions; a question that ran out of time is no success."""
    job = VerifyJob("two", "prove", (), 0)
    done = JobResult(job, Opinion("5 proved", ("two: they differ", "two: and again"), ("two: open",)), 1.0)
    failed, silent, passed, unasked = (
        _case(MODELS / "manifest.json", job, each)
        for each in (
            done,
            attrs.evolve(done, opinion=Opinion("5 proved", (), ("two: open", "more"))),
            attrs.evolve(done, opinion=Opinion("")),
            None,
        )
    )
    assert (failed.status, failed.message) == ("failed", "two: they differ")
    assert failed.text == "two: they differ\ntwo: and again\nno answer: two: open"
    assert (silent.status, silent.message) == ("unanswered", "no answer: two: open; more")
    assert (passed.status, passed.message) == ("passed", "as expected")
    assert (unasked.status, unasked.message) == ("unanswered", "not asked: interrupted, or out of time")


def test_differences_tell_both_values_cut_short() -> None:
    """Each key with different answers is shown with both values, cut to two hundred characters."""
    mine, theirs = {"states": 5, "depth": 2, "run": "x" * 201}, {"states": 5, "depth": 3, "run": "x" * 200}
    assert _differences("tiny", ("the search", mine), ("the kernel", theirs)) == (
        "tiny: depth: the search 2, the kernel 3",
        f"tiny: run: the search {'x' * 200}..., the kernel {'x' * 200}",
    )


def test_several_opinions_are_joined() -> None:
    """The texts of several opinions stand one behind the other: no empty one, and none twice."""
    several = [Opinion("5 proved"), Opinion("", ("they differ",)), Opinion("tiny: exhausted"), Opinion("5 proved")]
    assert joined(several) == Opinion("5 proved; tiny: exhausted", ("they differ",))


@pytest.mark.parametrize("claim", ["invariant", "witness"])
def test_only_what_can_be_violated_is_unrolled(tmp_path: Path, claim: str) -> None:
    """A slow verification unrolls the runs of a model with an invariant; a witness cannot be violated."""
    (tmp_path / "lamp.py").write_text(LAMP.format(claim=claim))
    entry = ManifestEntry(Configuration("lamp", "tiny"), None)

    kinds = {job.engine for job in jobs(tmp_path, [entry], slow=True)}
    assert {"check", "kernel", "tlc"} <= kinds
    assert ("unroll" in kinds) == (claim == "invariant")
    assert "unroll" not in {job.engine for job in jobs(tmp_path, [entry], slow=False)}


def test_the_proof_of_many_obligations_is_begun_before_small_comparisons() -> None:
    """A proof weighs more with more obligations: that of cancellation is among the first jobs, and none is light."""
    found = jobs(MODELS, read_manifest(MODELS), slow=False)
    weights = {job.model: job.weight for job in found if job.engine == "prove"}
    assert max(weights, key=lambda model: weights[model]) == "cancellation"
    assert min(weights.values()) > max(job.weight for job in found if job.engine == "walk")
