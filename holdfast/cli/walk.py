"""``holdfast walk``: is a bad state met on one of many random runs?"""

from __future__ import annotations

import json as json_format
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from holdfast.check.budget import Budget
from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED
from holdfast.check.search.engine import Engine
from holdfast.check.walk.engine import WalkProgress
from holdfast.check.walk.engine import walk as walk_runs
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.result import WalkResult, render_walk, walk_to_json
from holdfast.cli.options import RUNS, Cores, Expectation, Expected, Names, Switch
from holdfast.cli.output import Ticker, note, say
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.run_files import NO_FILES, RunFiles
from holdfast.cli.walk_log import NO_LOG, LogOptions
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import UNSEARCHED, scope_of_runs, usual_scope
from holdfast.ir.system import Scope
from holdfast.ir.variants import load_variant
from holdfast.records.search import search_record
from holdfast.trace.text import count

PLAIN = WalkOptions()
"""The options of random runs that apply if the user gives none."""


def walk(
    model: str,
    /,
    *,
    runs: Annotated[int | None, RUNS] = None,
    depth: int | None = None,
    seed: str = "0",
    run: int | None = None,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    property: Names = (),  # noqa: A002 - the option's name
    pct: int | None = None,
    pct_sort: str | None = None,
    swarm: bool = True,
    expect: Expected = "holds",
    budget: str | None = None,
    engine: Annotated[Engine, Parameter(show_choices=False)] = "auto",
    cores: Cores = None,
    shrink: bool = True,
    json: Switch = False,
    files: RunFiles = NO_FILES,
    log: LogOptions = NO_LOG,
    reports: Reports = NO_REPORTS,
) -> int:
    """Make many random runs of a model, and show the first that violates a property, shrunk.

    The same seed gives the same runs, on any machine and any number of cores. Each run leaves out some actions, and
    draws the others by its own random weights. Finding nothing proves nothing; `holdfast check` searches exhaustively.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    runs
        How many runs to make; otherwise 100000, or 10000 in a scope for runs, where each has more steps.
    depth
        How many steps a run may take; otherwise what the scope says, or 50.
    seed
        The seed of all runs: a number, or hexadecimal such as 0x5eed (0).
    run
        Make only the run with this number.
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
        the priorities change: for bugs that need D steps of different processes in one order.
    pct_sort
        The sort whose elements are the processes; otherwise the sort of which most actions have a parameter.
    swarm
        Let each run leave out some actions and draw the others by its own random weights (the default), or let all
        runs draw from all actions with equal weights.
    expect
        holds or violated; with violated the exit code is 0 if a property is violated, and 10 if none is.
    budget
        Stop at a limit of time or memory: 30s,2GB.
    engine
        The engine that makes the runs: auto, interpreter or kernel. They give the same answer; the kernel is faster.
    cores
        How many cores the kernel may use; otherwise all.
    shrink
        Shrink the violating run (the default), or show it as it was drawn.
    json
        Print the result as JSON and nothing else.
    files
        Files with the violating run.
    log
        The log that a random run writes.
    reports
        Reports for other tools.
    """
    limits = Budget() if budget is None else Budget.parse(budget)
    number = seed_number(seed)
    system = load_variant(model, variant, without)
    if log.log is not None:
        others = {
            "--property": bool(property),
            "--engine": engine != "auto",
            "--cores": cores is not None,
            "--expect": expect != "holds",
            "--budget": budget is not None,
            "--itf": files.itf is not None,
            "--html": files.html is not None,
            "--json": json,
            "--no-shrink": not shrink,
            "--no-swarm": not swarm,
            "--runs": runs is not None,
            "--depth": depth is not None,
            "--run": run is not None,
            "--pct": pct is not None,
        }
        for option, given in (others | reports.given).items():
            if given:
                raise UsageError(f"{option}: --log writes one run, and looks for no violation; leave it out")
        log.write(system, usual_scope(system, scope, UNSEARCHED), number)
        return HOLDS
    log.check_alone()
    chosen = scope_of_runs(system, scope)
    options = WalkOptions(
        seed=number,
        traces=number_of_runs(chosen) if runs is None else runs,
        depth=depth_of_runs(chosen, depth),
        run=run,
        pct=pct,
        pct_sort=pct_sort,
        swarm=swarm,
    )
    # Check options and files now, so that a mistake shows before the runs and not after them.
    reports.prepare(json=json)
    files.prepare()
    with Ticker() as ticker:
        result = walk_runs(
            system,
            chosen,
            options,
            properties=property or None,
            engine=engine,
            cores=cores,
            budget=limits,
            progress=partial(_tick, ticker),
            target=model,
            shrunk=shrink,
        )
    _report(result, json)
    files.give(next(iter(result.findings), None))
    reports.give([search_record(system, result, "walk", expected=expect == "violated")])
    return _exit_code(result, expect, json)


LONGEST_SEED = 100
"""Characters of the longest ``--seed``."""


def number_of_runs(scope: Scope) -> int:
    """How many runs to make if the user does not say. In a scope for runs they take as long with a tenth."""
    return PLAIN.traces if scope.depth is None else PLAIN.traces // 10


def depth_of_runs(scope: Scope, given: int | None) -> int:
    """The most steps of a run: the number that is given, else what the scope says, else 50."""
    return next(depth for depth in (given, scope.depth, PLAIN.depth) if depth is not None)


def seed_number(text: str) -> int:
    """The number in ``--seed``, decimal or hexadecimal. Raises UsageError if the text is no number."""
    try:
        if len(text) > LONGEST_SEED:
            raise UsageError(f"--seed has {len(text):,} characters; write at most {LONGEST_SEED}")
        return int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        raise UsageError(f"--seed {text}: it is no number; write one, or hexadecimal such as 0x5eed") from None


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
    """Print a result. The text holds nothing that depends on the machine; times go to standard error."""
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
    """The exit code of the result. With ``--expect violated``: 0 if a property is violated, 10 if none is."""
    if expect == "holds" or result.exit_code == OUT_OF_BUDGET:
        return result.exit_code
    if result.exit_code in (VIOLATED, DEADLOCK):
        return HOLDS
    (note if as_json else say)("A violation was expected, and nothing is violated.")
    return UNSHOWN
