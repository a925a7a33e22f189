"""Trials of mutants: what a limit or an interruption leaves open, what a log keeps of them, and the operators."""

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
from holdfast.check.mutate.operator_trials import try_operators
from holdfast.check.mutate.operators import operators
from holdfast.check.mutate.result import MutantFacts, OperatorRow, ProofRow, to_json
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from tests.check.conftest import Compiled
from tests.check.mutating import WAYS, faults, lock, mutation, ways, without_liveness

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
        (f'{{"version": 4, "holdfast": "{__version__}"}}\n'.encode(), "is no line of a log of mutants ("),
        (b'{"version": 4, "holdfast": "0.0.1"}\n', "it is of version 4 of such logs, of holdfast 0.0.1"),
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
