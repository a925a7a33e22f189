"""What becomes of a violation: the run is made small, kept as a file, made again with all rules, and shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast.check.budget import Budget, Meter
from holdfast.cli.output import cannot_write
from impl.oracles.verdict import Violation
from impl.sim.case_file import Case, case_of, text
from impl.sim.check import CheckResult, Question, check
from impl.sim.small import recorded, smallest
from impl.sim.timeline import timeline

SHRINK = Budget(seconds=60)
"""How long a run is made smaller."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A violation and the run that shows it.

    ``seed``: of the run as it was found; ``before``: its operations and faults. ``case`` is the small run, which may be
    one of another seed. ``runs``: how many runs it took to find it, 0 if that was not asked for; ``complete``: whether
    no single operation or fault can be left out of it. ``path``: where the case is kept. ``mended``: what the oracles
    say of the same run with all rules; None if no rule was switched off and no defect built in.
    """

    seed: int
    violation: Violation
    case: Case
    before: tuple[int, int]
    runs: int
    complete: bool
    path: Path | None
    mended: tuple[Violation, ...] | None
    moments: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        """The operations and faults of the run that is kept."""
        return len(self.case.script), len(self.case.faults)


def investigate(
    question: Question, checked: CheckResult, violation: Violation, folder: Path | None, *, shrunk: bool, meter: Meter
) -> Finding:
    """What becomes of a violation of a run; ``meter`` is that of the command. Without a folder nothing is kept."""
    run = checked.run
    small, runs, complete = recorded(question, checked), 0, False
    if shrunk:
        found = smallest(question, checked, violation.oracle, go_on=_while_time_is_left(meter))
        small, runs, complete = found.question, found.runs, found.complete
    final = check(small)
    of_oracle = [each for each in final.violations if each.oracle == violation.oracle]
    if not of_oracle:
        raise RuntimeError(f"seed {run.seed}: the run that is made again from its tape does not violate anything")
    case = case_of(small, of_oracle[0])
    return Finding(
        seed=run.seed,
        violation=of_oracle[0],
        case=case,
        before=(len(run.script), len(run.faults)),
        runs=runs,
        complete=complete,
        path=None if folder is None else _keep(folder, case),
        mended=mended_of(case),
        moments=tuple(timeline(final.run, of_oracle[0])),
    )


def mended_of(case: Case) -> tuple[Violation, ...] | None:
    """What the oracles say of the run with all rules, and without the defects that are built in."""
    if not case.without and not case.switches:
        return None
    return check(case.question(mended=True)).violations


def _while_time_is_left(meter: Meter) -> Callable[[], bool]:
    own = Meter(SHRINK)
    return lambda: not own.look(0, 0, 0, 0) and not meter.look(0, 0, 0, 0)


def _keep(folder: Path, case: Case) -> Path:
    """Write a case into a folder, under a name that says what it shows."""
    changes = [*(f"without-{each}" for each in case.without), *(f"with-{each}" for each in case.switches)]
    oracle = case.violation.oracle.replace(" ", "-")
    generation = [case.generation] if case.partitions else []
    path = folder / ("-".join([case.cluster, *generation, *changes, oracle, str(case.seed)]) + ".json")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text(case), encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def told(finding: Finding) -> list[str]:
    """The finding as text."""
    operations, faults = finding.size
    lines = [f"  {finding.violation.oracle}: {finding.violation.message}", ""]
    size = f"{_count(operations, 'operation')} and {_count(faults, 'fault')}"
    if finding.runs:
        end = "no single one can be left out" if finding.complete else "stopped before the smallest was found"
        before = f"{finding.before[0]:,} operations and {finding.before[1]:,} faults"
        seed = "" if finding.case.seed == finding.seed else f" of seed {finding.case.seed}"
        lines.append(f"  made small      from {before} to {size}{seed}, in {_count(finding.runs, 'run')}")
        lines.append(f"  {'':14}  {end}")
    else:
        lines.append(f"  run             {size}")
    if finding.path is not None:
        file = shlex.quote(str(finding.path))
        lines.append(f"  again           holdfast simulate {file}")
        lines += [f"  as a log        {each}" for each in commands(finding.case, file)]
    lines += [f"  with all rules  {each}" for each in _mended(finding.mended)]
    return [*lines, "", *finding.moments]


def commands(case: Case, file: str) -> list[str]:
    """The commands that judge a run with streams by a model, which then shows its part of it."""
    if case.partitions:
        return []
    model = "fast_close" if case.cluster == "V6" else "stream_log"
    return [
        f"holdfast simulate {file} --log events.ndjson",
        f"holdfast conform {model} events.ndjson --map {model} --run run.py  (prints a line for show and explore)",
    ]


def _mended(mended: tuple[Violation, ...] | None) -> list[str]:
    if mended is None:
        return []
    return [f"{each.oracle}: {each.message}" for each in mended] or ["the same run violates nothing"]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
