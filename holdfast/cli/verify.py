"""``holdfast verify``: run every engine on every model; compare with the pinned outcomes and with each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import attrs
from rich.table import Table

from holdfast.check.budget import Budget
from holdfast.check.result import HOLDS, OUT_OF_BUDGET
from holdfast.check.verify.engine import run_all
from holdfast.check.verify.jobs import ENGINES, JobResult, VerifyJob, jobs
from holdfast.check.verify.manifest import MANIFEST, ManifestEntry, format_manifest, read_manifest
from holdfast.check.verify.opinions import joined
from holdfast.cli.options import Names, Switch
from holdfast.cli.output import Ticker, check_writable, note, say, show, write
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_folders
from holdfast.ir.similar_names import did_you_mean
from holdfast.records.verification import verification_records

DIFFERS = 1


def verify(
    *,
    slow: Switch = False,
    only: Names = (),
    budget: str | None = None,
    update: Switch = False,
    reports: Reports = NO_REPORTS,
) -> int:
    """Run every engine on every model, and compare the answers with the pinned outcomes and with each other.

    manifest.json beside the models holds the pinned outcomes, and mutants.json the outcomes of mutants. The models are
    those in models/ of this folder, or the installed ones. Interpreter and kernel must give equal answers, random runs
    and proofs must not contradict the search, and TLC must agree with the search. Ends 0 only if nothing differs, 1 if
    anything does, and 20 if a question was left open.

    Parameters
    ----------
    slow
        Search the large scopes too, and try all mutants again, which takes an hour or two.
    only
        Run this engine only, or this model only. May be repeated.
    budget
        Stop after this time, and report the answers up to then: 5min.
    update
        Pin the outcomes that are found, instead of comparing with the pinned ones.
    reports
        Reports for other tools.
    """
    folder = next(iter(model_folders()), None)
    if folder is None:
        raise UsageError("there are no models; run this where models/ is, or check one file: holdfast check FILE.py")
    limit = Budget() if budget is None else Budget.parse(budget)
    if limit.states is not None or limit.memory_bytes is not None:
        raise UsageError(f"budget {budget!r}: it is not a time alone; limit the time, such as 5min")
    if update:
        reports.refuse("--update pins what is found, and judges nothing")
        check_writable(folder / MANIFEST)
    reports.prepare()
    entries = read_manifest(folder)
    chosen = _chosen(jobs(folder, entries, slow=slow), only)
    if update:
        chosen = [job for job in chosen if job.engine in ("check", "live")]
    found = _made(folder, chosen, limit.seconds, slow=slow)
    show(_table(found))
    problems = [problem for done in found for problem in done.opinion.problems]
    left_open = [problem for done in found for problem in done.opinion.open]
    for problem in problems:
        say(problem)
    for problem in left_open:
        say(f"no answer: {problem}")
    _tell_times(found)
    reports.give(verification_records(folder, chosen, found))
    wrong = sum(bool(done.opinion.problems) for done in found)
    if len(found) < len(chosen):
        say(f"interrupted: {len(found)} of {len(chosen)} checked, {wrong} of them not as expected")
        return OUT_OF_BUDGET
    if update:
        return _pin(folder / MANIFEST, entries, found)
    say(f"{len(found) - sum(_is_off(done) for done in found)} of {len(found)} as expected")
    if problems:
        return DIFFERS
    return OUT_OF_BUDGET if left_open else HOLDS


def _chosen(every: Sequence[VerifyJob], only: Sequence[str]) -> list[VerifyJob]:
    """The jobs of the named engines and models. Raises UsageError for a name that is neither, or if no job is left."""
    models = list(dict.fromkeys(job.model for job in every))
    for name in only:
        if name not in ENGINES and name not in models:
            hint = did_you_mean(name, [*ENGINES, *models], f"choose one of: {', '.join([*ENGINES, *models])}")
            raise UsageError(f"--only {name}: no engine or model has this name; {hint}")
    engines = [name for name in only if name in ENGINES] or ENGINES
    named = [name for name in only if name not in ENGINES] or models
    found = [job for job in every if job.engine in engines and job.model in named]
    if not found:
        raise UsageError(
            f"--only {' --only '.join(only)}: there is nothing of the kind to ask; add --slow, or leave it out"
        )
    return found


def _made(folder: Path, chosen: Sequence[VerifyJob], seconds: float | None, *, slow: bool) -> list[JobResult]:
    """Run the jobs, and return their results in the order of the jobs. After Ctrl-C, only the finished ones.

    A terminal shows the number of finished jobs meanwhile.
    """
    found: dict[VerifyJob, JobResult] = {}
    processes = os.cpu_count() or 1
    with Ticker() as ticker, suppress(KeyboardInterrupt):

        def waiting(left: Sequence[VerifyJob]) -> None:
            names = ", ".join(job.name for job in left[:processes])
            ticker.show(f"{len(found)} of {len(chosen)} checked; now {names}" if left else "")

        made = run_all(folder, chosen, processes, slow=slow, seconds=seconds, waiting=waiting)
        waiting(chosen)
        # Closing the generator ends its worker processes, also after Ctrl-C.
        with closing(made):
            for done in made:
                found[done.job] = done
    return [found[job] for job in chosen if job in found]


def _pin(manifest: Path, entries: Sequence[ManifestEntry], found: Sequence[JobResult]) -> int:
    """Write the manifest with the outcomes found. An entry that was not checked keeps its outcome.

    Writes nothing and returns DIFFERS if any job ended in an error.
    """
    outcomes = {done.job.entries[0]: done.outcome for done in found}
    if any(outcome is None or outcome.error for outcome in outcomes.values()):
        say(f"nothing is pinned, because of the errors above: {manifest} stays as it is")
        return DIFFERS
    write(
        manifest,
        format_manifest(attrs.evolve(entry, expected=outcomes.get(entry, entry.expected)) for entry in entries),
    )
    say(f"{len(outcomes)} outcomes are pinned in {manifest}")
    return HOLDS


# Text -------------------------------------------------------------------------------------------------------------


def _is_off(done: JobResult) -> bool:
    return bool(done.opinion.problems or done.opinion.open)


def _table(found: Sequence[JobResult]) -> Table:
    """A table with a line for each model and engine: what the engine found, and whether that is as expected."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "engine", "found", "as expected?"):
        table.add_column(heading, overflow="fold")
    last = ""
    for (model, engine), group in _grouped(found).items():
        opinion = joined(done.opinion for done in group)
        mutants = sum(bool(done.outcome is not None and not done.opinion.found) for done in group)
        parts = [opinion.found, f"{mutants} mutant{'' if mutants == 1 else 's'}"] if mutants else [opinion.found]
        answer = "NO" if opinion.problems else "no answer" if opinion.open else "yes"
        table.add_row(model if model != last else "", engine, "; ".join(part for part in parts if part), answer)
        last = model
    return table


def _grouped(found: Sequence[JobResult]) -> dict[tuple[str, str], list[JobResult]]:
    """The results by model and engine; engines in the order of ENGINES."""
    groups: dict[tuple[str, str], list[JobResult]] = {}
    models = list(dict.fromkeys(done.job.model for done in found))
    for model in models:
        for engine in ENGINES:
            group = [done for done in found if (done.job.model, done.job.engine) == (model, engine)]
            if group:
                groups[model, engine] = group
    return groups


def _tell_times(found: Sequence[JobResult]) -> None:
    """Write to standard error how long each engine took on each model."""
    times: dict[str, list[str]] = {}
    for (model, engine), group in _grouped(found).items():
        times.setdefault(model, []).append(f"{engine} {sum(done.seconds for done in group):.0f} s")
    for model, each in times.items():
        note(f"{model}: {', '.join(each)}")
