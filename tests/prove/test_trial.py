"""A proof is tried before it is believed: a property that a search of another size violates is not proved."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import z3

from holdfast.check.prove.engine import prove
from holdfast.check.prove.result import proof_to_json
from holdfast.check.prove.text import render_proof
from holdfast.check.prove.trial import MOST_SIZES, _every_size, trial_sizes
from holdfast.ir.stmt import Assign
from holdfast.ir.types import NatType
from holdfast.lower.smt.bodies import BodyFormulas, Execution
from holdfast.lower.smt.constants import some_scopes
from holdfast.lower.smt.encoding import Encoding
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.state import State
from holdfast.lower.smt.unbounded_universe import UnboundedUniverse
from tests.prove.conftest import Compiled, example
from tests.prove.test_false_proofs import TWO_GREATEST

PAIR = """
bad: Rel[Node]
tiny = Scope({Node: 1})
@init
def begin(self) -> None:
    self.bad.fill(False)
@action
def go(self, n: Node, m: Node) -> None:
    require(n != m, "TR-01")
    self.bad[n] = True
@invariant
def quiet(self) -> bool:
    return not any(self.bad[n] for n in Node)
"""
"""A model whose only scope is too small for any step."""

GIVEN = """
near: Rel[Node]
bad: bool
tiny = Scope({Node: 1}, given={"near": (False,)})
@init
def begin(self) -> None:
    self.bad = False
@action
def go(self, n: Node) -> None:
    require(not self.near[n], "TR-02")
    self.bad = True
@assume
def all_near(self) -> bool:
    return all(self.near[n] for n in Node)
@invariant
def quiet(self) -> bool:
    return not self.bad
"""

PAIRED = """
ready: bool
tiny = Scope({Node: 2})
@init
def begin(self) -> None:
    self.ready = True
@action
def stay(self) -> None:
    self.ready = True
@assume
def a_pair(self) -> bool:
    return any(n != m for n in Node for m in Node)
@invariant
def always_ready(self) -> bool:
    return self.ready
"""
"""A model that assumes two nodes at least, and has no constants."""

PAIRED_CONSTANTS = (
    PAIRED.replace("any(n != m for", "any(self.near[n] and self.near[m] and n != m for")
    .replace("ready: bool", "ready: bool\nnear: Rel[Node]", 1)
    .replace("Scope({Node: 2})", 'Scope({Node: 2}, given={"near": (True, True)})')
)
"""The same about constants: two nodes are near."""


class LostWrites(BodyFormulas):
    """An emitter that loses every write."""

    def assign(self, stmt: Assign, run: Execution) -> None:
        pass


class Lossy(Logic):
    """Formulas that lose every write."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, bodies=LostWrites)


def test_a_proof_that_a_run_contradicts_is_a_disagreement(compiled: Compiled) -> None:
    """With faulty formulas the proof goes through, but a search with two nodes violates it: exit code 1."""
    result = prove(compiled(PAIR), cores=0, logic=Lossy)
    assert (result.verdict, result.exit_code) == ("contradicted", 1)
    assert [(proof.claim.name, proof.verdict) for proof in result.properties] == [("quiet", "contradicted")]
    assert result.trial is not None
    assert result.trial.violation is not None
    (finding,) = result.trial.violation.findings
    assert finding.length == 1
    text = render_proof(result)
    assert "proved" not in text
    assert "--scope tried" in text
    assert "The commands above need this scope in the class:\n" in text
    assert "tried = Scope({Node: 2})" in text
    assert proof_to_json(result)["trial"]["scope"] == "tried = Scope({Node: 2})"


def test_the_run_can_be_taken_again_in_the_scope_that_is_printed(compiled: Compiled) -> None:
    """With the printed scope in the class, the printed line replays: its model and scope are the same."""
    found = prove(compiled(PAIR), cores=0, logic=Lossy).trial
    assert found is not None
    assert found.violation is not None
    again = compiled(PAIR.replace("tiny = ", f"{found.scope_text}\ntiny = "))
    assert dict(again.scopes["tried"].sizes) == dict(found.attempts[-1].scope.sizes)
    assert found.violation.findings[0].scope == "tried"


def test_constants_are_drawn_that_satisfy_the_assumptions(compiled: Compiled) -> None:
    """The trial draws constants that satisfy the assumption: all nodes are near, so it contradicts nothing."""
    result = prove(compiled(GIVEN), cores=0, searched=False, sane=False)
    assert result.verdict == "proved"
    assert result.trial is not None
    assert result.trial.attempts
    assert all(all(each.scope.given["near"]) for each in result.trial.attempts)


def test_a_draw_of_constants_has_its_seconds(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3 gets the seconds of a query as units of work, and ten times as long on the clock, but at least one each."""
    limits: list[tuple[int, int]] = []

    class TimedSolver(z3.Solver):
        def set(self, *args: Any, **keys: Any) -> None:
            limits.append((keys["rlimit"], keys["timeout"]))
            super().set(*args, **keys)

    monkeypatch.setattr(z3, "SolverFor", lambda _, ctx: TimedSolver(ctx=ctx))
    theory = Logic(compiled(GIVEN), frozenset(), ()).smallest.theory({"Node": 2})

    assert [scope.given for scope in some_scopes(theory, 1, 2.5)] == [{"near": (True, True)}]
    some_scopes(theory, 1, 0.0)
    assert limits == [(5_000_000, 25_000), (1, 1)]


def test_sizes_that_the_assumptions_exclude_are_skipped(compiled: Compiled) -> None:
    """A size in which no constants, or no number of elements, satisfy the assumptions is skipped, and is no problem."""
    for body in (PAIRED, PAIRED_CONSTANTS):
        found = prove(compiled(body), cores=0, searched=False, sane=False).trial
        assert found is not None
        assert not found.contradicts
        assert (found.skipped, {each.scope.sizes["Node"] for each in found.attempts}) == (1, {2, 3})


def test_an_assumption_that_formulas_get_wrong_is_a_disagreement(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If formulas take an assumption for true and the interpreter finds it false, the exit code is 1."""
    holds = Encoding.holds

    def faulty(self: Encoding, prop: Any, state: State) -> z3.BoolRef:
        return self.universe.true if prop.kind == "assume" else holds(self, prop, state)

    monkeypatch.setattr(Encoding, "holds", faulty)
    body = GIVEN.replace("self.bad = True", "self.bad = False")
    result = prove(compiled(body), cores=0, searched=False, sane=False)
    assert (result.verdict, result.exit_code) == ("contradicted", 1)
    assert "all_near" in render_proof(result)


def test_sizes_go_beyond_the_scopes(compiled: Compiled) -> None:
    """The trial has sizes of one to three and numbers beyond every scope, and stops when time is up."""
    system = compiled(PAIR)
    assert [dict(sizes) for sizes in trial_sizes(system, {})] == [{"Node": size} for size in (1, 2, 3)]
    lock = example("lock_with_leases")
    sizes = trial_sizes(lock, {nat.name: 0 for nat in lock.nats})
    assert len({tuple(each.items()) for each in sizes}) == len(sizes) == MOST_SIZES
    every = sorted(_every_size(lock, {nat.name: 0 for nat in lock.nats}), key=lambda each: sum(each.values()))
    assert (sum(sizes[0].values()), sum(sizes[-1].values())) == (sum(every[0].values()), sum(every[-1].values()))
    for nat in lock.nats:
        assert max(each[nat.name] for each in sizes) > max(scope.sizes[nat.name] for scope in lock.scopes.values())


def test_a_literal_exists_in_every_size_that_is_tried(compiled: Compiled) -> None:
    """Scopes without room for a literal are not tried, since the proof assumes that the literal exists."""
    body = PAIR.replace("n: Node, m: Node", "n: Node, m: Node, e: N").replace("Scope({", "Scope({N: 5, ")
    assert min(each["N"] for each in trial_sizes(compiled(body), {"N": 4})) == 4


def test_each_number_goes_as_far_as_its_scopes_and_one_further(compiled: Compiled) -> None:
    """A number with few values and one with many are both tried at their greatest values."""
    system = compiled(PAIR)
    scope = attrs.evolve(system.scopes["tiny"], sizes={"Node": 1, "N": 1, "M": 5})
    two = attrs.evolve(system, nats=(NatType("N"), NatType("M")), scopes={"tiny": scope})
    every = list(_every_size(two, {"N": 0, "M": 0}))
    assert [max(each[name] for each in every) for name in ("N", "M")] == [3, 6]


def test_a_proof_that_nothing_contradicts_says_what_was_tried() -> None:
    """The trial's figures have the number of searched states, which does not depend on the machine."""
    first, second = (prove(example("two_phase_commit"), cores=0).trial for _ in range(2))
    assert first is not None
    assert first == second
    assert not first.contradicts
    assert (first.states > 0, first.exhausted) == (True, len(first.attempts))


def test_a_property_that_no_proof_needs_is_not_tried(compiled: Compiled) -> None:
    """A run that violates a property which nobody asked for, and which the proof does not need, is no contradiction."""
    body = """
    here: Rel[Node]
    tiny = Scope({Node: 3})
    @init
    def begin(self, m: Node) -> None:
        self.here.fill(False)
        self.here[m] = True
    @action
    def go(self, n: Node, m: Node) -> None:
        require(self.here[n], "TR-01")
        self.here[n] = False
        self.here[m] = True
    @invariant
    def one(self) -> bool:
        return all(not (self.here[n] and self.here[m]) for n in Node for m in Node if n != m)
    @invariant
    def several(self) -> bool:
        return not all(n == m for n in Node for m in Node)
    """
    assert prove(compiled(body), properties=["one"], cores=0).verdict == "proved"
    assert prove(compiled(body), cores=0).verdict == "not_inductive"


def test_a_bound_that_is_taken_for_another_one_is_a_disagreement(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two Nats share their greatest value, a proof holds in no size with two bounds; such a size is tried."""
    best = UnboundedUniverse.best
    kinds: dict[str, Any] = {}

    def shared(self: Any, kind: Any, stem: str, beats: Any) -> Any:
        return best(self, kinds.setdefault(self.sort(kind).name(), kind), stem, beats)

    system = compiled(TWO_GREATEST)
    assert prove(system, cores=0, searched=False, suggest=False).trial is None
    monkeypatch.setattr(UnboundedUniverse, "best", shared)
    assert prove(system, cores=0, searched=False, suggest=False).verdict == "contradicted"
