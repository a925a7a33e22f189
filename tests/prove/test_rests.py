"""The lemmas of a proof: each must be proved itself, whatever properties were asked for."""

from __future__ import annotations

import attrs
import pytest
import z3

from holdfast.check.budget import Budget, Meter
from holdfast.check.prove import asking
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.engine import prove
from holdfast.check.prove.text import render_proof
from holdfast.check.prove.unroll import unroll
from holdfast.ir.system import System
from holdfast.lower.smt.solve import checked
from tests.prove.conftest import Compiled, example

CHAIN = """
low: bool
middle: bool
high: bool
@init
def all_down(self) -> None:
    self.low = False
    self.middle = False
    self.high = False
@action
def climb(self, n: Node) -> None:
    self.high = self.middle
@action
def leap(self, n: Node) -> None:
    require(self.low, "CH-01")
    self.middle = True
@invariant
def never_high(self) -> bool:
    return not self.high
@lemma
def never_middle(self) -> bool:
    return not self.middle
"""
"""``never_high`` needs ``never_middle``, which needs a missing lemma about ``low``."""

SLIDE = """
mode: Mode
@init
def fine(self) -> None:
    self.mode = Mode.OK
@action(idempotent="SL-10")
def slide(self, n: Node) -> None:
    if self.mode == Mode.OK:
        self.mode = Mode.TRAP
    else:
        self.mode = Mode.BAD
@invariant
def any_mode(self) -> bool:
    return self.mode != Mode.OK or self.mode == Mode.OK
"""
"""A slide that takes two steps from the start, and one from anywhere else. No step leads back to the start."""


def verdicts(system: System, **options: object) -> dict[str, str]:
    """The verdict of each property, without a search."""
    result = prove(system, cores=0, searched=False, suggest=False, **options)
    return {proof.claim.name: proof.verdict for proof in result.properties}


def test_what_rests_on_the_unproved_is_not_proved(compiled: Compiled) -> None:
    """A property whose lemma fails is not proved, also if asked for alone, and the text names the lemma."""
    system = compiled(CHAIN)
    wanted = {"never_high": "not_inductive", "never_middle": "not_inductive"}
    assert verdicts(system) == wanted
    assert verdicts(system, properties=["never_high"]) == wanted
    result = prove(system, cores=0, searched=False, suggest=False)
    assert "never_high: not proved, 5 queries; rests on never_middle" in render_proof(result)


def test_what_is_asked_for_alone_proves_what_it_needs(compiled: Compiled) -> None:
    """If one lemma fails and another one would do, the other is proved before it is used."""
    false = "@lemma\ndef also_high(self) -> bool:\n    return not self.middle and not self.high\n"
    system = compiled(CHAIN + false)
    assert verdicts(system, properties=["never_high"]) == dict.fromkeys(
        ("never_high", "never_middle", "also_high"), "not_inductive"
    )
    mended = compiled(CHAIN + false + "@lemma\ndef never_low(self) -> bool:\n    return not self.low\n")
    # Everything is proved; but the lemma makes ``leap`` impossible, which the text says.
    assert set(verdicts(mended).values()) == {"vacuous"}


def test_an_order_of_lemmas_changes_no_verdict() -> None:
    """The order of equal properties in the model changes no verdict."""
    system = example("lock_with_leases")
    turned = attrs.evolve(system, properties=tuple(reversed(system.properties)))
    assert verdicts(system) == verdicts(turned)


def test_a_longer_induction_of_idempotence_has_a_base(compiled: Compiled) -> None:
    """Idempotence by k-induction checks the initial states too, so a repetition that changes them is not proved."""
    for length in (1, 2, 3):
        assert verdicts(compiled(SLIDE), length=length)["slide_idempotent"] == "not_inductive"
    lower = compiled(SLIDE.replace("self.mode = Mode.OK\n@action", "self.mode = Mode.TRAP\n@action"))
    assert verdicts(lower)["slide_idempotent"] == "not_inductive"
    assert verdicts(lower, length=2)["slide_idempotent"] == "proved"


def test_a_model_without_an_invariant_is_asked_too(compiled: Compiled) -> None:
    """A step property alone may need a lemma, and one is suggested."""
    body = """
    a: bool
    b: bool
    tiny = Scope({Node: 1})
    @init
    def off(self) -> None:
        self.a = False
        self.b = False
    @action
    def move(self, n: Node) -> None:
        self.a = self.b
    @step
    def stays(self, old: Self) -> bool:
        return self.a == old.a
    """
    result = prove(compiled(body), cores=0)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    assert [each.text for each in result.properties[0].suggestions] == ["not self.b"]


# Small sizes, and Ctrl-C ------------------------------------------------------------------------------------------


def test_no_size_can_be_smaller(compiled: Compiled) -> None:
    """A counterexample's sizes are lowered until none can be: fewer nodes may allow fewer numbers."""
    body = """
    x: N
    y: N
    z: N
    @init
    def zero(self) -> None:
        self.x = N(0)
        self.y = N(0)
        self.z = N(0)
    @action
    def raise_x(self, to: N, n: Node) -> None:
        self.x = to
    @lemma
    def many_nodes_need_numbers(self) -> bool:
        return all(n == m for n in Node for m in Node) or any(
            i < j and j < k and k < l for i in N for j in N for k in N for l in N
        )
    @invariant
    def no_stairs(self) -> bool:
        return self.x <= self.y or self.y <= self.z
    """
    result = prove(compiled(body), properties=["no_stairs"], cores=0, searched=False, suggest=False)
    found = next(proof.counterexample for proof in result.properties if proof.claim.name == "no_stairs")
    assert found is not None
    assert dict(found.sizes) == {"N": 2, "Node": 1}


class InterruptedSolver(z3.Solver):
    """A solver that Ctrl-C interrupted, as Z3 reports it."""

    def reason_unknown(self) -> str:
        """The reason that Z3 gives after Ctrl-C."""
        return "interrupted from keyboard"


def test_an_interrupt_that_z3_takes_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """If Z3 catches Ctrl-C during a check, the interrupt is raised again, not taken for an answer."""
    monkeypatch.setattr(z3, "Z3_solver_check_assumptions", lambda *_: z3.Z3_L_UNDEF)
    with pytest.raises(KeyboardInterrupt):
        checked(InterruptedSolver())


def test_ctrl_c_ends_a_proof_without_an_answer(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a proof without an answer, during a question and between two."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "ask", interrupt)
    result = prove(compiled(CHAIN), cores=0, searched=False)
    assert (result.verdict, result.ended_by, result.exit_code) == ("unknown", "interrupted", 20)
    found = unroll(compiled(CHAIN), 2, cores=0)
    assert (found.verdict, found.reason, found.exit_code) == ("unknown", "interrupted", 20)


def test_a_question_takes_no_longer_than_is_left() -> None:
    """The rest of the budget limits each question. When nothing is left the check ends."""
    now = [0.0]
    askers = Askers(0, Meter(Budget(seconds=5.0), clock=lambda: now[0]))
    now[0] = 4.0
    assert askers.allowed(20.0) == 1.0
    now[0] = 6.0
    with pytest.raises(LimitExceeded):
        askers.allowed(20.0)


# Names and premises ----------------------------------------------------------------------------------------------

SHADOW = """
low: bool
high: bool
@init
def all_down(self) -> None:
    self.low = False
    self.high = False
@action(idempotent="SH-10")
def sink(self, n: Node) -> None:
    self.high = self.low
    self.low = self.high
@action
def rise(self, n: Node) -> None:
    self.low = not self.low
@action(idempotent="SH-11")
def leap(self, n: Node) -> None:
    if self.low:
        self.high = not self.high
@lemma
def leap_idempotent(self) -> bool:
    return not self.low
"""
"""``leap`` is idempotent only while ``low`` is False. A false lemma says so, and has the name of that claim."""


def test_a_lemma_named_like_an_idempotence_is_asked_for(compiled: Compiled) -> None:
    """A lemma with the name of an idempotence claim is still proved before the claim uses it."""
    result = prove(compiled(SHADOW), properties=["SH-11"], cores=0, searched=False, suggest=False)
    assert result.verdict == "not_inductive"
    assert [(proof.claim.name, proof.claim.kind) for proof in result.properties] == [
        ("@leap_idempotent", "idempotent"),
        ("leap_idempotent", "lemma"),
    ]
    assert "proved" not in {proof.verdict for proof in result.properties}


def test_runs_from_no_start_say_nothing(compiled: Compiled) -> None:
    """If the assumptions exclude every initial state, a bounded search has no answer."""
    body = """
    near: Rel[Node]
    seen: bool
    @init
    def begin(self) -> None:
        self.seen = False
    @action
    def see(self, n: Node) -> None:
        self.seen = True
    @assume
    def impossible(self) -> bool:
        return all(self.near[n] and not self.near[n] for n in Node)
    @invariant
    def blind(self) -> bool:
        return not self.seen
    """
    result = unroll(compiled(body), 1, cores=0)
    assert (result.verdict, result.exit_code) == ("unknown", 20)
    assert "no initial state" in result.text()


COUNTED = """
inside: Rel[Node]
@init
def empty(self) -> None:
    self.inside.fill(False)
@action
def enter(self, n: Node) -> None:
    require(count(self.inside[m] for m in Node) < LIMIT, "CO-01")
    self.inside[n] = True
@invariant
def few(self) -> bool:
    return count(self.inside[m] for m in Node) <= LIMIT
"""


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_elements_that_are_counted_are_all_different(compiled: Compiled, limit: int) -> None:
    """A count counts each element once: one below the limit another may enter, and at the limit none."""
    assert verdicts(compiled(COUNTED.replace("LIMIT", str(limit)))) == {"few": "proved"}
    more = COUNTED.replace("< LIMIT", f"<= {limit}").replace("LIMIT", str(limit))
    assert verdicts(compiled(more)) == {"few": "not_inductive"}


def test_idempotence_compares_optionals(compiled: Compiled) -> None:
    """An action that switches between None and a value is not idempotent."""
    body = """
    owner: Node | None
    @init
    def nobody(self) -> None:
        self.owner = None
    @action(idempotent="OW-10")
    def turn(self, n: Node) -> None:
        if self.owner is None:
            self.owner = n
        else:
            self.owner = None
    @action(idempotent="OW-11")
    def seize(self, n: Node) -> None:
        self.owner = n
    """
    assert verdicts(compiled(body)) == {"turn_idempotent": "not_inductive", "seize_idempotent": "proved"}
