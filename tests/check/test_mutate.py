"""Mutation: every mutant has one of five outcomes; the trials establish it and the model declares it."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.budget import Budget
from holdfast.check.live.engine import live
from holdfast.check.mutate import bench
from holdfast.check.mutate.bench import Bench
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import Kill, Mutant, MutantFacts, MutantRow, Pair
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Declaration
from tests.check.conftest import Compiled
from tests.check.mutating import WAYS, faults, lock, mutation, ways, without_liveness


def test_each_mutant_ends_in_its_way(compiled: Compiled) -> None:
    """For a lock with true declarations there is no fault, and every outcome occurs."""
    report = mutation(compiled(lock())).report()

    assert ways(report) == WAYS
    assert (faults(report), report.untried, report.ended_by, report.exit_code) == ({}, (), None, 0)


def test_an_early_end_takes_nothing_back(compiled: Compiled) -> None:
    """Trials that ended early are no answer (20), except if a wrong declaration was found before (10)."""
    early = attrs.evolve(mutation(compiled(lock())).report(), ended_by="interrupted", untried=("LS-08",))
    wrong = attrs.evolve(early.rows[0], fault="survives, and nothing is declared")

    assert early.exit_code == 20
    assert attrs.evolve(early, rows=(wrong, *early.rows[1:])).exit_code == 10


def test_a_kill_names_the_property_the_steps_and_a_run(compiled: Compiled) -> None:
    """A violated property is reported with the length of its shortest run; a lost witness has no run."""
    kills = {row.facts.mutant.name: row.facts.kill for row in mutation(compiled(lock())).report().rows}

    assert str(kills["LS-01"]) == "asked_first (LS-11) in 1 step"
    assert str(kills["LS-04"]) == "left_from_inside (LS-12) in 2 steps"
    assert str(kills["greedy"]) == "alone (LS-10) in 4 steps"
    assert str(kills["LS-08"]) == "busy is not reached"
    one = kills["LS-01"]
    assert one is not None
    assert one.replay is not None
    assert one.replay.startswith("holdfast replay 'lock tiny -LS-01 #")


def test_a_pair_is_killed_where_neither_rule_is_enough(compiled: Compiled) -> None:
    """Two rules cover each other: each mutant survives alone, and without both rules two nodes get in."""
    rows = {row.facts.mutant.name: row for row in mutation(compiled(lock())).report().rows}

    for name, partner in (("LS-02", "LS-03"), ("LS-03", "LS-02")):
        pair = rows[name].facts.killed_with
        assert rows[name].facts.kill is None
        assert pair is not None
        assert (pair.partner, str(pair.kill)) == (partner, "alone (LS-10) in 4 steps")


STAIRS = """
step: N
tiny = Scope({N: 1})
default = Scope({N: 2})
mutants = outcomes({
    "ST-01": redundant(with_="ST-02", reason="both say that there are two steps"),
    "ST-02": redundant(with_="ST-01", reason="both say that there are two steps"),
})
@init
def below(self) -> None:
    self.step = N(0)
@action
def up(self) -> None:
    require(self.step != N(1), "ST-01")
    require(self.step < N(1), "ST-02")
    self.step += 1
@invariant
def ends(self) -> bool:
    return self.step <= N(1)
"""


def test_a_rule_may_be_covered_in_one_action(compiled: Compiled) -> None:
    """A declaration may name the partner at one action, even if the partner covers the rule in no other action."""
    report = mutation(compiled(lock(LS_02='redundant(with_="LS-03@enter")'))).report()
    assert (ways(report)["LS-02"], faults(report)) == ("redundant", {})


def test_a_declared_pair_is_tried_in_every_scope(compiled: Compiled) -> None:
    """A bound hides the redundancy in the smallest scope; a larger scope shows that the two rules cover each other."""
    report = mutation(compiled(STAIRS)).report()
    assert (ways(report), faults(report)) == ({"ST-01": "redundant", "ST-02": "redundant"}, {})
    assert [str(row.kill) for row in report.rows] == ["ends in 2 steps", "ends in 2 steps"]


def test_why_a_mutant_ends_so() -> None:
    """The reason names the kill (alone, in a pair, or by starvation); without a kill, the tries or the declaration."""
    kill, starved = Kill("p", "p (P-1)", "tiny", 2, None), Kill("l", "l (L-1)", "tiny", 3, None)
    facts = MutantFacts(Mutant("A-1", "rule", ()))
    paired = attrs.evolve(facts, pairs=(Pair("B-1", None), Pair("C-1", kill)))
    at = Place("m.py", 1, 1)
    equivalent, missing = Declaration("equivalent", "it is", None, at), Declaration("missing", "a state", None, at)
    liveness = Declaration("liveness", "it waits", "L-1", at)
    expected = {
        (attrs.evolve(paired, kill=kill), None, "killed"): "p (P-1) in 2 steps",
        (paired, None, "redundant"): "without C-1 too: p (P-1) in 2 steps",
        (paired, None, "survived"): "in pairs with B-1, C-1: nothing",
        (attrs.evolve(facts, starves=(starved,)), liveness, "liveness"): "l (L-1) in 3 steps",
        (facts, liveness, "survived"): "L-1: it waits",
        (facts, equivalent, "equivalent"): "it is",
        (facts, missing, "missing"): "a state",
        (facts, missing, "equivalent"): "",
        (facts, None, "survived"): "",
    }
    for (of, declared, way), text in expected.items():
        assert MutantRow(of, declared, way, None).because == text


def test_a_pair_must_break_more_than_either_rule_alone(compiled: Compiled) -> None:
    """If the partner is killed alone, only properties that the partner's mutant does not violate count for the pair."""
    body = """
    up: Rel[Node]
    down: Rel[Node]
    tiny = Scope({Node: 1})

    @init
    def empty(self) -> None:
        self.up.fill(False)
        self.down.fill(False)

    @action
    def lift(self, n: Node) -> None:
        require(self.up[n], "LS-01")
        require(self.down[n], "LS-02")
        require(self.down[n] or self.up[n], "LS-03")
        self.down[n] = True

    @action
    def fall(self, n: Node) -> None:
        require(self.down[n], "LS-04")
        require(not self.up[n], "LS-05")
        self.up[n] = True

    @invariant
    def never_down(self) -> bool:
        return not any(self.down[n] for n in Node)

    @invariant
    def never_up(self) -> bool:
        return not any(self.up[n] for n in Node)
    """
    system = compiled(body)
    tried = Bench(system, system.scopes["tiny"], "lock", MutationLimits(Budget(), cores=1))

    def beyond(*removed: str) -> str | None:
        known = remove_rules(system, removed[1:])
        trial = tried.try_beyond(remove_rules(system, removed), known, None)
        return None if trial.kill is None else trial.kill.property

    # Without LS-04 a node goes up, which is a violation by itself; without LS-05 it goes up again.
    assert tried.try_alone(remove_rules(system, ["LS-04"]), ("fall",)).kill is not None
    assert beyond("LS-05", "LS-04") is None
    # A node that is up may be lifted, but for LS-02: that is another violation.
    assert beyond("LS-02", "LS-04") == "never_down"


FALSE = [
    ({"LS_05": None}, "LS-05", 'not declared: its graph is that of the model; declare "LS-05": equivalent(reason)'),
    (
        {"LS_06": None},
        "LS-06",
        'not declared: over (LV-02) in 3 steps kills it; declare "LS-06": liveness("over", reason)',
    ),
    ({"LS_06": 'missing("no")'}, "LS-06", "declared missing, but it is in the model: over (LV-02) in 3 steps kills it"),
    ({"LS_06": 'liveness("LV-07", "no")'}, "LS-06", "declared liveness(LV-07), which it does not starve; over (LV-02)"),
    ({"LS_07": 'liveness("LV-02", "no")'}, "LS-07", "declared liveness(LV-02), but no liveness property"),
    ({"LS_07": None}, "LS-07", "no property kills it: state what it breaks as a property, or declare"),
    (
        {"LS_02": None},
        "LS-02",
        'not declared: alone (LS-10) in 4 steps kills it without LS-03 too; declare "LS-02": redundant(with_="LS-03")',
    ),
    ({"kept": None}, "kept", 'declare "kept": liveness(id, reason) or missing(state) or sound(reason)'),
    ({"LS_06": 'equivalent("no")'}, "LS-06", "declared equivalent, but it takes steps that the model does not take"),
    ({"LS_05": 'liveness("LV-01", "no")'}, "LS-05", "declared liveness(LV-01), but its graph is that of the model"),
    ({"LS_02": 'missing("no")'}, "LS-02", "declared missing, but it is in the model: alone (LS-10) in 4 steps"),
    (
        {"LS_06": 'redundant(with_="LS-05")'},
        "LS-06",
        "declared redundant(LS-05), but over (LV-02) in 3 steps kills it",
    ),
    (
        {"LS_07": 'redundant(with_="LS-05")'},
        "LS-07",
        "declared redundant(LS-05), but without both nothing more is violated",
    ),
    (
        {"LS_01": 'missing("no")'},
        "LS-01",
        "declared missing, but asked_first (LS-11) in 1 step kills it; drop the declaration",
    ),
    ({"greedy": 'sound("no")'}, "greedy", "declared sound, but alone (LS-10) in 4 steps kills it"),
]


@pytest.mark.parametrize(("changed", "mutant", "said"), FALSE, ids=[mutant for _, mutant, _ in FALSE])
def test_a_declaration_that_is_not_true(
    compiled: Compiled, changed: dict[str, str | None], mutant: str, said: str
) -> None:
    """A missing, false or superfluous declaration is the only fault, ends with 10, and names the right declaration."""
    report = mutation(compiled(lock(**changed))).report()

    assert list(faults(report)) == [mutant]
    assert said in faults(report)[mutant]
    assert report.exit_code == 10


def test_a_declaration_goes_for_the_sites(compiled: Compiled) -> None:
    """A label's declaration covers each of its sites; if the label lacks one, only the label is reported."""
    report = mutation(compiled(lock(LS_07=None)), "LS-07").report()

    assert ways(report) == {"LS-07": "survived", "LS-07@ask": "survived", "LS-07@enter": "equivalent"}
    assert list(faults(report)) == ["LS-07"]


def test_a_rule_without_which_nothing_starts_is_killed(compiled: Compiled) -> None:
    """If a mutant has no initial state within the scope, that mutant is killed, and the next one is tried."""
    body = """
    low: N
    tiny = Scope({N: 1})

    @init
    def begin(self, q: N) -> None:
        if rule("LS-01", q == N(1)):
            self.low = N(0)
        else:
            self.low = q + 1

    @action
    def drop(self) -> None:
        require(self.low > N(0), "LS-02")
        self.low = N(0)

    @step
    def falls(self, old: Self) -> bool:
        return self.low <= old.low
    """
    report = mutation(compiled(body)).report()

    assert ways(report)["LS-01"] == "killed"
    assert "cannot start: " in str(report.rows[0].kill)
    assert set(ways(report)) == {"LS-01", "LS-02"}


@pytest.mark.parametrize("kind", ["always_eventually", "eventually_always"])
def test_a_declaration_may_name_any_kind_of_liveness(compiled: Compiled, kind: str) -> None:
    """Without LS-06 a tired node has asked for ever; a condition that must recur, or last, shows it."""
    claim = f"@{kind}\ndef over(self, n: Node) -> bool:\n    return not self.asked[n] or not self.tired[n]\n"
    body = without_liveness(lock(LS_06='liveness("over", "it has asked for ever")')) + claim
    assert live(compiled(body), compiled(body).scopes["tiny"]).verdict == "exhausted"
    [row] = mutation(compiled(body), "LS-06").report().rows
    assert (row.way, row.fault, str(row.kill)) == ("liveness", None, "over in 3 steps")
    [row] = mutation(compiled(body.replace('liveness("over", "it', 'missing("it')), "LS-06").report().rows
    assert "over in 3 steps kills it" in str(row.fault)


def test_liveness_that_a_bound_leaves_open_is_no_answer(compiled: Compiled) -> None:
    """A mutant that starves only where a bound cuts is undecided and ends with 20, whatever is declared."""
    body = (
        lock(LS_07='liveness("LV-02", "no")')
        .replace("tired: Rel[Node]", "tired: Rel[Node]\nturns: N")
        .replace("tiny = Scope({Node: 2})", "")
    )
    body = body.replace("self.tired.fill(False)", "self.tired.fill(False)\n    self.turns = N(0)")
    body = body.replace("self.tired[n] = True", "self.tired[n] = True\n    self.turns = self.turns + 1")
    report = mutation(compiled(f"tiny = Scope({{Node: 2, N: 1}})\n{body}"), "LS-07").report()

    assert (ways(report)["LS-07"], report.exit_code) == ("undecided", 20)


def test_sites_of_an_equivalent_rule_are_not_tried(compiled: Compiled) -> None:
    """If the whole rule is equivalent, its sites are not tried: their rows would say the same."""
    body = lock().replace('require(not self.tired[n], "LS-07")', 'require(self.tired[n] or True, "LS-07")')
    report = mutation(compiled(body)).report()

    assert report.rows[0].facts.mutant.name == "LS-07"
    assert [row.facts.mutant.name for row in report.rows if row.facts.mutant.kind == "site"] == []


def test_pairs_are_tried_with_what_has_to_do_with_them(compiled: Compiled) -> None:
    """Pairs are tried with other survivors first, related ones leading, then with related killed rules. Or none is."""
    system = compiled(without_liveness(lock(LS_06=None)))
    tried = mutation(system, "LS-06").report().rows[0]
    alone = mutation(system, "LS-06", pairs=False).report().rows[0]

    assert [pair.partner for pair in tried.facts.pairs] == [
        *("LS-02", "LS-05", "LS-07", "LS-03"),
        *("LS-01", "LS-04"),
    ]
    assert alone.facts.pairs == ()
    assert (tried.way, alone.way) == ("survived", "survived")


def test_only_some_mutants(compiled: Compiled) -> None:
    """A label selects its sites too; an unknown name is an error that suggests the nearest name."""
    system = compiled(lock())

    assert list(ways(mutation(system, "LS-07", "kept").report())) == ["LS-07", "LS-07@ask", "LS-07@enter", "kept"]
    assert list(ways(mutation(system, "LS-07@ask").report())) == ["LS-07@ask"]
    assert "kept" not in ways(mutation(system, variants=False).report())
    with pytest.raises(UsageError, match=r"Written has no mutant 'LS-77'; did you mean LS-07"):
        mutation(system, "LS-77").report()


def test_the_kernel_finds_the_same(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the interpreter hands every search to the kernel, all rows are the same."""
    system = compiled(lock())
    slow = mutation(system, "LS-01", "LS-02", "LS-05", "LS-06", "LS-07").report()
    monkeypatch.setattr(bench, "PATIENCE", 1)
    monkeypatch.setattr(bench, "BRIEF", 1)
    fast = mutation(system, "LS-01", "LS-02", "LS-05", "LS-06", "LS-07").report()

    assert fast == slow
    assert len(fast.rows) == 7
