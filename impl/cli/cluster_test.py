"""``holdfast cluster test``: a cluster of processes under faults, judged by the oracles and by the models."""

from __future__ import annotations

import asyncio
import json as json_format
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from cyclopts import Parameter, validators

from holdfast.check.budget import Budget, Meter, interruptible
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.cli.options import Names, Switch
from holdfast.cli.output import Ticker, note, say, write
from holdfast.cli.output_files import NewFolder, PageFile
from holdfast.cli.reporting import NO_REPORTS, Reports, renderer
from holdfast.ir.errors import UsageError
from impl.bridge.log_judgement import LogJudgement, judgements
from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_page import cluster_run
from impl.cli.cluster_record import record_of
from impl.cli.cluster_report import to_json, to_text
from impl.cli.question import drawn_question
from impl.real.problems import ClusterError
from impl.real.run import ClusterRun, RunPlan
from impl.real.starts import ClusterRules
from impl.real.store_place import BUCKET, StorePlace
from impl.sim.check import Question
from impl.sim.conformance.log import conform_log
from impl.sim.conformance.partitions import partition_logs

Brokers = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=20))]
Partitions = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=50))]
Seconds = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=3_600))]
Period = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=3_600))]
AMAZON = ".amazonaws.com"
Records = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=10_000))]


def run_test(
    *,
    seed: int = 0,
    seconds: Seconds = 30,
    kill_every: Period = 5.0,
    brokers: Brokers = 3,
    partitions: Partitions = 4,
    batch: Records = 1_000,
    version: Annotated[Literal["legacy", "V6"] | None, Parameter(show_choices=False)] = None,
    generation: Annotated[Literal["G0", "G1"], Parameter(show_choices=False)] = "G1",
    s3: str | None = None,
    bucket: str | None = None,
    without: Names = (),
    switch: Names = (),
    kills_only: Switch = False,
    out: NewFolder = None,
    html: PageFile = None,
    json: Switch = False,
    reports: Reports = NO_REPORTS,
) -> int:
    """Run a cluster of processes under faults, and judge the run.

    Producers, consumers and operators work while processes are killed and stopped, links are cut, and the object store
    fails. Then all faults end. New processes read everything back. Oracles judge what the clients saw, and models the
    merged log. Exit codes: 0 if nothing is found, 12 if something is, 20 if a model has no answer or too little
    happened. Ctrl-C ends the run early; then the command reports what happened so far, and ends with 12 or 20.

    Parameters
    ----------
    seed
        The seed of the faults, the moves and the reads (0).
    seconds
        How long faults happen (30).
    kill_every
        The time from one kill -9 to the next, in seconds (5); 0 for none.
    brokers
        The number of brokers (3).
    partitions
        The number of partitions (4), each with a producer.
    batch
        The number of records of a send (1000).
    version
        V6, which can close a stream before it is uploaded, or legacy; otherwise V6 for even seeds, legacy for odd ones.
    generation
        Who asks for the election after a move: G1, the target when it serves (the default), or G0, the source.
    s3
        The URL of an object store, not Amazon's; otherwise moto's server, which the command starts and stops.
    bucket
        The bucket (holdfast). It has to be empty.
    without
        Switch off the rule with this label in all processes, or with WL-05 all rules WL-05.NAME. May be repeated.
    switch
        Build in a suspicious spot as AutoMQ has it, such as AM-20. May be repeated.
    kills_only
        Let no other faults happen than kill -9.
    out
        Keep the logs of all processes, the history and the merged log in this folder.
    html
        Write the answer to this file as a page with the timeline of the run.
    json
        Print the result as JSON and nothing else.
    reports
        Reports for other tools.
    """
    chosen = version or ("legacy" if seed % 2 else "V6")
    question = drawn_question(
        seed, partitions=partitions, version=chosen, generation=generation, without=without, switch=switch
    )
    rules = ClusterRules(
        version="legacy" if chosen == "legacy" else "V6",
        generation=generation,
        without=question.without,
        switches=question.switches,
    )
    if bucket is not None and s3 is None:
        raise UsageError(f"--bucket {bucket}: it belongs to --s3; leave it out")
    if s3 is not None and f".{urlsplit(s3).hostname}".endswith(AMAZON):
        # A process signs the address to which it sends a call, and that is the proxy's.
        raise UsageError(
            f"--s3 {s3}: Amazon's store answers only calls to its own address, and the faults need a proxy between; "
            "name another store, or leave it out"
        )
    reports.prepare(json=json)
    render = None if html is None else renderer("system")
    with TemporaryFolder("cluster") if out is None else nullcontext(out) as folder, Ticker() as ticker:
        plan = RunPlan(
            folder=folder,
            store=StorePlace(s3, bucket or BUCKET, own=s3 is None),
            rules=rules,
            seed=seed,
            seconds=seconds,
            kill_every=kill_every,
            brokers=brokers,
            partitions=partitions,
            batch=batch,
            faults=not kills_only,
        )
        answer = _answer(question, plan, ticker)
        if out is not None:
            _keep(out, answer)
    if json:
        say(json_format.dumps(to_json(answer)))
    else:
        say(to_text(answer))
        note(f"phases: {', '.join(f'{name} {took:.1f} s' for name, took in answer.report.phases.items())}")
    if html is not None and render is not None:
        write(html, render(cluster_run(answer)))
    reports.give([record_of(answer)])
    return answer.exit_code


def _answer(question: Question, plan: RunPlan, ticker: Ticker) -> ClusterAnswer:
    """Make the run, and ask the models. The first Ctrl-C or SIGTERM ends both early."""
    meter = Meter(Budget())
    found: list[LogJudgement] = []
    with interruptible(meter):
        try:
            report = asyncio.run(ClusterRun(plan, ticker.show, lambda: meter.spent is not None).run())
        except ClusterError as error:
            raise UsageError(str(error)) from error
        if meter.spent is None:
            ticker.show("models")
            made = judgements(
                report.merged.log, question.version, question.generation, has_partitions=True, meter=meter
            )
            for each in made:
                if meter.spent is not None and each.kind == "unknown":
                    break
                found.append(each)
    return ClusterAnswer(question, plan, report, tuple(found), interrupted=meter.spent is not None)


def _keep(out: Path, answer: ClusterAnswer) -> None:
    """Write the history, the merged logs, and the result."""
    write(out / "history.ndjson", "".join(f"{line}\n" for line in answer.report.history.lines()))
    log = answer.report.merged.log
    write(out / "log.ndjson", conform_log(log).decode())
    for number, text in partition_logs(log, elects=answer.question.generation == "G1").items():
        write(out / f"log.{number}.ndjson", text.decode())
    write(out / "report.json", json_format.dumps(to_json(answer), indent=1) + "\n")
