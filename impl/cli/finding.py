"""The finding for a violation: its run is shrunk, kept as a file, run again with all rules, and shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from holdfast.check.budget import Budget, Meter
from holdfast.cli.output import cannot_write
from holdfast.ir.errors import UsageError
from impl.oracles.verdict import Violation
from impl.sim.case_file import SimulationCase, case_of, text
from impl.sim.check import NOT_JUDGED, CheckResult, Question, check
from impl.sim.small import recorded, smallest
from impl.sim.timeline import timeline

SHRINK, SEARCH = Budget(seconds=60), Budget(seconds=30)
"""The limit of time for shrinking a run, and that for the search among small runs, which is a part of it."""


class SimulationFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A violation and the run that shows it.

    - ``seed``: the seed of the run as it was found. ``before``: the numbers of its operations and its faults.
    - ``violation``: the violation of the small run. ``case``: the small run, which may have another seed.
    - ``runs``: the number of runs that shrinking took; 0 without shrinking.
    - ``complete``: whether no single operation or fault can be left out of the small run.
    - ``path``: the file of the case; None if there is none.
    - ``mended``: the violations of the same run with all rules; None if no rule was switched off and no defect built
      in.
    - ``moments``: the timeline of the small run, as lines of text. ``shown``: the small run itself.
    """

    seed: int
    violation: Violation
    case: SimulationCase
    before: tuple[int, int]
    runs: int
    complete: bool
    path: Path | None
    mended: tuple[Violation, ...] | None
    moments: tuple[str, ...]
    shown: CheckResult

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of operations and of faults of the small run."""
        return len(self.case.script), len(self.case.faults)


def investigate(
    question: Question, checked: CheckResult, violation: Violation, folder: Path | None, *, shrunk: bool, meter: Meter
) -> SimulationFinding:
    """Make a finding of a violation. ``shrunk``: whether to shrink the run. ``meter``: the meter of the command.

    ``folder``: where the case is kept; None keeps nothing. Raises RuntimeError if the run cannot be repeated.
    """
    run = checked.run
    small, runs, complete = recorded(question, checked), 0, False
    if shrunk:
        found = smallest(
            question,
            checked,
            violation.oracle,
            go_on=_while_time_is_left(meter, SHRINK),
            search=_while_time_is_left(meter, SEARCH),
        )
        small, runs, complete = found.question, found.runs, found.complete
    # The small run is made again from its tape, so what is shown and kept is what a later command will see.
    final = check(small)
    of_oracle = [each for each in final.violations if each.oracle == violation.oracle]
    if not of_oracle:
        raise RuntimeError(f"seed {run.seed}: the run that is made again from its tape does not violate anything")
    case = case_of(small, of_oracle[0])
    return SimulationFinding(
        seed=run.seed,
        violation=of_oracle[0],
        case=case,
        before=(len(run.script), len(run.faults)),
        runs=runs,
        complete=complete,
        path=None if folder is None else _keep(folder, case),
        mended=mended_of(case),
        moments=tuple(timeline(final.run, of_oracle[0])),
        shown=final,
    )


def mended_of(case: SimulationCase) -> tuple[Violation, ...] | None:
    """The violations of a run with all rules and without built-in defects; None if the run has them all anyway.

    If the run cannot be judged, this stands in place of a violation.
    """
    if not case.without and not case.switches:
        return None
    checked = check(case.question(mended=True))
    return checked.violations if checked.error is None else (Violation(NOT_JUDGED, -1, checked.error),)


def _while_time_is_left(meter: Meter, limit: Budget) -> Callable[[], bool]:
    own = Meter(limit)
    return lambda: not own.look(0, 0, 0, 0) and not meter.look(0, 0, 0, 0)


def check_folder(folder: Path | None) -> None:
    """Raise UsageError unless runs can be kept in the folder that is named. Call this before the runs."""
    if folder is None:
        return
    there = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
    try:
        # Rights alone do not tell: a file system may be read-only, or take no files, such as /proc.
        with TemporaryDirectory(dir=there):
            pass
    except OSError as error:
        problem = f"--keep {folder}: {there} is no folder in which files can be written"
        raise UsageError(f"{problem}; choose another folder") from error


def _keep(folder: Path, case: SimulationCase) -> Path:
    """Write a case into a folder, under a name that tells its cluster, its changes, its oracle and its seed."""
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


def told(finding: SimulationFinding) -> list[str]:
    """The lines of text that show a finding."""
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


def commands(case: SimulationCase, file: str) -> list[str]:
    """The commands that judge the run by a model, and write the model's run for other commands; none for partitions."""
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
