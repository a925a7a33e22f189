"""Tries what finds the lack of one rule: an oracle, a walk beside a model, a model that judges the log of a run.

A run in which a rule decides nothing is the same without the rule. So only runs in which it decided something are made
without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path

import msgspec

from holdfast.ir.errors import UsageError
from impl.bridge.guards.conformance import objection
from impl.bridge.guards.instead import PARTNERS
from impl.bridge.guards.part_runs import PartRun, by_part_runs
from impl.bridge.guards.row import GuardEvidence, GuardRow
from impl.bridge.guards.walk import disagreement
from impl.bridge.missing_rules import tells_lack
from impl.bridge.pairings import PAIRINGS, pairing
from impl.rules import without
from impl.scenario.language import Scenario, read_file
from impl.sim.case_file import CaseError, read_case
from impl.sim.check import NODE_ERROR, CheckResult, check
from impl.sim.mix import question

TRIES = 12
"""The number of runs that are made without a rule, unless another number is named."""
SCENARIOS, KEPT = Path("tests/scenarios"), Path("corpus")


class GuardTrial(msgspec.Struct, frozen=True):
    """The task of a process: a rule, and runs of the default mix in each of which it decided something.

    ``tries``: the number of runs that are made without the rule, and of walks beside each model that has it. A quarter
    of the runs is judged by models, and half of them is made without the rule and a partner. ``before``: the row of an
    earlier trial. What found the lack then is tried first. ``part_runs``: the runs of parts that decide something; they
    take little time, so they are many.
    """

    label: str
    numbers: tuple[int, ...]
    tries: int = TRIES
    before: GuardRow | None = None
    part_runs: tuple[PartRun, ...] = ()

    @property
    def was_found(self) -> bool:
        """Whether an earlier trial has found the lack of the rule."""
        return self.before is not None and bool(self.before.finder)

    @property
    def judged(self) -> tuple[int, ...]:
        """The runs that are judged by models."""
        return self.numbers[: -(-self.tries // 4)]

    @property
    def most_partners(self) -> int:
        """The number of rules that are tried as the one that decides in the place of this rule."""
        return 1 if self.tries < TRIES else 2


NOTHING = GuardEvidence("")


class Lack:
    """Runs without some rules. ``error``: the first run that a node has ended with an error."""

    def __init__(self, *labels: str) -> None:
        self.error = NOTHING
        self._labels = labels
        self._made: dict[int, CheckResult] = {}

    def by_oracle(self, numbers: Sequence[int]) -> GuardEvidence:
        """The first run that an oracle objects to. With all rules, no oracle may object to it."""
        for number in numbers:
            violations = self._run(number).violations
            if not violations or check(question(number)).violations:
                continue
            first = violations[0]
            if first.oracle != NODE_ERROR:
                return GuardEvidence("oracle", first.oracle, number, said=first.message)
            if not self.error.finder:
                self.error = GuardEvidence("node error", first.oracle, number, said=first.message)
        return NOTHING

    def by_conformance(self, numbers: Sequence[int]) -> GuardEvidence:
        """The first run that a model does not allow, though no oracle objects. The models allow it with all rules."""
        for number in numbers:
            checked = self._run(number)
            if checked.violations:
                continue
            found = objection(question(number), checked)
            if found is not None and objection(question(number), check(question(number))) is None:
                return GuardEvidence("conform", found[0], number, said=found[1])
        return NOTHING

    def by_walk(self, name: str, seed: int) -> GuardEvidence:
        """The difference in a walk beside a model. With all rules, there may be none."""
        with without(*self._labels):
            found = disagreement(pairing(name), seed)
        if found is None or disagreement(pairing(name), seed) is not None:
            return NOTHING
        return GuardEvidence("machine", name, seed, said=str(found).partition("\n")[0])

    def by_walks(self, names: Sequence[str], walks_of_each: int) -> GuardEvidence:
        """The first walk in which controller and model differ."""
        walks = (self.by_walk(name, seed) for seed in range(walks_of_each) for name in names)
        return next((each for each in walks if each.finder), NOTHING)

    def instead(self, numbers: Sequence[int]) -> Iterator[str]:
        """The rules that decide more often than with all rules, first those of most runs."""
        more: Counter[str] = Counter()
        for number in numbers:
            usual = check(question(number)).run.decided
            more.update(label for label, times in self._run(number).run.decided.items() if times > usual.get(label, 0))
        yield from (label for label, _ in more.most_common())

    def _run(self, number: int) -> CheckResult:
        if number not in self._made:
            self._made[number] = check(question(number, self._labels))
        return self._made[number]


def evidence(trial: GuardTrial) -> GuardEvidence:
    """What finds the lack of the rule, in the first of the ways that finds it.

    Each way begins with what it has found in an earlier trial.
    """
    lack = Lack(trial.label)
    for way, findings in _WAYS.items():
        again = _again_as_before(trial) if trial.before is not None and trial.before.way == way else ()
        for found in chain(again, findings(trial, lack)):
            if found.finder:
                return found
    return NOTHING


def _again_as_before(trial: GuardTrial) -> Iterator[GuardEvidence]:
    """What the row of an earlier trial names, if it shows the same now."""
    if trial.before is not None:
        found = repeated(trial.before)
        yield found if found.finder == trial.before.finder else NOTHING


def _oracles(trial: GuardTrial, lack: Lack) -> Iterator[GuardEvidence]:
    yield _by_kept_run(trial.label)
    yield lack.by_oracle(trial.numbers)
    yield by_part_runs((trial.label,), trial.part_runs)


def _walks(trial: GuardTrial, lack: Lack) -> Iterator[GuardEvidence]:
    yield lack.by_walks(_models(trial.label), trial.tries)


def _models_of_logs(trial: GuardTrial, lack: Lack) -> Iterator[GuardEvidence]:
    yield lack.by_conformance(trial.judged)


def _partners(trial: GuardTrial, lack: Lack) -> Iterator[GuardEvidence]:
    known = [PARTNERS[trial.label]] if trial.label in PARTNERS else []
    partners = chain(known, (each for each in lack.instead(trial.judged) if each != trial.label))
    for partner in islice(partners, trial.most_partners):
        yield _of_both(trial, partner)


def _errors(_: GuardTrial, lack: Lack) -> Iterator[GuardEvidence]:
    yield lack.error


def _scenario_files(trial: GuardTrial, _: Lack) -> Iterator[GuardEvidence]:
    yield _by_scenarios(trial.label)


_WAYS = {
    "oracle": _oracles,
    "machine": _walks,
    "conform": _models_of_logs,
    "redundant": _partners,
    "node error": _errors,
    "scenario": _scenario_files,
}
"""In the order of what they show: an oracle counts more than anything else."""


def _of_both(trial: GuardTrial, partner: str) -> GuardEvidence:
    """What finds the lack of both rules, where the lack of the partner alone shows nothing."""
    found = Lack(trial.label, partner).by_oracle(trial.numbers[: -(-trial.tries // 2)])
    if found.run is not None and Lack(partner).by_oracle([found.run]).finder:
        return NOTHING
    if not found.finder:
        found = by_part_runs((trial.label, partner), trial.part_runs)
    if not found.finder:
        models = [each for each in _models(trial.label) if each in _models(partner)]
        found = Lack(trial.label, partner).by_walks(models, -(-trial.tries // 2))
        if found.run is not None and Lack(partner).by_walk(found.by, found.run).finder:
            return NOTHING
    return msgspec.structs.replace(found, partner=partner) if found.finder else found


def _models(label: str) -> list[str]:
    """The models beside which the controller walks, as far as they have the rule."""
    return [name for name in PAIRINGS if label.partition(".")[0] in _rule_ids(name)]


@cache
def _rule_ids(name: str) -> frozenset[str]:
    """The ids of the rules that a model has."""
    return frozenset(rule.label.partition(".")[0] for rule in pairing(name).machine.system.rules)


@cache
def _scenarios() -> list[tuple[str, Scenario]]:
    """The scenarios of the repository, with their files; none in another working directory."""
    return [(path.as_posix(), each) for path in sorted(SCENARIOS.rglob("*.yaml")) for each in read_file(path)]


def _by_kept_run(label: str) -> GuardEvidence:
    """The first kept run without a rule that an oracle objects to, and not with the rule."""
    for path in sorted(KEPT.glob(f"*-without-{label}-*.json")):
        try:
            case = read_case(path, path.as_posix())
        except CaseError as error:
            raise UsageError(str(error)) from error
        if case.without != (label,) or case.switches:
            continue
        violations = check(case.question()).violations
        whole = check(case.question(mended=True)).violations
        if violations and violations[0].oracle != NODE_ERROR and not whole:
            said = violations[0].message
            return GuardEvidence("oracle", violations[0].oracle, file=path.as_posix(), said=said)
    return NOTHING


def _by_scenarios(label: str, only: str = "") -> GuardEvidence:
    """The first scenario that fails without a rule, and passes with all rules. ``only``: a file; "" for all."""
    for file, scenario in _scenarios():
        if file.startswith(only) and tells_lack(scenario, label):
            return GuardEvidence("scenario", file=file, said=scenario.name)
    return NOTHING


def repeated(row: GuardRow) -> GuardEvidence:
    """What the run, the walk or the file of a row shows now. Nothing, if the partner alone shows something, too."""
    if row.finder == "scenario":
        return _by_scenarios(row.label, row.file)
    if row.file:
        return _by_kept_run(row.label)
    labels = (row.label, row.partner) if row.partner else (row.label,)
    if row.part:
        assert row.run is not None, "the finder of the row has a run"
        found = by_part_runs(labels, [PartRun(row.part, row.run)])
        return msgspec.structs.replace(found, partner=row.partner) if found.finder else found
    found = _again(row, Lack(*labels))
    if row.partner and _again(row, Lack(row.partner)).finder:
        return NOTHING
    return msgspec.structs.replace(found, partner=row.partner) if found.finder else found


def _again(row: GuardRow, lack: Lack) -> GuardEvidence:
    assert row.run is not None, "the finder of the row has a run"
    match row.finder:
        case "machine":
            return lack.by_walk(row.by, row.run)
        case "conform":
            return lack.by_conformance([row.run])
        case _:
            found = lack.by_oracle([row.run])
            return found if found.finder else lack.error


def reached(number: int, label: str, kinds: Sequence[str], before: GuardRow | None = None) -> tuple[str, ...]:
    """A small set of kinds of faults with which a run of the mix still reaches a rule. Without any one it does not.

    ``kinds``: the kinds that happened in the run. ``before``: an earlier row, whose kinds may still be enough.
    """
    if before is not None and before.reached == number and _decides(number, label, before.faults):
        kept = before.faults
    else:
        # Without a kind that never happened, a run may take another course, so that it reaches the rule no more.
        drawn = question(number).options.faults
        kept = tuple(kinds if _decides(number, label, tuple(kinds)) or isinstance(drawn, str) else drawn)
    while True:
        earlier = kept
        for kind in earlier:
            fewer = tuple(each for each in kept if each != kind)
            if _decides(number, label, fewer):
                kept = fewer
        if kept == earlier:
            return kept


def _decides(number: int, label: str, faults: tuple[str, ...]) -> bool:
    """Whether a rule decides something in a run of the mix with these kinds of faults instead."""
    return bool(check(question(number, faults=faults)).run.decided.get(label, 0))
