"""The record of an answer of ``holdfast cluster test``, from which the reports for other tools are made."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from holdfast.ir.errors import Place
from holdfast.records.record import Case, Moment, Record, Status, fingerprint
from impl.bridge.log_models import OF_PARTITIONS, OF_STREAMS
from impl.cli.cluster_answer import FAULT, HELD, UNANSWERED, VIOLATED, ClusterAnswer
from impl.cli.cluster_report import to_text
from impl.oracles import judge
from impl.real.run import NODE_ERROR, RunPlan
from impl.rules import ROOT

VERDICTS = {HELD: "holds", VIOLATED: "violated", UNANSWERED: "inconclusive", FAULT: "unknown"}


def record_of(answer: ClusterAnswer) -> Record:
    """The record, with a case for each oracle and each model, and one for the least numbers."""
    rules, records = answer.plan.rules, answer.report.records
    figures = {"acked": records.acked, "read_back": records.read, "lost": records.lost, "twice": records.twice}
    return Record(
        engine="cluster test",
        model=f"{rules.version} {rules.generation}",
        scope=f"seed {answer.plan.seed}",
        changes=(*(f"-{label}" for label in rules.without), *(f"+{name}" for name in rules.switches)),
        verdict=VERDICTS[answer.exit_code],
        exit_code=answer.exit_code,
        cases=(*_oracles(answer), *_models(answer), _least(answer)),
        figures=(
            *((name, str(value)) for name, value in figures.items() if value is not None),
            ("kills", str(len(answer.report.kills))),
        ),
        seconds=sum(answer.report.phases.values()),
    )


def command(plan: RunPlan) -> str:
    """The command that makes such a run again. Its faults are the same, and its course is not."""
    rules, store = plan.rules, plan.store
    words = ["holdfast", "cluster", "test", "--seed", str(plan.seed), "--seconds", str(plan.seconds)]
    words += ["--kill-every", f"{plan.kill_every:g}", "--brokers", str(plan.brokers)]
    words += ["--partitions", str(plan.partitions), "--batch", str(plan.batch)]
    words += ["--version", rules.version, "--generation", rules.generation]
    words += [f"--without={label}" for label in rules.without]
    words += [f"--switch={name}" for name in rules.switches]
    words += [] if plan.faults else ["--kills-only"]
    words += [] if store.endpoint is None else ["--s3", store.endpoint, "--bucket", store.bucket]
    return shlex.join(words)


def _oracles(answer: ClusterAnswer) -> Iterator[Case]:
    """A case for each oracle, and one for the errors of nodes that no rule describes."""
    verdict, at = answer.report.verdict, Place(judge.__file__, 1)
    said = {each.oracle: each.message for each in verdict.violations}
    for name in (*judge.NAMES, NODE_ERROR):
        status: Status = "passed"
        message = "objects to nothing"
        if name in said:
            status, message = "failed", said[name]
        elif verdict.error is not None:
            status, message = "unanswered", f"the history cannot be judged: {verdict.error}"
        elif answer.report.interrupted:
            status, message = "unanswered", f"objects to nothing so far; {answer.words}"
        elif name == "storage" and answer.report.history.missing:
            status, message = "skipped", "the run has not healed, so the bucket was not judged"
        yield _case(answer, name, "oracle", at, status, message)


def _models(answer: ClusterAnswer) -> Iterator[Case]:
    """A case for each model, which judges one log or the logs of all partitions."""
    for model in (*OF_STREAMS[answer.plan.rules.version], *OF_PARTITIONS):
        at = Place(str(ROOT.parent / "models" / f"{model}.py"), 1)
        judged = [each for each in answer.judged if each.model == model]
        objects = [each for each in judged if each.kind == "impossible"]
        left_out = [each for each in answer.left_out if each.startswith(f"model {model}")]
        unanswered = [each for each in judged if each.kind not in ("conforms", "impossible")]
        status: Status = "passed"
        message = f"allows {sum(each.events for each in judged):,} events in {len(judged)} logs"
        if objects:
            places = [f"partition {each.partition}: " * (each.partition >= 0) + each.said for each in objects]
            status, message = "failed", "; ".join(places)
        elif left_out:
            status, message = "unanswered", f"was not asked about all logs; {answer.words}"
        elif unanswered:
            status, message = "unanswered", f"has no answer: {unanswered[0].said or unanswered[0].kind}"
        yield _case(answer, model, "model", at, status, message)


def _least(answer: ClusterAnswer) -> Case:
    """The case of the least numbers of kills and records."""
    at = Place(judge.__file__, 1)
    if answer.report.interrupted:
        return _case(answer, "least numbers", "run", at, "unanswered", answer.words)
    if answer.report.shortfalls:
        return _case(answer, "least numbers", "run", at, "unanswered", "; ".join(answer.report.shortfalls))
    said = f"{len(answer.report.kills)} times kill -9, {answer.report.records.acked:,} acknowledged records"
    return _case(answer, "least numbers", "run", at, "passed", said)


def _case(answer: ClusterAnswer, name: str, kind: str, at: Place, status: Status, message: str) -> Case:
    if status in ("passed", "skipped"):
        return Case(name=name, kind=kind, sentence=name, at=at, status=status, message=message)
    report, rules = answer.report, answer.plan.rules
    return Case(
        name=name,
        kind=kind,
        sentence=name,
        at=at,
        status=status,
        message=message,
        text=to_text(answer),
        replay=command(answer.plan),
        fingerprint=fingerprint(
            "cluster test", rules.version, rules.generation, *rules.without, *rules.switches, kind, name, status
        ),
        flow=tuple(
            Moment("driver", f"{each.at / 1_000_000 - report.begin / 1_000:.3f} s: {each.text}", at)
            for each in report.told
        ),
    )
