"""``holdfast campaign run`` and ``resume``."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.check.budget import Budget, Meter
from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, VIOLATED
from holdfast.cli.options import RUNS, Names
from holdfast.cli.output import Ticker, note, say
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.walk import depth_of_runs, seed_number
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import scope_of_runs
from holdfast.ir.variants import load_variant
from spark.campaign.config import (
    BALANCER,
    CLUSTER,
    LOGS,
    WAVE,
    ClusterOptions,
    Config,
    LogCollection,
    traces_per_unit,
)
from spark.campaign.engine import STOPPED, CampaignProgress, advance, begin, check_free, check_same, check_version
from spark.campaign.estimate import parse_count, span
from spark.campaign.log_target import logs_in
from spark.campaign.model_target import ModelTarget
from spark.campaign.places import CAMPAIGN
from spark.campaign.reading import read_campaign
from spark.campaign.record import campaign_record
from spark.campaign.summary import Summary, summarise
from spark.campaign.targets import check_model, check_name, resume_command, target_of
from spark.campaign.text import render_summary, timing_line
from spark.campaign.units import Target
from spark.cli.balancer_options import NO_BALANCER, BalancerSettings, balancer_config
from spark.cli.cluster_options import NO_CLUSTER, OPERATIONS, ClusterSettings, options_of, refuse
from spark.cli.log_options import NO_LOGS, LogSettings
from spark.cli.options import NO_SETTINGS, SparkSettings
from spark.cluster.session import start_cluster
from spark.cluster.settings import SparkOptions
from spark.cluster.storage import FileStorage, open_storage


def run(
    *,
    target: str,
    out: str,
    runs: Annotated[str | None, RUNS] = None,
    depth: int | None = None,
    seed: str | None = None,
    swarm: bool | None = None,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    property: Names = (),  # noqa: A002 - the option's name
    pct: int | None = None,
    pct_sort: str | None = None,
    stop_after: int | None = None,
    guided: Annotated[bool, Parameter(negative="")] = False,
    budget: str | None = None,
    s3: str | None = None,
    clusters: ClusterSettings = NO_CLUSTER,
    logs: LogSettings = NO_LOGS,
    balancers: BalancerSettings = NO_BALANCER,
    spark: SparkSettings = NO_SETTINGS,
    reports: Reports = NO_REPORTS,
) -> int:
    """Begin a campaign: make many random runs of a target on Spark, and keep the findings in tables.

    The same target, seed and options give the same tables, on any master and any number of cores.

    Parameters
    ----------
    target
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class; or cluster, which
        simulates clusters as `holdfast simulate` does; or balancer, which plans rounds of the balancer; or log, which
        judges recorded logs as `holdfast conform` does.
    out
        Where the tables go: a folder, or s3://BUCKET/PREFIX.
    runs
        How many runs to make, such as 10000000 or 1e7 (1e6).
    depth
        How many steps a run may take; otherwise what the scope says, or 50.
    seed
        The seed of all runs: a number, or hexadecimal such as 0x5eed (0).
    swarm
        Let each run leave out some actions and draw the others by its own random weights (the default), or let all
        runs draw from all actions with equal weights.
    scope
        The scope of the runs; otherwise the model's scope for runs, or default, or tiny.
    variant
        Choose a named variant of the model. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    property
        Check this property only, by its name or rule id. May be repeated.
    pct
        Schedule processes by random priorities (PCT, Burckhardt et al. 2010). A depth of D draws D - 1 points at which
        the priorities change.
    pct_sort
        The sort whose elements are the processes; otherwise the sort of which most actions have a parameter.
    stop_after
        Stop after N different findings.
    guided
        With --target cluster: make most runs of earlier ones that reached something new.
    budget
        Stop at a limit of time: 30min; `holdfast campaign resume` continues.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    clusters
        With --target cluster: which clusters are simulated.
    logs
        With --target log: which logs are judged.
    balancers
        With --target balancer: how it plans.
    spark
        Where Spark runs.
    reports
        Reports for other tools.
    """
    limits = _limits(budget)
    storage = open_storage(out, s3 if target != LOGS or out.startswith("s3://") else None)
    of_models: dict[str, object] = {
        "--depth": depth,
        "--swarm": swarm,
        "--scope": scope,
        "--variant": variant or None,
        "--property": property or None,
        "--pct": pct,
        "--pct-sort": pct_sort,
    }
    drawn = {"--runs": runs, "--seed": seed, "--without": without or None, "--stop-after": stop_after}
    made: Target
    if target != CLUSTER:
        refuse({"--guided": guided or None}, f"it belongs to --target {CLUSTER}")
    if target != BALANCER:
        refuse(balancers.given, f"it belongs to --target {BALANCER}")
    if target == LOGS:
        of_models.pop("--variant")
        refuse({**of_models, **drawn, **clusters.given}, "it belongs to runs that are drawn, and not to logs")
        read = logs.options(s3)
        _check_places(read, out, s3)
        config = _of_logs(read, variant)
        made = target_of(config)
    elif target == CLUSTER:
        refuse(of_models, "it belongs to models, and not to clusters")
        refuse(logs.given, f"it belongs to --target {LOGS}")
        config = _of_clusters(
            options_of(clusters),
            parse_count("--runs", runs or RUNS_DRAWN),
            seed_number(seed or SEED),
            without,
            stop_after,
            guided=guided,
        )
        made = target_of(config)
    elif target == BALANCER:
        refuse({**of_models, **clusters.given, **logs.given}, "it belongs to other targets, and not to the balancer")
        wanted, start = parse_count("--runs", runs or RUNS_DRAWN), seed_number(seed or SEED)
        config = balancer_config(balancers, wanted, start, without, stop_after)
        made = target_of(config)
    else:
        refuse(clusters.given, f"it belongs to --target {CLUSTER}")
        refuse(logs.given, f"it belongs to --target {LOGS}")
        check_name(target, (CLUSTER, BALANCER, LOGS))
        system = load_variant(target, variant, without)
        wanted, chosen = parse_count("--runs", runs or RUNS_DRAWN), scope_of_runs(system, scope)
        config = Config(
            target=target,
            scope=chosen.name,
            variants=system.chosen,
            removed=system.removed,
            properties=property,
            traces=wanted,
            depth=depth_of_runs(chosen, depth),
            seed=seed_number(seed or SEED),
            swarm=swarm is not False,
            pct=pct,
            pct_sort=pct_sort,
            stop_after=stop_after,
            traces_per_unit=traces_per_unit(wanted),
        )
        made = ModelTarget(system, config)
    # Check options and places now, so that a mistake shows before Spark starts.
    config.check()
    reports.prepare()
    options = spark.options()
    if guided and config.units <= WAVE:
        note(f"holdfast: --guided: a campaign of {config.units} units has one round, which is blind; make more runs")
    check_free(storage)
    return _go_on(storage, config, made, limits, options, reports, "run")


def _check_places(read: LogCollection, out: str, s3: str | None) -> None:
    """Raise UsageError if the tables would lie among the logs, or if an address of S3 is given for nothing."""
    if not any(place.startswith("s3://") for place in (read.place, out)):
        refuse({"--s3": s3}, "neither --in nor --out lies on S3")
    logs, tables = _absolute(read.place), _absolute(out)
    if tables == logs:
        raise UsageError(f"--out {out}: holds the logs; name another folder")
    if tables.startswith(f"{logs}/"):
        raise UsageError(f"--out {out}: lies in the folder of the logs, {read.place}; name a folder elsewhere")


def _absolute(place: str) -> str:
    """The place of files in one form, whatever the working directory: no link, and no slash too many."""
    if not place.startswith("s3://"):
        return str(Path(place).resolve())
    return "s3://" + "/".join(part for part in place.removeprefix("s3://").split("/") if part)


def _of_logs(options: LogCollection, variants: tuple[str, ...]) -> Config:
    """The configuration of a campaign over all logs in a place."""
    _, names = logs_in(options)
    if not options.place.startswith("s3://"):
        # `resume` may run in another working directory.
        options = attrs.evolve(options, place=os.path.abspath(options.place))  # noqa: PTH100 - a link stays a link
    return Config(
        target=LOGS,
        scope="",
        variants=variants,
        traces=len(names),
        depth=1,
        seed=0,
        traces_per_unit=traces_per_unit(len(names), LOGS),
        log=options,
    )


def _of_clusters(
    options: ClusterOptions, runs: int, seed: int, without: tuple[str, ...], stop_after: int | None, *, guided: bool
) -> Config:
    """The configuration of a campaign of clusters."""
    return Config(
        target=CLUSTER,
        scope="",
        removed=tuple(dict.fromkeys(without)),
        traces=runs,
        depth=OPERATIONS if options.steps is None else options.steps,
        seed=seed,
        stop_after=stop_after,
        traces_per_unit=traces_per_unit(runs, CLUSTER),
        cluster=options,
        guided=guided,
    )


def resume(
    place: str,
    /,
    *,
    model: str | None = None,
    budget: str | None = None,
    s3: str | None = None,
    spark: SparkSettings = NO_SETTINGS,
    reports: Reports = NO_REPORTS,
) -> int:
    """Make the missing runs of a campaign, for whatever reason it ended before.

    Parameters
    ----------
    place
        Where its tables are: what --out named.
    model
        The model of the campaign, if it does not come along with holdfast.
    budget
        Stop at a limit of time: 30min.
    s3
        The address of an S3 that is not Amazon's: http://HOST:PORT.
    spark
        Where Spark runs.
    reports
        Reports for other tools.
    """
    limits = _limits(budget)
    storage = open_storage(place, s3)
    begun = read_campaign(storage)
    config = begun.config
    check_version(storage, begun)
    check_model(config, model, storage.name)
    target = target_of(config, model)
    check_same(storage, begun, target)
    reports.prepare()
    storage.check_writable()
    return _go_on(storage, config, target, limits, spark.options(), reports, "resume", model)


RUNS_DRAWN, SEED = "1e6", "0"
"""The number of runs, and the seed, unless they are named."""

FAULT = 1
"""The exit code of a fault of holdfast itself."""


def _limits(budget: str | None) -> Budget:
    limits = Budget() if budget is None else Budget.parse(budget)
    if limits.states is not None or limits.memory_bytes is not None:
        raise UsageError(
            f"--budget {budget}: a campaign stores no states, and its memory is Spark's; limit its time, or "
            "give --executor-memory"
        )
    return limits


def _go_on(
    storage: FileStorage,
    config: Config,
    target: Target,
    limits: Budget,
    options: SparkOptions,
    reports: Reports,
    verb: str,
    model: str | None = None,
) -> int:
    """Make the missing units, print the summary, and write the reports. Returns the exit code.

    ``verb`` is ``run`` or ``resume``. ``model``: see ``campaign_record``.
    """
    meter = Meter(Budget())
    if verb == "run":
        # From here on the campaign is known: however this command ends, `resume` goes on.
        begin(storage, config, target)
    with ExitStack() as stack:
        ticker = stack.enter_context(Ticker())
        try:
            ticker.show("making the target ready, which happens once, and starting Spark")
            target.ready()
            compiled = meter.seconds
            cluster = stack.enter_context(start_cluster(options))
            started = meter.seconds - compiled
        except KeyboardInterrupt:
            note(f"holdfast: no run was made; go on with `holdfast campaign resume {storage.name}`")
            raise
        except Exception:
            if verb == "run":
                # The user mends what is wrong, and begins again.
                storage.delete(CAMPAIGN)
            raise
        ended = advance(cluster, storage, config, target, budget=limits, progress=partial(_tick, ticker))
        ticker.show("adding up")
        summary = summarise(storage)
    say(f"{render_summary(summary)}\n")
    note(
        f"{timing_line(summary)}; {span(meter.seconds)} in all, of which {span(compiled)} for the target and "
        f"{span(started)} for Spark to start"
    )
    code = exit_code(summary, config, ended, target.header().deadlock)
    if ended is not None and ended != STOPPED:
        say(f"Ended early ({ended}); go on with `{resume_command(config, storage.name)}`.")
    reports.give([campaign_record(config, summary, f"campaign {verb}", code, model)])
    return code


def exit_code(summary: Summary, config: Config, ended: str | None, deadlock: str) -> int:
    """The exit code of a campaign, as for ``holdfast walk``. A violation counts even if units are missing.

    If nothing is violated, it is FAULT for a run of a cluster that could not be judged, and 20 for a log or a run
    of the balancer without an answer.

    ``ended``: why the command stopped early, or None. ``deadlock``: the model's name of the claim that a deadlock
    violates.
    """
    if summary.violations:
        return DEADLOCK if all(finding.property == deadlock for finding in summary.findings) else VIOLATED
    if summary.not_judged:
        return FAULT if summary.kind == "cluster" else OUT_OF_BUDGET
    return HOLDS if ended is None and summary.done == config.units else OUT_OF_BUDGET


def _tick(ticker: Ticker, now: CampaignProgress) -> None:
    parts = [
        f"{now.runs:,} of {now.all_runs:,} runs",
        f"{now.rate:,.0f} a second",
        f"{now.findings:,} findings",
        f"{now.seconds:.0f} s",
    ]
    if now.rate and now.runs < now.all_runs:
        parts.append(f"about {(now.all_runs - now.runs) / now.rate:,.0f} s to go")
    parts += [] if now.left is None else [f"{now.left:.0f} s left"]
    ticker.show(now.showing or ", ".join(parts))
