"""The records of ``verify``: one for each model, with a case for each job of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.check.result import HOLDS, OUT_OF_BUDGET
from holdfast.check.verify.jobs import JobKind, JobResult, VerifyJob
from holdfast.ir.errors import Place
from holdfast.records.record import Case, Record, Status, identified

DIFFERS = 1

SENTENCES: Mapping[JobKind, str] = {
    "check": "The search finds what is pinned.",
    "live": "What is pinned of liveness is found again.",
    "kernel": "Interpreter and kernel answer alike.",
    "walk": "Random runs do not contradict the search.",
    "graph": "Interpreter and kernel draw the same graph.",
    "prove": "The proof does not contradict the search.",
    "unroll": "Z3 finds in short runs what the search finds.",
    "tlc": "TLC finds the same.",
    "mutants": "What is stored of mutants is so.",
}
"""For each engine: the sentence that is true if its answer is as expected."""


def verification_records(folder: Path, asked: Sequence[VerifyJob], found: Sequence[JobResult]) -> list[Record]:
    """A record for each model in the folder. Jobs without a result are cases too, as unanswered."""
    done = {each.job: each for each in found}
    return [
        _record(folder / f"{model}.py", model, [(job, done.get(job)) for job in asked if job.model == model])
        for model in dict.fromkeys(job.model for job in asked)
    ]


def _record(file: Path, model: str, asked: Sequence[tuple[VerifyJob, JobResult | None]]) -> Record:
    cases = [_case(file, job, done) for job, done in asked]
    statuses = [case.status for case in cases]
    if "failed" in statuses:
        verdict, code = "differs", DIFFERS
    elif "unanswered" in statuses:
        verdict, code = "open", OUT_OF_BUDGET
    else:
        verdict, code = "as expected", HOLDS
    seconds = sum(done.seconds for _, done in asked if done is not None)
    record = Record(
        engine="verify", model=model, scope="", verdict=verdict, exit_code=code, cases=tuple(cases), seconds=seconds
    )
    return identified(record, model)


def _case(file: Path, job: VerifyJob, done: JobResult | None) -> Case:
    status: Status = "unanswered"
    text, replay = "", None
    if done is None:
        message = "not asked: interrupted, or out of time"
    elif done.opinion.problems:
        status, message = "failed", done.opinion.problems[0]
        replay = None if done.outcome is None else done.outcome.replay
        problems = [problem for problem in done.opinion.problems if replay is None or not problem.endswith(replay)]
        text = "\n".join([*problems, *(f"no answer: {problem}" for problem in done.opinion.open)])
    elif done.opinion.open:
        message = f"no answer: {'; '.join(done.opinion.open)}"
    else:
        status, message = "passed", done.opinion.found or "as expected"
    return Case(
        name=_named(job),
        kind=job.engine,
        sentence=SENTENCES[job.engine],
        at=Place(str(file), 1),
        status=status,
        message=message,
        text=text,
        replay=replay,
    )


def _named(job: VerifyJob) -> str:
    """The name of a job: ``kernel``; a pinned job with its configuration: ``check --scope tiny --without ST-14``."""
    pinned = job.engine in ("check", "live") and job.entries
    return f"{job.engine} {job.entries[0].configuration}" if pinned else job.engine
