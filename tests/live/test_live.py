"""The answers of ``live``: verdicts, figures, and lassos."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.live.engine import _Liveness, live
from holdfast.check.live.result import live_to_json, render_live
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Property, System
from holdfast.lower.graph.state_graph import StateGraph
from holdfast.records.live import live_record
from holdfast.runs.replay import Replayer
from tests.live.asking import LEASE, answer, edited, run
from tests.live.conftest import Compiled
from tests.live.judging import differences

# Answers -----------------------------------------------------------------------------------------------------------


def test_the_answers_are_those_of_trying_everything(tmp_path: Path) -> None:
    """On random graphs and random models the verdicts equal the oracle's, and the oracle accepts each run."""
    assert list(differences(tmp_path, seed=1, arrays=700, models=80)) == []


def test_what_holds_is_exhausted(lease: System) -> None:
    """Both properties hold in both scopes, and the figures tell how much was checked."""
    result = answer(lease, scope="default")
    assert (result.verdict, result.exit_code, result.findings) == ("exhausted", 0, ())
    figures = result.figures
    assert (figures.states, figures.initial, figures.depth) == (576, 1, 10)
    assert [(each.claim.name, each.instances, each.owing) for each in figures.owed] == [
        ("served", 4, 768),
        ("freed", 2, 768),
    ]
    assert [(each.action, each.strength, each.instances) for each in figures.demands] == [
        ("grant", "strong", 4),
        ("expire", "weak", 2),
    ]


def test_without_fairness_nothing_has_to_happen(compiled: Compiled) -> None:
    """Without a fair action a run may stutter for ever, even where a step is always enabled."""
    body = """
    n: N
    tiny = Scope({N: 1})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action FAIR
    def go(self) -> None:
        require(self.n == N(0), "A-1")
        self.n = N(1)
    @leads_to
    def arrives(self) -> tuple[bool, bool]:
        return self.n == N(0), self.n == N(1)
    """
    unfair = answer(compiled(body.replace(" FAIR", "")))
    assert (unfair.verdict, unfair.exit_code) == ("violated", 13)
    assert run(unfair.findings[0]) == ([], [])
    assert "No action is fair" in render_live(unfair)
    assert answer(compiled(body.replace(" FAIR", "(fair='weak')"))).verdict == "exhausted"


def test_weak_fairness_does_not_help_what_is_possible_now_and_then(tmp_path: Path, lease: System) -> None:
    """A client that finds the file taken whenever it looks starves under weak fairness, not under strong fairness."""
    weak = edited(tmp_path, ('fair="strong"', 'fair="weak"'))
    result = answer(weak, "served")
    assert answer(lease, "served").verdict == "exhausted"
    stem, turn = run(result.findings[0])
    assert stem == ["ask(c1,f1)"]
    assert turn == ["ask(c2,f1)", "grant(c2,f1)", "release(c2,f1)"]
    assert result.findings[0].shown.where == (("c", "c1"), ("f", "f1"))
    assert dict(result.fair[0]) == {
        "taken": "grant(c=c2, f=f1) in step 3",
        "not possible": "grant(c=c1, f=f1) after step 3, by LS-03; expire after step 1, by LS-06",
    }


def test_fairness_is_per_instance(tmp_path: Path) -> None:
    """Fairness of "grant to somebody" does not make any particular client get a grant."""
    somebody = edited(tmp_path, ('fair="strong", per=("c", "f")', 'fair="strong", per=("f",)'))
    result = answer(somebody, "served")
    assert result.verdict == "violated"
    assert "grant(c2,f1)" in run(result.findings[0])[1]
    assert answer(somebody, "freed").verdict == "exhausted"


def test_a_part_of_a_component_may_be_fair(compiled: Compiled) -> None:
    """A strong demand that the whole component starves is met in a part where the demand is never enabled."""
    system = compiled("""
    n: N
    tiny = Scope({N: 4})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action(fair="weak")
    def turn(self) -> None:
        require(self.n != N(3) and self.n != N(4), "A-1")
        self.n = N(1) if self.n != N(1) else N(2)
    @action
    def wander(self) -> None:
        require(self.n == N(2) or self.n == N(3), "A-2")
        self.n = N(3) if self.n == N(2) else N(1)
    @action(fair="strong")
    def arrive(self) -> None:
        require(self.n == N(3), "A-3")
        self.n = N(4)
    @leads_to
    def arrives(self) -> tuple[bool, bool]:
        return self.n == N(0), self.n == N(4)
    """)
    trace = answer(system).findings[0]
    assert run(trace) == (["turn()"], ["turn()", "turn()"])


@pytest.mark.parametrize("rule", ["LS-02", "LS-03", "LS-06", "LS-08"])
def test_a_missing_rule_is_shown_or_not(lease: System, rule: str) -> None:
    """Without the effect of expiry both properties are violated. Without a rule that only refuses steps, neither is."""
    result = answer(remove_rules(lease, [rule]))
    assert [trace.shown.name for trace in result.findings] == (["served", "freed"] if rule == "LS-08" else [])


def test_a_variant_may_starve(lease: System) -> None:  # noqa: ARG001 - the module is loaded
    """In the variant ``patient`` a live holder never has to give the file back, so others starve."""
    patient = compile_model(load_model(str(LEASE)), variants=("patient",))
    assert [trace.shown.name for trace in answer(patient).findings] == ["served", "freed"]


def test_a_step_that_changes_nothing_is_none(compiled: Compiled) -> None:
    """Fairness does not force an action whose step changes nothing, or changes only a ghost."""
    system = compiled("""
    n: N
    seen: Ghost[Rel[N]]
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.seen.fill(False)
    @action(fair="weak")
    def idle(self, m: N) -> None:
        self.n = self.n
        self.seen[m] = True
    @leads_to
    def arrives(self) -> tuple[bool, bool]:
        return self.n == N(0), self.n == N(1)
    @leads_to
    def sees(self) -> tuple[bool, bool]:
        return self.n == N(0), self.seen[N(1)]
    """)
    result = answer(system)
    assert [run(trace) for trace in result.findings] == [([], []), ([], [])]
    assert [each.never_possible for each in result.figures.demands] == [1]
    assert answer(system, "sees").verdict == "violated"


def test_a_trigger_that_never_holds_is_vacuous(compiled: Compiled) -> None:
    """A leads-to whose premise is never true is vacuous, and the exit code is 10."""
    system = compiled("""
    n: N
    tiny = Scope({N: 1})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action(fair="weak")
    def stay(self) -> None:
        self.n = N(0)
    @leads_to
    def falls(self) -> tuple[bool, bool]:
        \"\"\"LV-09. It falls.\"\"\"
        return self.n == N(1), self.n == N(0)
    """)
    result = answer(system)
    assert (result.verdict, result.exit_code) == ("exhausted", 10)
    assert "vacuous: falls (LV-09)" in render_live(result)


# Bounds ------------------------------------------------------------------------------------------------------------

CLIMBER = """
n: N
done: bool
tiny = Scope({N: 2})
short = Scope({N: 5}, budgets={"climb": 2})
@init
def zero(self) -> None:
    self.n = N(0)
    self.done = False
@action(fair="weak")
def climb(self) -> None:
    require(not self.done, "A-1")
    self.n = self.n + 1
@action UNFAIR
def stop(self) -> None:
    require(self.n >= N(2), "A-2")
    self.done = True
@leads_to
def stops(self) -> tuple[bool, bool]:
    \"\"\"LV-03. The climber stops.\"\"\"
    return self.n == N(0), self.done
"""

BLINKER = """
lit: bool
@init
def dark(self) -> None:
    self.lit = False
@action(fair="weak")
def blink(self) -> None:
    self.lit = not self.lit
"""


@pytest.mark.parametrize(
    ("scope", "bound", "remedy"),
    [
        ("tiny", "N", "Choose a scope in which N cannot be exceeded."),
        ("short", "budget", "Choose a scope without a budget for climb."),
    ],
)
def test_a_cut_that_decides_is_no_answer(compiled: Compiled, scope: str, bound: str, remedy: str) -> None:
    """If a property is violated only when cut steps count as disabled, there is no verdict, and the cut is named."""
    result = answer(compiled(CLIMBER.replace(" UNFAIR", "")), scope=scope)
    assert (result.verdict, result.exit_code, result.findings) == ("inconclusive", 20, ())
    assert [(action, cut) for action, cut, _ in result.figures.fair_cuts] == [("climb", bound)]
    assert result.figures.owed[0].only_if_cut is not None
    text = " ".join(render_live(result).split())
    assert f"no answer: it depends on steps that a bound of the scope cut: climb by {bound}" in text
    assert remedy in text
    assert "If cut steps count as impossible, stops (LV-03) is violated." in text


@pytest.mark.parametrize(("added", "length"), [("", 2), (BLINKER, 4)])
def test_the_run_that_starves_if_cuts_are_impossible_is_counted(compiled: Compiled, added: str, length: int) -> None:
    """Its length is that of the way to the loop, and of the loop once: no step, or a blink and another one."""
    result = answer(compiled(CLIMBER.replace(" UNFAIR", "") + added))
    assert result.figures.owed[0].only_if_cut == length


def test_a_cut_on_which_nothing_depends_is_an_answer(compiled: Compiled) -> None:
    """If the verdict is the same with cut steps enabled and disabled, it stands, and the cut is named."""
    result = answer(compiled(CLIMBER.replace(" UNFAIR", "(fair='weak')")))
    assert (result.verdict, result.exit_code) == ("exhausted", 0)
    assert result.figures.owed[0].only_if_cut is None
    text = " ".join(render_live(result).split())
    assert "fair but cut climb by N 1" in text
    said = "Nothing is violated, whether cut steps count as possible or not, so the answer does not depend on them."
    assert said in text


def test_one_property_that_depends_on_cuts_leaves_the_answer_open(compiled: Compiled) -> None:
    """One property that depends on cuts leaves the answer open, even if another one holds in both cases."""
    other = """
@leads_to
def climbs(self) -> tuple[bool, bool]:
    \"\"\"LV-02. The climber leaves the ground.\"\"\"
    return self.n == N(0), self.n == N(1)
"""
    text = CLIMBER.replace(" UNFAIR", "")
    result = answer(compiled(text.replace("@leads_to", f"{other.strip()}\n@leads_to")))
    assert [(each.claim.name, each.only_if_cut is None) for each in result.figures.owed] == [
        ("climbs", True),
        ("stops", False),
    ]
    assert (result.verdict, result.exit_code) == ("inconclusive", 20)


def test_the_alternating_bit_delivers_in_bounded_channels() -> None:
    """A full channel cuts fair sends. TLC finds that the same specification holds, and so does ``live``."""
    system = compile_model(load_model("tests/live/models/alternating_bit.py"))
    result = answer(system)
    assert (result.verdict, result.exit_code, result.figures.states) == ("exhausted", 0, 240)
    assert {(action, bound) for action, bound, _ in result.figures.fair_cuts} == {
        ("resnd_msg", "Len"),
        ("snd_ack", "Len"),
    }
    [case] = live_record(system, result).cases
    assert case.status == "passed"
    assert case.message.endswith(
        "whether the steps that a bound cut are possible or not: resnd_msg by Len, snd_ack by Len"
    )


GHOSTLY_END = """
on: bool
ever: Ghost[bool]
tiny = Scope({})
@init
def begin(self) -> None:
    self.on = False
    self.ever = False
@action
def go(self) -> None:
    self.on = not self.on
    self.ever = True
@final
def done(self) -> bool:
    return self.ever
@leads_to
def comes(self) -> tuple[bool, bool]:
    \"\"\"LV-01. It comes.\"\"\"
    return not self.on, self.on
"""


def test_a_final_that_reads_another_ghost_is_no_obstacle(compiled: Compiled) -> None:
    """A lasso keeps only the ghosts of its own leads-to, so a @final that reads another ghost is not checked on it."""
    system = compiled(GHOSTLY_END)
    result = answer(system)
    assert (result.exit_code, [trace.shown.name for trace in result.findings]) == (13, ["comes"])
    lasso = Replayer(system, system.scopes["tiny"], liveness=tuple(system.of_kind("leads_to")))
    assert lasso.claim_names == ("comes",)


def test_no_deadlock_is_asked_where_one_final_of_two_can_be_read(compiled: Compiled) -> None:
    """Deadlock is not checked if a @final reads a dropped ghost: the states that it allows would count as deadlocks."""
    text = GHOSTLY_END.replace("@leads_to", "@final\ndef on_at_last(self) -> bool:\n    return self.on\n@leads_to")
    system = compiled(text)
    lasso = Replayer(system, system.scopes["tiny"], liveness=tuple(system.of_kind("leads_to")))
    assert "deadlock" not in lasso.claim_names
    assert "deadlock" in Replayer(system, system.scopes["tiny"]).claim_names


def test_a_cut_of_an_unfair_action_matters_to_nobody(compiled: Compiled) -> None:
    """A cut of an action without fairness changes no verdict."""
    lazy = CLIMBER.replace(" UNFAIR", "").replace('(fair="weak")', "")
    result = answer(compiled(lazy))
    assert result.verdict == "violated"
    assert [action.cuts for action in result.figures.actions] == [(("N", 1),), ()]
    assert result.figures.fair_cuts == ()


# Questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("LV-9", "Lease has no liveness property 'LV-9'; did you mean LV-02, LV-01?"),
        ("zzz", "Lease has no liveness property 'zzz'; it has: LV-01, LV-02, freed, served"),
    ],
)
def test_an_unknown_property_is_named(lease: System, name: str, problem: str) -> None:
    """The message lists the properties that exist."""
    with pytest.raises(UsageError, match="liveness property") as refused:
        answer(lease, name)
    assert str(refused.value) == problem


def test_a_property_of_another_kind_is_refused(compiled: Compiled) -> None:
    """A property of another kind is refused, and the message names its engine. So is a model without leads-to."""
    text = CLIMBER.replace(" UNFAIR", "")
    with pytest.raises(UsageError, match="'low' is of kind invariant, which `holdfast check` decides"):
        answer(
            compiled(CLIMBER.replace(" UNFAIR", "") + "@invariant\ndef low(self) -> bool:\n    return self.n < N(9)\n"),
            "low",
        )
    silent = compiled(text.partition("@leads_to")[0])
    with pytest.raises(UsageError, match="Written has no liveness property"):
        answer(silent)


def test_a_limit_is_no_answer(lease: System) -> None:
    """If a limit stops the search before the graph is complete, there is no verdict."""
    result = live(lease, lease.scopes["default"], budget=Budget(states=100))
    assert (result.verdict, result.exit_code, result.ended_by) == ("inconclusive", 20, "states: more than 100")
    assert "liveness is decided on the whole graph alone" in " ".join(render_live(result).split())


def test_what_is_decided_in_part_is_not_called_vacuous(lease: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the user interrupts the decision, the premise may be true for arguments that nobody has tried."""
    decided = _Liveness.decide

    def interrupted(self: _Liveness, graph: StateGraph, prop: Property) -> object:
        answer_so_far = decided(self, graph, prop)
        self.meter.spent = INTERRUPTED
        return attrs.evolve(answer_so_far, owed=attrs.evolve(answer_so_far.owed, premise_true=False))

    monkeypatch.setattr(_Liveness, "decide", interrupted)
    result = answer(lease)
    assert (result.verdict, result.ended_by, result.vacuous) == ("inconclusive", INTERRUPTED, ())


def test_equal_questions_have_equal_answers(lease: System) -> None:
    """Equal questions have equal answers, byte by byte, except for the time."""
    starved = remove_rules(lease, ["LS-08"])
    one, two = (live_to_json(answer(starved)) | {"timing": None} for _ in range(2))
    assert one == two
    assert attrs.evolve(answer(starved), timing=answer(starved).timing) == answer(starved)
