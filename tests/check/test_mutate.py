"""Mutation: every mutant has one of five outcomes; the trials establish it and the model declares it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest

from holdfast import __version__
from holdfast.check.budget import INTERRUPTED, Budget, Meter
from holdfast.check.mutate import bench
from holdfast.check.mutate.bench import Bench
from holdfast.check.mutate.engine import fingerprint, mutants
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.log import MutationLog
from holdfast.check.mutate.operators import operators, try_operators
from holdfast.check.mutate.result import Kill, Mutant, MutantFacts, MutantRow, OperatorRow, Pair, ProofRow, to_json
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Declaration, System
from tests.check.conftest import Compiled
from tests.check.mutating import faults, lock, mutation, ways, without_liveness

WAYS = {
    "LS-07": "missing",
    "LS-07@ask": "missing",
    "LS-07@enter": "equivalent",
    "LS-02": "redundant",
    "LS-01": "killed",
    "LS-03": "redundant",
    "LS-08": "killed",
    "LS-04": "killed",
    "LS-05": "equivalent",
    "LS-06": "liveness",
    "greedy": "killed",
    "kept": "sound",
}


def test_each_mutant_ends_in_its_way(compiled: Compiled) -> None:
    """For a lock with true declarations there is no fault, and every outcome occurs."""
    report = mutation(compiled(lock())).report()

    assert ways(report) == WAYS
    assert (faults(report), report.untried, report.ended_by, report.exit_code) == ({}, (), None, 0)


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
        assert MutantRow(of, declared, way, None).because == text  # type: ignore[arg-type]


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
    ({"LS_07": 'liveness("LV-02", "no")'}, "LS-07", "declared liveness(LV-02), but no @leads_to of the model is viola"),
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
    fast = mutation(system, "LS-01", "LS-02", "LS-05", "LS-06", "LS-07").report()

    assert fast == slow
    assert len(fast.rows) == 7


# Limits ---------------------------------------------------------------------------------------------------------


def test_a_limit_of_states_leaves_a_mutant_open(compiled: Compiled) -> None:
    """If a mutant exceeds the limit of states, it has no answer, the code is 20, and no declaration is judged."""
    system = compiled(lock())
    states = Bench(system, system.scopes["tiny"], "lock", MutationLimits(Budget(), cores=1)).whole.figures.distinct
    report = mutation(system, "LS-06", "LS-07", budget=f"{states}states").report()

    assert "undecided" in ways(report).values()
    assert (faults(report), report.exit_code) == ({}, 20)


def test_a_computer_that_does_not_count_its_cores_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a number, all cores are used; if the system cannot tell how many there are, one is."""
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert [MutationLimits(Budget(), cores=cores).cores for cores in (None, 2)] == [6, 2]
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert MutationLimits(Budget()).cores == 1


def test_time_that_is_up_ends_all(compiled: Compiled) -> None:
    """Once the time is up nothing is tried, every mutant is listed as untried, and a search reports the limit."""
    trials = mutation(compiled(lock()), budget="0.000001s")
    report = trials.report()

    assert (report.rows, report.ended_by, report.exit_code) == ((), "time: more than 1e-06 s", 20)
    assert report.untried == tuple(mutant.name for mutant in mutants(trials.system))
    with pytest.raises(Interruption, match="time"):
        trials.broken()


def test_an_interruption_reports_what_was_found(compiled: Compiled) -> None:
    """After Ctrl-C the report has the finished rows, names the untried mutants, and ends with 20."""
    kept: list[MutantFacts] = []

    def interrupt(facts: MutantFacts) -> None:
        kept.append(facts)
        if len(kept) == 3:
            raise KeyboardInterrupt

    report = mutation(compiled(lock()), keep=interrupt).report()

    assert (report.ended_by, report.exit_code) == ("interrupted", 20)
    assert set(ways(report)) | set(report.untried) == set(WAYS)
    assert len(report.rows) < len(WAYS)


def test_an_interruption_within_a_search_ends_all(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that Ctrl-C ended has no answer, and the trials stop there."""

    @contextmanager
    def interrupted(meter: Meter) -> Iterator[None]:
        meter.spent = INTERRUPTED
        yield

    trials = mutation(compiled(lock()))
    assert trials.broken() is None
    monkeypatch.setattr(bench, "interruptible", interrupted)
    report = trials.report()

    assert (report.rows, report.ended_by, report.exit_code) == ((), "interrupted", 20)


# Going on -------------------------------------------------------------------------------------------------------


def test_what_is_known_is_not_tried_again(compiled: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts survive a round trip through the file: a second run searches nothing and gives an equal report."""
    system, path = compiled(lock()), tmp_path / "facts"
    log = MutationLog(path)
    first = mutation(system, keep=lambda facts: log.keep("lock", "f", facts)).report()
    for name in ("try_alone", "try_pair", "try_beyond"):
        monkeypatch.setattr(Bench, name, None)
    again = mutation(system, known=MutationLog(path).known("lock", "f"), keep=_fail).report()

    assert to_json(again) == to_json(first)


@pytest.mark.parametrize("again", [False, True])
def test_what_was_proved_is_not_asked_again(again: bool, tmp_path: Path) -> None:
    """A stored proof answers later questions of this and other runs, but none about other lemmas or another model."""
    path, row = tmp_path / "facts", ProofRow("LS-07", ("one_inside",))
    log = MutationLog(path)
    log.keep_proof("lock", "f", "lemmas", row)
    found = MutationLog(path) if again else log

    assert found.proof("lock", "f", "lemmas", "LS-07") == row
    assert found.proof("lock", "f", "others", "LS-07") is None
    assert found.proof("lock", "g", "lemmas", "LS-07") is None


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (ProofRow("LS-07", ()), 0),
        (ProofRow("LS-07", (), open="time: more than 1 s"), 20),
        (ProofRow("LS-07", (), fault="proved without it"), 10),
    ],
)
def test_what_the_prover_left_open_is_no_success(row: ProofRow, code: int, compiled: Compiled) -> None:
    """An open proof makes the exit code 20; a proof that contradicts the mutation result makes it 10."""
    report = mutation(compiled(lock())).report()
    assert attrs.evolve(report, proofs=(row,)).exit_code == code


def _fail(facts: MutantFacts) -> None:
    pytest.fail(f"{facts} was known")


def test_a_log_that_was_cut_off_lacks_its_last_line(compiled: Compiled, tmp_path: Path) -> None:
    """An incomplete last line is ignored, and the next fact starts on a new line."""
    path = tmp_path / "facts"
    log = MutationLog(path)
    one, two, three, *_ = (MutantFacts(mutant, equal=True) for mutant in mutants(compiled(lock())))
    for facts in (one, two):
        log.keep("lock", "f", facts)
    path.write_text(path.read_text()[:-20])
    again = MutationLog(path)

    assert list(again.known("lock", "f").values()) == [one]
    again.keep("lock", "f", three)
    assert list(MutationLog(path).known("lock", "f").values()) == [one, three]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}\n", "'version'"),
        (b"[]\n", "is no line of a log of mutants"),
        (b"3\n", "is no line of a log of mutants"),
        (b'{"version": 9, "holdfast": "0.1.0"}\n', "it is of version 9 of such logs"),
        (f'{{"version": 2, "holdfast": "{__version__}"}}\n'.encode(), "it is of version 2 of such logs"),
        (f'{{"version": 3, "holdfast": "{__version__}"}}\n'.encode(), "is no line of a log of mutants ('target')"),
        (b'{"version": 3, "holdfast": "0.0.1"}\n', "it is of version 3 of such logs, of holdfast 0.0.1"),
        (b"not json\n", "is no line of a log of mutants"),
        (b"\xff\xfe\n", "it is no text"),
        (b"[" * 100_000 + b"\n", "is no line of a log of mutants"),
    ],
    ids=["empty", "list", "number", "later", "earlier", "target", "holdfast", "text", "binary", "deep"],
)
def test_a_file_that_is_no_log(tmp_path: Path, text: bytes, said: str) -> None:
    """The error is one line with the file and the remedy."""
    path = tmp_path / "facts"
    path.write_bytes(text)
    with pytest.raises(UsageError) as refused:
        MutationLog(path)

    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_device_is_no_log() -> None:
    """A device without an end is not read."""
    with pytest.raises(UsageError, match="/dev/zero: is no file"):
        MutationLog(Path("/dev/zero"))


def test_a_log_of_another_version_of_the_model(compiled: Compiled, tmp_path: Path) -> None:
    """Facts belong to one version of one model; a changed rule, variant or scope makes another version."""
    system, path = compiled(lock()), tmp_path / "facts"
    changed = compiled(lock().replace('require(self.inside[n], "LS-04")\n    self', "self"))
    larger = compiled(lock().replace("Node: 2", "Node: 3"))
    declared = compiled(lock(LS_06=None))
    stamps = [fingerprint(each, list(each.scopes.values())) for each in (system, changed, larger, declared)]
    MutationLog(path).keep("lock", stamps[0], MutantFacts(mutants(system)[0], equal=True))

    assert stamps[3] == stamps[0]
    assert len(set(stamps)) == 3
    assert MutationLog(path).known("other", stamps[1]) == {}
    with pytest.raises(UsageError, match=r"another version of the model.*remove the file"):
        MutationLog(path).known("lock", stamps[1])


def test_what_was_declared_sound_is_asked_when_it_is_no_more(compiled: Compiled) -> None:
    """A variant declared sound is not checked for liveness; without the declaration it is, also on resuming."""
    broken = lock().replace("    self.inside[n] = False\n    self.asked[n] = False\n", "    self.inside[n] = False\n")
    first = mutation(compiled(broken), "kept")
    first.report()
    assert (first.facts["kept"].starves, first.facts["kept"].equal) == (None, False)

    undeclared = compiled(broken.replace('"kept": sound("the next turn needs no question")', ""))
    again = mutation(undeclared, "kept", known=first.facts).report()
    assert ways(again) == ways(mutation(undeclared, "kept").report()) == {"kept": "liveness"}


def test_what_a_limit_left_open_is_asked_again(compiled: Compiled) -> None:
    """A later run repeats a liveness check that had no answer."""
    system = compiled(lock())
    known = mutation(system, "LS-06").report().rows[0].facts
    unasked = attrs.evolve(known, starves=None, starves_open="states: more than 3")
    assert ways(mutation(system, "LS-06", known={"LS-06": unasked}).report()) == {"LS-06": "liveness"}


# Operators ------------------------------------------------------------------------------------------------------


def test_operators_change_one_thing_each(compiled: Compiled) -> None:
    """Each kind of change occurs, with its place, and no two mutants are the same model."""
    body = """
    up: Rel[Node]
    level: N
    seen: Ghost[Rel[Node]]
    tiny = Scope({Node: 2, N: 2}, budgets={"crash": 1})

    @init
    def empty(self) -> None:
        self.up.fill(False)
        self.level = N(0)
        self.seen.fill(False)

    @action
    def rise(self, n: Node) -> None:
        require(not self.up[n] and self.level < N(2), "LS-01")
        self.up[n] = self.level == N(0)
        self.level = self.level + 1
        self.seen[n] = True

    @action
    def crash(self, n: Node) -> None:
        self.up[n] = False

    @invariant
    def low(self) -> bool:
        return all(self.level <= N(2) for n in Node if self.up[n])
    """
    system = compiled(body)
    found = list(operators(system))

    assert [(each.where, each.change) for each in found] == [
        ("rise", "LS-01: part 1 of 2 is left out"),
        ("rise", "LS-01: part 2 of 2 is left out"),
        ("rise", "LS-01: < to <="),
        ("rise", "up is not written"),
        ("rise", "comes after the next line"),
        ("rise", "level is not written"),
        ("crash", "up is not written"),
        ("crash", "never happens"),
        ("low", "holds without its premise"),
    ]
    assert len({each.system.fingerprint for each in found} | {system.fingerprint}) == len(found) + 1
    assert all(each.at.line > 1 for each in found)


def test_operator_mutants_are_killed_equal_or_survive(compiled: Compiled) -> None:
    """A missing part of a guard lets two nodes in; a fault that no property detects survives."""
    system = compiled(lock())
    rows: list[OperatorRow] = []
    limits = MutationLimits(Budget(), cores=1)
    try_operators(system, Bench(system, system.scopes["tiny"], "lock", limits), limits, rows.append)
    found = {(row.where, row.change): row.way for row in rows}

    assert found["leave", "inside is not written"] == "killed"
    assert found["leave", "tired is not written"] == "survived"
    assert found["ask", "asked is not written"] == "killed"
    assert found["asked_first", "holds without its premise"] == "killed"
    assert {"killed", "survived"} <= set(found.values())


TWICE = """
a: N
b: N
tiny = Scope({N: 2})
@init
def begin(self) -> None:
    self.a = N(0)
    self.b = N(0)
@action
def up(self) -> None:
    require(self.a < N(2) and self.b < N(1), "OP-01")
    self.a = self.a + 1
    self.b = self.b + 1
@invariant
def low(self) -> bool:
    return self.b < N(2)
"""


def test_equal_changes_of_one_line_are_told_apart(compiled: Compiled, tmp_path: Path) -> None:
    """Two equal changes in one rule are different mutants, also on resuming; here only the second is killed."""
    system, path = compiled(TWICE), tmp_path / "facts"
    scope = system.scopes["tiny"]

    def tried(log: MutationLog, of: System) -> list[tuple[str, str, str]]:
        rows: list[OperatorRow] = []

        def keep(row: OperatorRow) -> None:
            log.keep_operator("twice", "f", row)
            rows.append(row)

        limits = MutationLimits(Budget(), cores=1)
        try_operators(of, Bench(of, scope, "twice", limits), limits, keep, partial(log.operator, "twice", "f"))
        return [(row.place, row.change, row.way) for row in rows]

    first = tried(MutationLog(path), system)
    assert [way for _, change, way in first if change == "OP-01: < to <="] == ["equivalent", "killed"]
    # A stored row is not reused for a rule that stands on another line.
    moved = tried(MutationLog(path), compiled(f"# A comment.\n{TWICE}"))
    assert [row[1:] for row in moved] == [row[1:] for row in first]
    assert {place.rsplit("/")[-1] for place, *_ in moved}.isdisjoint({place.rsplit("/")[-1] for place, *_ in first})


@pytest.mark.parametrize("kind", ["invariant", "lemma", "witness"])
def test_whose_premises_are_dropped(kind: str, compiled: Compiled) -> None:
    """Operators drop premises of invariants and lemmas, and never of a witness, which cannot be too weak."""
    body = without_liveness(lock()).replace("@invariant\ndef asked_first", f"@{kind}\ndef asked_first")
    changed = {each.where for each in operators(compiled(body)) if each.action is None}
    assert ("asked_first" in changed) is (kind != "witness")


def test_a_machine_that_does_not_tell_its_cores_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants are tried on all cores of the machine, or on one if the machine does not say how many it has."""
    for told, cores in ((6, 6), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda told=told: told)
        assert MutationLimits(Budget()).cores == cores
    assert MutationLimits(Budget(), cores=2).cores == 2
