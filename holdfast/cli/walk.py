"""``holdfast walk``: is a bad state met on one of many random runs?"""

from __future__ import annotations

import json as json_format
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from holdfast.check.budget import Budget
from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED
from holdfast.check.search.engine import Engine
from holdfast.check.walk.engine import WalkProgress
from holdfast.check.walk.engine import walk as walk_runs
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.result import WalkResult, render_walk, walk_to_json
from holdfast.cli.check import Expectation, Names, Switch
from holdfast.cli.output import Ticker, check_writable, note, say, write
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.walk_log import NO_LOG, LogOptions
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Scope, System
from holdfast.records.search import search_record
from holdfast.trace.itf import itf_text
from holdfast.trace.text import count

PLAIN = WalkOptions()
"""A campaign as it is where no option says otherwise."""

USUAL = ("default", "tiny")
"""The scope that is walked where none is named: the first of these that the model has."""


def walk(
    model: str,
    /,
    *,
    traces: int = PLAIN.traces,
    depth: int = PLAIN.depth,
    seed: str = "0",
    run: int | None = None,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    property: Names = (),  # noqa: A002 - the option's name
    pct: int | None = None,
    pct_sort: str | None = None,
    swarm: bool = True,
    expect: Annotated[Expectation, Parameter(show_choices=False)] = "holds",
    budget: str | None = None,
    engine: Annotated[Engine, Parameter(show_choices=False)] = "auto",
    cores: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))] = None,
    shrink: bool = True,
    json: Switch = False,
    itf: Path | None = None,
    log: LogOptions = NO_LOG,
    reports: Reports = NO_REPORTS,
) -> int:
    """Make many random runs of a model, and show the first that violates something, made as short as it gets.

    The same seed gives the same runs, on any machine and any number of cores. Each run leaves out some actions and
    draws the others by weights of its own. To find nothing proves nothing; `holdfast check` searches exhaustively.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    traces
        How many runs to make (100000).
    depth
        How many steps a run may take (50).
    seed
        What all runs are drawn from: a number, or hexadecimal such as 0x5eed (0).
    run
        Make the run of this number alone.
    scope
        The scope to walk in; otherwise default, or tiny.
    variant
        Choose a named variant of the model. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    property
        Check this property only, by its name or rule id. May be repeated.
    pct
        Run processes by random priorities that change at so many points less one: for bugs that need so many steps of
        different processes in one order.
    pct_sort
        The sort whose elements are the processes; otherwise that which most actions have a parameter of.
    swarm
        Let each run leave out some actions, and draw the others by weights of its own (the default), or let all runs
        draw all actions alike.
    expect
        holds or violated; with violated the command ends 0 if something is violated, and 10 if nothing is.
    budget
        Stop at a limit of time or memory: 30s,2GB.
    engine
        auto, interpreter or kernel: what makes the runs; the answer is the same, many runs need the kernel's speed.
    cores
        How many cores the kernel may use; otherwise all.
    shrink
        Shrink the run that violates something (the default), or show it as it was drawn.
    json
        Print the result as JSON and nothing else.
    itf
        Write the violating run to this file, in the Informal Trace Format.
    log
        The log that a walk writes.
    reports
        Reports for other tools.
    """
    limits = Budget() if budget is None else Budget.parse(budget)
    campaign = WalkOptions(
        seed=seed_number(seed), traces=traces, depth=depth, run=run, pct=pct, pct_sort=pct_sort, swarm=swarm
    )
    system = remove_rules(compile_model(load_model(model), variants=variant), without)
    if log.log is not None:
        others = {
            "--property": bool(property),
            "--engine": engine != "auto",
            "--cores": cores is not None,
            "--expect": expect != "holds",
            "--budget": budget is not None,
            "--itf": itf is not None,
            "--json": json,
            "--no-shrink": not shrink,
            "--no-swarm": not swarm,
            "--traces": traces != PLAIN.traces,
            "--depth": depth != PLAIN.depth,
            "--run": run is not None,
            "--pct": pct is not None,
        }
        for option, given in (others | reports.given).items():
            if given:
                raise UsageError(f"{option}: --log writes one run, and looks for no violation; leave it out")
        log.write(system, walked_scope(system, scope), campaign.seed)
        return HOLDS
    log.check_alone()
    # What would fail after many runs fails before them.
    reports.prepare(json=json)
    if itf is not None:
        check_writable(itf)
    with Ticker() as ticker:
        result = walk_runs(
            system,
            walked_scope(system, scope),
            campaign,
            properties=property or None,
            engine=engine,
            cores=cores,
            budget=limits,
            progress=partial(_tick, ticker),
            target=model,
            shrunk=shrink,
        )
    _report(result, json)
    if itf is not None:
        if result.findings:
            write(itf, itf_text(result.findings[0]))
        else:
            note(f"holdfast: nothing is violated, so {itf} is not written")
    reports.give([search_record(system, result, "walk", expected=expect == "violated")])
    return _exit_code(result, expect, json)


def seed_number(text: str) -> int:
    """The number that ``--seed`` says; raises UsageError for what is none."""
    try:
        return int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        raise UsageError(f"--seed {text}: write a number, or hexadecimal such as 0x5eed") from None


def walked_scope(system: System, name: str | None) -> Scope:
    """The scope of that name, or the usual one; raises UsageError where there is none."""
    if name is not None:
        return system.scope(name)
    usual = next((system.scopes[each] for each in USUAL if each in system.scopes), None)
    if usual is None:
        if not system.scopes:
            raise UsageError(f"{system.name} declares no scope; add tiny = Scope({{...}}) to the class")
        raise UsageError(f"{system.name} has no scope default or tiny; choose --scope {' or '.join(system.scopes)}")
    return usual


def _tick(ticker: Ticker, now: WalkProgress) -> None:
    if now.compiling:
        ticker.show("compiling the kernel, which happens once")
        return
    parts = [
        f"{now.runs:,} of {now.traces:,} runs",
        f"{now.runs / now.seconds:,.0f} a second",
        f"{now.steps / now.seconds:,.0f} steps a second",
        f"{now.seconds:.0f} s",
    ]
    parts += [] if now.left is None else [f"{now.left:.0f} s left"]
    ticker.show(", ".join(parts))


def _report(result: WalkResult, as_json: bool) -> None:
    """Print a result. What depends on the machine stays out of the text."""
    if as_json:
        say(json_format.dumps(walk_to_json(result)))
        return
    say(f"{render_walk(result)}\n")
    timing = result.timing
    note(
        f"{result.scope}: {count(result.figures.runs, 'run')} in {timing.seconds:.1f} s, "
        f"{timing.runs_per_second:,.0f} a second, {timing.steps_per_second:,.0f} steps a second, "
        f"{timing.memory_bytes / 1e6:,.0f} MB"
    )


def _exit_code(result: WalkResult, expect: Expectation, as_json: bool) -> int:
    """That of the result or, where a violation was wanted, whether there is one."""
    if expect == "holds" or result.exit_code == OUT_OF_BUDGET:
        return result.exit_code
    if result.exit_code in (VIOLATED, DEADLOCK):
        return HOLDS
    (note if as_json else say)("A violation was expected, and nothing is violated.")
    return UNSHOWN
