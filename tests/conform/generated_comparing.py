"""Compare the judge of logs with the oracle, on logs of one generated model."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.judge import Judgement, judge
from holdfast.check.conform.judge.order import Uses, uses
from holdfast.check.conform.judge.projection import project
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.logs.names import processes
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from tests.conform.generated_logs import Line, RunLog, edited, of_sources
from tests.conform.generated_oracle import UNKNOWN, LogOracle, TooManyError
from tests.conform.generated_scope import LogScope
from tests.generated.case import Case, case_of, refusal
from tests.generated.oracle import GhostCutError, NoStartError

LOGS, EDITS, LENGTH = 2, 5, 8

WIDE = 40
"""The size of a window that never forgets a number."""

NO_START = ("no choice of its parameters", "contradict the assumption", "the log names no")
"""The judge's messages for constants with which the model has no initial state."""


@attrs.define
class Outcome:
    """The result for one seed."""

    seed: int
    skipped: str | None = None
    differences: list[str] = attrs.field(factory=list)
    kinds: Counter[str] = attrs.field(factory=Counter)


def judged(system: System, log: Sequence[Line], folder: Path, **options: Any) -> Judgement:
    """The judge's answer on a log."""
    path = folder / "a.log"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in log))
    with Log([str(path)]) as found:
        literals = found.header.literals if found.header is not None else {}
        return judge(system, found, literals, JudgeOptions(**options), Meter(Budget()))


def uses_of(system: System) -> Uses:
    """How the model uses its Nats. Raises UsageError for a model that the judge refuses."""
    return uses(system, _ghosts(system))


def _ghosts(system: System) -> frozenset[str]:
    return frozenset(var.name for var in system.variables if var.ghost)


def literals_of(system: System) -> dict[str, int]:
    """The greatest literal of each window's Nat. Raises UsageError for a model that the judge refuses."""
    used = uses_of(system)
    if any(max(numbers) > 12 for numbers in used.literals.values()):
        raise UsageError("large literals")
    found = {nat: max(numbers) for nat, numbers in used.literals.items() if nat not in used.plain}
    if any(most > 4 for most in found.values()):
        raise UsageError("large literals")
    processes(system)
    Frame.of(system, {nat: {each: each for each in range(1, most + 1)} for nat, most in found.items()})
    return found


def compare(seed: int, source: str | None = None) -> Outcome:
    """Compare the judge with the oracle on the model of a seed, or on this source."""
    outcome = Outcome(seed)
    with case_of(seed, source) as case, TemporaryDirectory() as folder:
        if refusal(case) is not None:
            outcome.skipped = "refused by the compiler"
            return outcome
        try:
            literals = literals_of(case.system)
        except UsageError:
            outcome.skipped = "refused by the judge"
            return outcome
        chance = random.Random(seed)
        try:
            case.plain.starts()
            for _ in range(LOGS):
                log = RunLog(case, chance, literals, uses_of(case.system).plain).lines(LENGTH)
                _compare_edits(case, log, chance, Path(folder), outcome)
        except (NoStartError, GhostCutError) as error:
            outcome.skipped = f"no run: {error}"
    return outcome


def _compare_edits(case: Case, log: list[Line], chance: random.Random, folder: Path, outcome: Outcome) -> None:
    """Compare on a log and on edits of it, each from one source and from several."""
    errors = sorted({rule.error for rule in case.system.rules if rule.error is not None})
    sample = log
    for _ in range(1 + EDITS):
        if len(sample) < 2:
            return
        for text in (sample, of_sources(sample, chance)):
            outcome.kinds["logs"] += 1
            for difference in Comparison(case, text, chance, folder, outcome.kinds).differences():
                outcome.differences.append(difference + "\n" + "\n".join(map(json.dumps, text)))
        before = sample if chance.randrange(3) == 0 else log
        try:
            scope = LogScope(case.model, case.mark, before)
        except NoStartError:
            return
        sample = edited(before, scope, chance, errors)


class Comparison:
    """The judge's and the oracle's answers on one log."""

    def __init__(
        self, case: Case, log: Sequence[Line], chance: random.Random, folder: Path, kinds: Counter[str]
    ) -> None:
        self.case, self.log, self.folder, self.kinds = case, log, folder, kinds
        self.system, self.uses = case.system, uses_of(case.system)
        hidden = [action.name for action in self.system.actions if chance.randrange(16) == 0]
        self.hidden = tuple(name for name in hidden if name not in self.uses.counted)
        nats = [nat.name for nat in self.system.nats if nat.name not in self.uses.plain]
        self.narrow = {nat: chance.randint(4, 14) for nat in nats}
        self.wide = dict.fromkeys(nats, WIDE)

    def differences(self) -> Iterator[str]:
        """The answers of the judge that contradict the oracle."""
        plain = {nat: max(self.uses.literals.get(nat, {0})) for nat in self.uses.plain}
        try:
            oracle = LogOracle(
                self.case.model, self.case.mark, self.log,
                variants=self.case.variants, removed=self.case.removed, hidden=self.hidden,
                plain=plain, rising=self.uses.rising, room=0 if self.uses.counted else 1,
            )  # fmt: skip
            wanted = "conforms" if oracle.possible() else "impossible"
            certain = self._is_certain(oracle)
        except NoStartError:
            wanted, certain = "no start", False
        except TooManyError:
            self.kinds["too many"] += 1
            return
        yield from self._together(wanted)
        yield from self._divided(wanted, certain=certain)

    def _is_certain(self, oracle: LogOracle) -> bool:
        """Whether each event leads to one state. Then smaller worlds give the same answer as a single one."""
        told = all(
            len(line["args"]) == len(oracle.scope.params[line["action"]]) and line.get("error") != UNKNOWN
            for line in self.log[1:]
        )
        one_source = len({line["source"] for line in self.log[1:]}) == 1
        return told and one_source and not self.hidden and len(oracle.oracle.starts()) == 1

    def _together(self, wanted: str) -> Iterator[str]:
        """Compare one world of all elements. If a cell is counted on, the judge accepts any greater number as next."""
        for name, windows in (("wide", self.wide), ("narrow", self.narrow), ("default", {})):
            kind = self._said(joint=0, windows=windows)
            self.kinds[f"{name} {kind}"] += 1
            weaker = bool(self.uses.counted) and kind == "conforms" and wanted == "impossible"
            if kind not in ("unknown", wanted) and not weaker:
                yield f"{name}: the judge says {kind}, the oracle {wanted}; hidden {self.hidden} windows {windows}"

    def _divided(self, wanted: str, *, certain: bool) -> Iterator[str]:
        """Compare worlds of one or two elements: never impossible more often, and not less often if all is certain."""
        for sort in self.system.sorts:
            projection = project(self.system, sort.name, _ghosts(self.system))
            if projection.problem is not None:
                continue
            for joint, windows in ((1, {}), (2, self.narrow)):
                kind = self._said(joint=joint, project=sort.name, windows=windows)
                self.kinds[f"divided {kind}"] += 1
                exact = certain and not projection.weak and not self.uses.counted
                weaker = kind == "conforms" and wanted == "impossible" and not exact
                if kind not in ("unknown", "refused", wanted) and not weaker:
                    yield f"joint {joint} of {sort.name}: the judge says {kind}, the oracle {wanted}; {self.hidden}"

    def _said(self, **options: Any) -> str:
        try:
            return judged(self.system, self.log, self.folder, hidden=self.hidden, **options).kind
        except UsageError as error:
            if any(text in str(error) for text in NO_START):
                return "no start"
            if "--joint all" in str(error):
                return "refused"
            raise
