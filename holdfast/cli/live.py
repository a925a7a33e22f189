"""``holdfast live``: does every liveness property hold under the declared fairness?"""

from __future__ import annotations

import json as json_format
from functools import partial

from holdfast.check.budget import SEARCHING, Budget, Progress
from holdfast.check.live.result import LiveResult, live_to_json, render_live
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, STARVED, UNSHOWN
from holdfast.cli.options import Cores, Names, Switch
from holdfast.cli.output import Ticker, note, say
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.run_files import NO_FILES, RunFiles
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import live_scopes, usual_scopes
from holdfast.ir.system import Scope, System
from holdfast.ir.variants import load_variant
from holdfast.records.live import live_record

GRAVITY = (STARVED, UNSHOWN, OUT_OF_BUDGET, HOLDS)
"""Exit codes, the gravest first. With several answers, the gravest code is the command's."""


def live(
    *model: str,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    property: Names = (),  # noqa: A002 - the option's name
    cores: Cores = None,
    budget: str | None = None,
    json: Switch = False,
    files: RunFiles = NO_FILES,
    reports: Reports = NO_REPORTS,
) -> int:
    """Decide liveness: does every liveness property hold? If not, show an infinite run that violates it (a lasso).

    Every @leads_to, @always_eventually and @eventually_always is decided for each value of its parameters, under the
    fairness that actions declare. Ends 0 if all hold, 13 if one is violated, and 20 if there is no answer because a
    bound of the scope cut a step of a fair action.

    Parameters
    ----------
    model
        Names that `holdfast models` lists, or files: path/to/model.py, or path/to/model.py:Class.
    scope
        The scope to search; otherwise the one named live or, if there is none, tiny and then default.
    variant
        Choose a named variant of the models. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    property
        Decide this property only, by its name or rule id. May be repeated.
    cores
        How many cores decide properties of a large graph; otherwise all.
    budget
        Stop at a limit of time, states or memory: 30s,1e6states,2GB.
    json
        Print the result as JSON, one line for each model and scope, and nothing else.
    files
        Files with the first violating run.
    reports
        Reports for other tools.
    """
    from holdfast.check.live.engine import liveness_properties  # noqa: PLC0415 - SciPy takes a while to import

    if not model:
        raise UsageError("no model is named; give one or several, such as `holdfast live reassignment`")
    limits = Budget() if budget is None else Budget.parse(budget)
    systems = {name: load_variant(name, variant, without) for name in model}
    # Check properties, scopes and files of all models now, so that a mistake shows before the long search.
    for system in systems.values():
        liveness_properties(system, property or None)
        _scopes(system, scope)
    reports.prepare(json=json)
    files.prepare()
    answers = [
        (system, result)
        for name, system in systems.items()
        for result in _decide(name, system, scope, property, limits, cores, as_json=json)
    ]
    results = [result for _, result in answers]
    files.give(next((trace for result in results for trace in result.findings), None))
    reports.give([live_record(system, result, property) for system, result in answers])
    return min((result.exit_code for result in results), key=GRAVITY.index)


def _decide(
    name: str, system: System, scope: str | None, properties: Names, limits: Budget, cores: int | None, *, as_json: bool
) -> list[LiveResult]:
    """The answers for one model, scope by scope, until a scope has a violation or a limit ends the search."""
    from holdfast.check.live.engine import live as decide  # noqa: PLC0415 - as above

    results: list[LiveResult] = []
    scopes = _scopes(system, scope)
    for each in scopes:
        with Ticker() as ticker:
            result = decide(
                system,
                each,
                properties=properties or None,
                budget=limits,
                progress=partial(_tick, ticker),
                target=name,
                cores=cores,
            )
        results.append(result)
        _report(result, as_json)
        if result.findings or result.ended_by is not None:
            if len(results) < len(scopes) and not as_json:
                say(f"Not looked at: scope {', '.join(left.name for left in scopes[len(results) :])}.\n")
            break
    return results


def _scopes(system: System, name: str | None) -> list[Scope]:
    """The scope of that name, or the usual ones; raises UsageError if there is none."""
    found = live_scopes(system) if name is None else []
    return found or usual_scopes(system, name)


def _tick(ticker: Ticker, now: Progress) -> None:
    if now.stage != SEARCHING:
        ticker.show(f"{now.stage}, {now.seconds:.0f} s")
        return
    ticker.show(
        f"depth {now.depth}, {now.distinct:,} states, {now.rate:,.0f} a second, {now.generated:,} steps, "
        f"{now.memory_bytes / 1e6:,.0f} MB, {now.seconds:.0f} s"
    )


def _report(result: LiveResult, as_json: bool) -> None:
    """Print a result; its times go to standard error."""
    if as_json:
        say(json_format.dumps(live_to_json(result)))
        return
    say(f"{render_live(result)}\n")
    timing, states = result.timing, result.figures.states
    note(
        f"{result.scope}: {states:,} states in {timing.seconds:.1f} s, of which {timing.drawing:.1f} s for the graph, "
        f"{states / max(timing.seconds, 1e-3):,.0f} a second, {timing.memory_bytes / 1e6:,.0f} MB"
    )
