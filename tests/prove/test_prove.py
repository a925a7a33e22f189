"""Proofs for any sizes: proved properties, counterexamples to induction, and the search beside the proof."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove import asking
from holdfast.check.prove.engine import prove
from holdfast.check.prove.result import proof_to_json
from holdfast.check.prove.text import render_proof
from holdfast.check.prove.unroll import unroll
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import System
from holdfast.lower.smt.fragment import fragment
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.solve import SolverAnswer, ask
from tests.prove.conftest import Compiled, example
from tests.prove.samples import LOCK, TRAP, proof_of


def without(system: System, name: str) -> System:
    """The system with one of its properties left out."""
    return attrs.evolve(system, properties=tuple(prop for prop in system.properties if prop.name != name))


@pytest.mark.parametrize("name", ["two_phase_commit", "lock_with_leases"])
def test_examples_are_proved(name: str) -> None:
    """Everything holds for any number of participants, clients and tokens, with every seed, and no lemma is idle."""
    result = prove(example(name), cores=0, seeds=3)
    assert (result.verdict, result.exit_code, result.unneeded, result.unstable) == ("proved", 0, (), ())
    assert {proof.verdict for proof in result.properties} == {"proved"}
    assert all(checked.problem is None for checked in result.sanity)


@pytest.mark.parametrize("lemma", ["one_decision", "commit_was_promised", "promises_are_kept"])
def test_a_lemma_that_is_missing_is_missed(lemma: str) -> None:
    """Without any one lemma the properties that need it are unproved, and no run violates them: exit code 20."""
    result = prove(without(example("two_phase_commit"), lemma), cores=0, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    assert [each.scope for each in result.searched] == ["tiny"]


def test_a_counterexample_is_small_and_real(compiled: Compiled) -> None:
    """The step starts in a state where the invariant holds, in the least sizes, and the interpreter can take it."""
    result = prove(compiled(LOCK), cores=0, suggest=False)
    found = proof_of(result, "one_inside").counterexample
    assert found is not None
    assert dict(found.sizes) == {"Node": 2}
    assert [step.action for step in found.trace.steps] == ["any", "enter"]
    assert found.trace.steps[0].values == (False, True, True)
    assert found.trace.steps[1].values == (True, True, False)
    assert found.trace.command is None


def test_without_a_scope_no_clause_is_looked_for(compiled: Compiled) -> None:
    """A clause must hold in the states of a scope. A model without one gets a note in place of suggestions."""
    found = prove(compiled(TRAP), cores=0)
    assert (found.verdict, found.properties[0].suggestions) == ("not_inductive", ())
    [note] = found.notes
    assert note.startswith("No clause was looked for: the model has no scope")


def test_a_suggested_lemma_restores_the_proof(compiled: Compiled) -> None:
    """A suggestion is text of the model language; with it in the model the proof goes through."""
    found = proof_of(prove(compiled(LOCK), cores=0), "one_inside")
    (suggestion,) = found.suggestions
    assert suggestion.restores
    lemma = f"@lemma\ndef suggested(self) -> bool:\n    return {suggestion.text}\n"
    mended = prove(compiled(LOCK + lemma), cores=0)
    assert mended.verdict == "proved"
    assert proof_of(mended, "one_inside").needs == ("suggested",)


def test_a_false_lemma_is_a_defect(compiled: Compiled) -> None:
    """If a run violates a lemma, the exit code is 12, and the text calls it a lemma."""
    lemma = "@lemma\ndef never_taken(self) -> bool:\n    return self.free\n"
    result = prove(compiled(LOCK + lemma), cores=0)
    assert (result.verdict, result.exit_code) == ("violated", 12)
    (finding,) = result.searched[0].findings
    assert (finding.shown.name, finding.shown.kind, finding.length) == ("never_taken", "lemma", 1)
    assert "The lemma never_taken is violated" in render_proof(result)


def test_a_defect_of_the_larger_scope_is_found(compiled: Compiled) -> None:
    """A violation that only the default scope has is found when the property is not proved."""
    body = """
    x: N
    tiny = Scope({N: 1, Node: 1})
    default = Scope({N: 3, Node: 1})
    @init
    def zero(self) -> None:
        self.x = N(0)
    @action
    def grow(self, n: Node, to: N) -> None:
        require(to > self.x, "CT-01")
        self.x = to
    @invariant
    def small(self) -> bool:
        return self.x < N(3)
    """
    result = prove(compiled(body), cores=0)
    assert result.verdict == "violated"
    assert [each.scope for each in result.searched] == ["default"]


def test_what_rests_on_something_unproved_is_not_proved(compiled: Compiled) -> None:
    """If a lemma is not inductive, properties that are proved from it are not proved either."""
    lemmas = """
    @lemma
    def free_is_empty(self) -> bool:
        return not self.free or not any(self.inside[n] for n in Node)
    spoilt: bool
    @init
    def unspoilt(self) -> None:
        self.spoilt = False
    @action
    def spoil(self) -> None:
        require(self.spoilt, "LK-03")
        self.free = True
    """
    indented = "\n".join(line[4:] for line in lemmas.splitlines())
    result = prove(compiled(LOCK + indented), cores=0, suggest=False, searched=False)
    assert proof_of(result, "free_is_empty").verdict == "not_inductive"
    assert proof_of(result, "free_is_empty").counterexample is not None
    spoilt = proof_of(result, "one_inside")
    assert (spoilt.verdict, spoilt.counterexample, spoilt.resting_on) == ("not_inductive", None, ("free_is_empty",))


def test_only_what_is_needed_is_asked() -> None:
    """A property is proved with the lemmas that it needs, and their lemmas. Others are not asked for."""
    result = prove(example("lock_with_leases"), properties=["LL-10"], cores=0)
    assert [proof.claim.name for proof in result.properties] == ["one_writer", "tokens_come_from_the_service"]
    assert result.exit_code == 0


def test_the_number_of_processes_changes_nothing() -> None:
    """The answer is the same in this process, in two others, and when asked again."""
    first = proof_to_json(prove(example("two_phase_commit"), cores=0))
    second = proof_to_json(prove(without(example("two_phase_commit"), "x"), cores=2))
    assert {**first, "timing": None} == {**second, "timing": None}


# Longer and bounded ----------------------------------------------------------------------------------------------


def test_k_induction_needs_no_lemma(compiled: Compiled) -> None:
    """Two earlier states may prove a property that one earlier state does not."""
    system = compiled(TRAP)
    assert prove(system, cores=0, searched=False, suggest=False).verdict == "not_inductive"
    result = prove(system, cores=0, searched=False, length=2)
    assert (result.verdict, proof_of(result, "never_bad").length) == ("proved", 2)
    assert "never_bad: proved by 2-induction" in render_proof(result)


def test_k_induction_needs_its_base(compiled: Compiled) -> None:
    """A longer induction does not prove a property that a short run violates."""
    system = compiled(
        TRAP.replace("self.mode = Mode.OK\n@action\ndef stay", "self.mode = Mode.TRAP\n@action\ndef stay")
    )
    assert prove(system, cores=0, searched=False, suggest=False, length=3).verdict == "not_inductive"


GHOSTLY = """
free: bool
entered: Ghost[bool]
left: Ghost[bool]
@init
def nobody(self) -> None:
    self.free = True
    self.entered = False
    self.left = False
@action
def enter(self, n: Node) -> None:
    require(self.free, "GH-01")
    self.free = False
    self.entered = True
@action
def leave(self, n: Node) -> None:
    require(not self.free, "GH-02")
    self.free = True
    self.left = True
@lemma
def taken_was_entered(self) -> bool:
    return self.free or self.entered
@invariant
def none_leaves_unentered(self) -> bool:
    return not self.left or self.entered
@invariant
def any_way(self) -> bool:
    return self.free or not self.free
"""


def test_a_proof_names_the_ghosts_that_it_needs(compiled: Compiled) -> None:
    """A proof names the ghosts that the property and its needed lemmas read, and no others."""
    result = prove(compiled(GHOSTLY), cores=0, searched=False)
    ghosts = {proof.claim.name: (proof.needs, proof.ghosts) for proof in result.properties}
    assert ghosts == {
        "none_leaves_unentered": (("taken_was_entered",), ("entered", "left")),
        "any_way": ((), ()),
        "taken_was_entered": ((), ("entered",)),
    }


def test_a_proof_that_some_seed_does_not_repeat_is_unstable(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A property is named once if some seeds do not repeat its proof, and then nothing counts as proved."""

    def seldom(question: object, seconds: float, seed: int = 0, **options: object) -> SolverAnswer:
        return SolverAnswer("unknown", reason="timeout") if seed else ask(question, seconds, seed, **options)

    monkeypatch.setattr(asking, "ask", seldom)
    result = prove(compiled(GHOSTLY), cores=0, searched=False, sane=False, seeds=3)
    assert sorted(result.unstable) == ["any_way", "none_leaves_unentered", "taken_was_entered"]
    assert result.exit_code == 20


@pytest.mark.parametrize(("mode", "steps"), [("BAD", 0), ("TRAP", 1), ("OK", None)])
def test_a_bounded_search_shows_a_run_of_that_length(compiled: Compiled, mode: str, steps: int | None) -> None:
    """The run has no steps if the initial state violates, and one if a trap does. The figures have the depth."""
    found = unroll(
        compiled(TRAP.replace("self.mode = Mode.OK\n@action\ndef stay", f"self.mode = Mode.{mode}\n@action\ndef stay")),
        3,
        cores=0,
    )
    assert found.verdict == ("none_within" if steps is None else "violated")
    assert (None if found.trace is None else found.trace.length) == steps
    assert found.depth == (3 if steps is None else steps)


def test_a_bounded_search_finds_the_shortest_run(compiled: Compiled) -> None:
    """A run of two steps is found at depth two and no smaller depth, and the interpreter replays it."""
    system = compiled(LOCK.replace('    require(self.free, "LK-01")\n', ""))
    assert unroll(system, 1, cores=0).verdict == "none_within"
    found = unroll(system, 3, cores=0)
    assert (found.verdict, found.exit_code, found.depth) == ("violated", 12, 2)
    assert found.trace is not None
    assert [step.action for step in found.trace.steps] == ["init", "enter", "enter"]


# The fragment ----------------------------------------------------------------------------------------------------


def fragment_of(system: System) -> tuple[list[str], tuple[str, ...]]:
    """The circles of quantifiers in a system's questions, and its integers."""
    assumed = list(system.of_kind("invariant", "lemma"))
    found = fragment(Logic(system, ghosts_read(system, assumed), assumed))
    return [f"{edge.source} -> {edge.target}: {edge.why}" for edge in found.circular], found.arithmetic


def test_a_decidable_model_has_no_circle() -> None:
    """If no chain of functions and quantifiers leads from a sort to itself, nothing is reported."""
    assert fragment_of(example("two_phase_commit")) == ([], ())


def test_circles_are_named(compiled: Compiled) -> None:
    """A function from a sort to itself, and a "for all some", make circles. Computed numbers are integers."""
    body = """
    next_one: Map[Node, Node | None]
    seen: Rel[Node, Node]
    x: N
    @init
    def begin(self) -> None:
        self.next_one.fill(None)
        self.seen.fill(True)
        self.x = N(0)
    @action
    def link(self, n: Node, m: Node) -> None:
        self.next_one[n] = m
        self.x = self.x + 1
    @invariant
    def everybody_is_seen(self) -> bool:
        return all(any(self.seen[n, m] for m in Node) for n in Node)
    """
    circles, integers = fragment_of(compiled(body))
    assert circles == ["Node -> Node: everybody_is_seen", "Node -> Node: next_one"]
    assert integers == ("N",)


COUNTED = """
up: Rel[Node]
fit: Rel[Node]
on: bool
tiny = Scope({Node: 2}, given={"fit": (True, True)})
@assume
def many(self) -> bool:
    return count(self.fit[n] for n in Node) > 0
@init
def begin(self) -> None:
    self.up.fill(False)
    self.on = False
@action
def go(self, n: Node) -> None:
    self.on = self.up[n]
@invariant
def fine(self) -> bool:
    return not self.on or any(self.up[n] for n in Node)
"""

SAME_COUNT = "count(self.up[k] for k in Node) == count(self.fit[k] for k in Node)"


@pytest.mark.parametrize(
    ("plain", "counted"),
    [
        ("self.on = False", f"self.on = {SAME_COUNT}"),
        ("self.on = self.up[n]", f"self.on = {SAME_COUNT}"),
        ("count(self.fit[n] for n in Node) > 0", SAME_COUNT.replace("up", "fit")),
    ],
    ids=["the start", "an action", "an assumption"],
)
def test_what_no_formula_says_is_no_answer(compiled: Compiled, plain: str, counted: str) -> None:
    """A comparison of two counts leaves a proof open, wherever it stands, and --fragment names its line."""
    system = compiled(COUNTED.replace(plain, counted))
    result = prove(system, cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("unknown", 20)
    [reason] = {gap.reason for proof in result.properties for gap in proof.gaps}
    assert reason.startswith("no formula says this: count over Node is compared with something else")


def test_a_parameter_that_is_a_whole_map_is_a_function(compiled: Compiled) -> None:
    """A map from nodes to nodes that an action takes closes a circle of sorts, as a field would."""
    body = """
    owner: Map[Node, bool]
    @init
    def begin(self) -> None:
        self.owner.fill(True)
    @action
    def hand_over(self, after: Map[Node, Node], n: Node) -> None:
        require(self.owner[after[n]])
        self.owner[n] = True
    @invariant
    def owned(self) -> bool:
        return all(self.owner[n] for n in Node)
    """
    circles, _ = fragment_of(compiled(body))
    assert circles == ["Node -> Node: after of hand_over"]


def test_the_fragment_names_what_no_formula_says(compiled: Compiled) -> None:
    """`--fragment` continues after a construct that is not first-order, and calls no such model decidable."""
    system = compiled(COUNTED.replace("self.on = self.up[n]", f"self.on = {SAME_COUNT}"))
    assumed = list(system.of_kind("invariant"))
    found = fragment(Logic(system, frozenset(), assumed))
    assert not found.is_decidable
    [problem] = found.outside
    assert problem.startswith("count over Node is compared with something else")
