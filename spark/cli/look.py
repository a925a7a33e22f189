"""``holdfast campaign status``, ``report``, ``diff`` and ``plan``: the verbs that read campaigns, without Spark."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from holdfast.check.budget import Budget, Meter
from holdfast.check.result import HOLDS
from holdfast.cli import output_files
from holdfast.cli.options import RUNS
from holdfast.cli.output import cannot_write, note, say, write
from holdfast.cli.output_files import PageFile
from holdfast.cli.reporting import NO_REPORTS, Reports, renderer
from holdfast.cli.walk import depth_of_runs
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import scope_of_runs
from holdfast.ir.variants import load_variant
from holdfast.records.explained_run import ExplainedRun
from holdfast.trace.text import count
from spark.campaign.blind import compare_with_blind
from spark.campaign.config import BALANCER, BOUNDS, CLUSTER, Config, traces_per_unit
from spark.campaign.difference import compare, render_difference
from spark.campaign.engine import check_same
from spark.campaign.estimate import MeasuredCosts, check_numbers, measured, parse_count, render_plan
from spark.campaign.estimate import plan as plan_for
from spark.campaign.findings import MOST_SHOWN
from spark.campaign.reading import read_campaign
from spark.campaign.record import campaign_record
from spark.campaign.run_pages import run_of
from spark.campaign.summary import Summary, summarise
from spark.campaign.tables import TIMING, to_parquet
from spark.campaign.targets import check_model, check_name, target_of
from spark.campaign.text import render_status
from spark.campaign.work import coverage_row, runs_row
from spark.cli.balancer_options import NO_BALANCER, balancer_config
from spark.cli.cluster_options import NO_CLUSTER, OPERATIONS, options_of, refuse
from spark.cli.run import exit_code
from spark.cluster.storage import FileStorage, open_storage

PAGE = "report.html"

SAMPLE = 3.0
"""Seconds of runs that ``plan`` makes to measure the rates of a model."""

SAMPLED = 1 << 14
"""The number of runs between two readings of the clock."""


def status(place: str, /, *, s3: str | None = None) -> int:
    """Show the progress of a campaign: units done and left, the rate, and the findings.

    Parameters
    ----------
    place
        Where its tables are: what --out named.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    """
    storage = open_storage(place, s3)
    begun = read_campaign(storage)
    summary = summarise(storage)
    say(render_status(summary, os.cpu_count()))
    return exit_code(summary, begun.config, None, begun.deadlock)


def report(
    place: str,
    /,
    *,
    html: PageFile = None,
    blind: str | None = None,
    model: str | None = None,
    s3: str | None = None,
    reports: Reports = NO_REPORTS,
) -> int:
    """Write a page about a campaign: rates, coverage, saturation, and the findings with their runs.

    The page is one file that needs no network. It lies beside the tables, as report.html. It links a page for the
    run of each finding, in the folder report.runs beside it.

    Parameters
    ----------
    place
        Where its tables are: what --out named.
    html
        Write the page to this file instead.
    blind
        Of a guided campaign: where the tables of a blind one are, to compare what both have reached.
    model
        For reports: the model of the campaign, if it does not come along with holdfast.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    reports
        Reports for other tools.
    """
    storage = open_storage(place, s3)
    begun = read_campaign(storage)
    reports.prepare()
    asked = any(reports.given.values())
    if model is not None and not asked:
        raise UsageError(f"--model {model}: only a report for other tools needs the model; leave it out")
    config = begun.config
    if asked:
        check_model(config, model, storage.name)
    summary = summarise(storage)
    other = None if blind is None else compare_with_blind(summary, summarise(_storage(blind, s3)))
    folder = f"{(html or Path(PAGE)).stem}.runs"
    runs = _run_pages(summary, folder)
    # A name may have characters that would end the address in a link, such as #.
    links = {signature: quote(f"./{address}") for signature, (address, _) in runs.items()}
    page = renderer("html")(summary, other, links)
    for address, text in (*runs.values(), (html.name if html is not None else PAGE, page)):
        if html is None:
            storage.write(address, text.encode())
        else:
            _write_page(html.parent / address, text)
    say(f"The page is {html or storage.name.rstrip('/') + '/' + PAGE}.")
    if runs:
        say(f"It links {count(len(runs), 'page')} of runs in the folder {folder} beside it.")
    code = exit_code(summary, begun.config, None, begun.deadlock)
    if asked:
        check_same(storage, begun, target_of(config, model))
        reports.give([campaign_record(config, summary, "campaign report", code, model)])
    return HOLDS


def diff(a: str, b: str, /, *, s3: str | None = None) -> int:
    """Compare two campaigns of one target: the findings and the coverage that only one of them has.

    Ends 12 if the second campaign has a finding that the first lacks. Otherwise it ends 20 if the second lacks units or
    has runs without an answer, and 0 if not.

    Parameters
    ----------
    a
        Where the tables of the first campaign are.
    b
        Where the tables of the second campaign are.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    """
    if not any(place.startswith("s3://") for place in (a, b)):
        refuse({"--s3": s3}, "neither campaign lies on S3")
    one, two = (summarise(_storage(place, s3)) for place in (a, b))
    found = compare(one, two)
    say(render_difference(found))
    return found.exit_code


def plan(
    place: str | None = None,
    /,
    *,
    target: str | None = None,
    runs: Annotated[str, RUNS],
    cores: int,
    cores_per_machine: int = 8,
    scope: str | None = None,
    depth: int | None = None,
    s3: str | None = None,
) -> int:
    """Estimate the costs of a campaign: time, machine hours and storage, and how each number is computed.

    Parameters
    ----------
    place
        Where the tables of a campaign are, from which the plan takes its rates.
    target
        Or a model, or cluster, or balancer, to measure its rates now, on one core of this machine.
    runs
        How many runs, such as 1e12.
    cores
        How many cores.
    cores_per_machine
        How many cores a machine has (8).
    scope
        The scope of the target; otherwise the model's scope for runs, or default, or tiny.
    depth
        How many steps a run of the target may take; otherwise what the scope says, or 50.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    """
    wanted = parse_count("--runs", runs)
    check_numbers(wanted, cores, cores_per_machine)
    if (place is None) == (target is None):
        raise UsageError("a plan takes its rates from a campaign (name its place) or from a model (--target); name one")
    if target is not None:
        refuse({"--s3": s3}, "a measurement reads no campaign")
        rates = _measure(target, scope, depth, wanted)
    else:
        assert place is not None
        refuse({"--scope": scope, "--depth": depth}, "it belongs to --target")
        rates = measured(summarise(open_storage(place, s3)))
    say(render_plan(plan_for(wanted, cores, rates, cores_per_machine=cores_per_machine)))
    return HOLDS


def _storage(place: str, s3: str | None) -> FileStorage:
    """The storage at one of two places. The address of S3 applies only to a place on S3: the other may be a folder."""
    return open_storage(place, s3 if place.startswith("s3://") else None)


def _measure(name: str, scope: str | None, depth: int | None, traces: int) -> MeasuredCosts:
    """Measure the rates of a model for about SAMPLE seconds on one core of this machine."""
    kind = name if name in (CLUSTER, BALANCER) else "model"
    each = traces_per_unit(traces, kind)
    if kind != "model":
        refuse({"--scope": scope, "--depth": depth}, f"it belongs to models, and not to --target {name}")
    if kind == BALANCER:
        config = balancer_config(NO_BALANCER, traces, 0)
    elif kind == CLUSTER:
        config = Config(
            target=name,
            scope="",
            traces=traces,
            depth=OPERATIONS,
            seed=0,
            traces_per_unit=each,
            cluster=options_of(NO_CLUSTER),
        )
    else:
        check_name(name, (CLUSTER, BALANCER))
        chosen = scope_of_runs(load_variant(name), scope)
        config = Config(
            target=name,
            scope=chosen.name,
            traces=traces,
            depth=depth_of_runs(chosen, depth),
            seed=0,
            traces_per_unit=each,
        )
    config.check()
    note(f"measuring {name} for about {SAMPLE:.0f} s")
    meter = Meter(Budget())
    ready = target_of(config).ready()
    setup, runs, units, octets = meter.seconds, 0, 0, 0
    sampled = SAMPLED if kind == "model" else BOUNDS[kind][0]
    while meter.seconds - setup < SAMPLE:
        result = ready.run(config.seed_of(units), sampled)
        # The size of a unit's files is estimated from units with this number of runs.
        octets += len(to_parquet("coverage", [coverage_row(units, result)]))
        octets += len(to_parquet("runs", [runs_row(units, 0, result)]))
        octets += len(to_parquet("timing", [dict.fromkeys(TIMING.names, units)]))
        runs, units = runs + result.runs, units + 1
    return MeasuredCosts(
        source=f"{name}, one core of this machine",
        runs_per_second=runs / (meter.seconds - setup),
        bytes_per_unit=octets / units,
        setup_seconds=setup,
        start_seconds=0.0,
        kind=kind,
    )


def _run_pages(summary: Summary, folder: str) -> dict[str, tuple[str, str]]:
    """By signature of a finding: the address and the text of the page of its run.

    A run of the balancer is as long as its text on the page of the campaign, so it has no page.
    """
    pages = {}
    for finding in summary.findings[:MOST_SHOWN]:
        # The signature names a file, and the tables may be from anywhere.
        named = re.fullmatch("[0-9a-f]{12}", finding.signature) is not None and summary.kind != BALANCER
        run = run_of(finding) if named else None
        if run is not None:
            render = renderer("run" if isinstance(run, ExplainedRun) else "system")
            pages[finding.signature] = f"{folder}/{finding.signature}.html", render(run)
    return pages


def _write_page(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path.parent, error) from error
    output_files.PAGE.check(path)
    write(path, text)
