"""``holdfast check``: is a bad state reachable within these bounds?"""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from holdfast.check.budget import SEARCHING, Budget, Progress
from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED, Result, to_json
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.cli.external_engine import NOWHERE, SPARK, ExternalEngine
from holdfast.cli.legend import WithRules, refuse_json, say_legend
from holdfast.cli.options import GRAVITY, Cores, Expectation, Expected, Names, Switch
from holdfast.cli.output import Ticker, note, say
from holdfast.cli.output_files import CHECKPOINT, AnyFile, GraphFile
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.run_files import NO_FILES, RunFiles
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import usual_scopes
from holdfast.ir.system import Scope, System
from holdfast.ir.variants import load_variant
from holdfast.records.search import search_record

Engines = Literal["auto", "interpreter", "kernel", "spark"]


def check(
    model: str,
    /,
    *,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    property: Names = (),  # noqa: A002 - the option's name
    expect: Expected = "holds",
    keep_going: Switch = False,
    symmetry: bool = True,
    budget: str | None = None,
    engine: Annotated[Engines, Parameter(show_choices=False)] = "auto",
    cores: Cores = None,
    checkpoint: AnyFile = None,
    resume: str | None = None,
    json: Switch = False,
    rules: WithRules = False,
    graph: GraphFile = None,
    files: RunFiles = NO_FILES,
    elsewhere: ExternalEngine = NOWHERE,
    reports: Reports = NO_REPORTS,
) -> int:
    """Search every state that a model can reach, and show the shortest run to a violation.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    scope
        The scope to search; otherwise tiny and then default.
    variant
        Choose a named variant of the model. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    property
        Check this property only, by its name or rule id. May be repeated.
    expect
        holds or violated; with violated the exit code is 0 if a property is violated, and 10 if none is.
    keep_going
        Search on after a violation, and show the shortest run to each violated property.
    symmetry
        Treat states that differ only in the names of interchangeable elements as one state (the default), or do not.
    budget
        Stop at a limit of time, states or memory: 30s,1e6states,2GB.
    engine
        The engine that searches: auto, interpreter, kernel or spark. They give the same answer, and differ in speed
        and in how many states they can hold.
    cores
        How many cores the kernel may use; otherwise all.
    checkpoint
        Save the search to this file as it goes on (spark: folder, s3://BUCKET/PREFIX); needs --scope.
    resume
        Continue the search that --checkpoint saved; needs --scope, and the other options of the command that saved it.
    json
        Print the result as JSON, one line for each scope, and nothing else.
    rules
        Below the result, explain each rule id that it mentions.
    graph
        Write the state graph of the first scope to this file: .dot or .graphml.
    files
        Files with the first violating run.
    elsewhere
        Where Spark runs.
    reports
        Reports for other tools.
    """
    refuse_json(rules=rules, json=json)
    limits = Budget() if budget is None else Budget.parse(budget)
    system = load_variant(model, variant, without)
    scopes = usual_scopes(system, scope)
    if scope is None and (checkpoint is not None or resume is not None):
        raise UsageError("a checkpoint belongs to one scope; name it with --scope")
    # Check options and files now, so that a mistake shows before the long search and not after it.
    reports.prepare(json=json)
    if engine == SPARK:
        _refuse_unfit(cores, graph)
    else:
        elsewhere.refuse(engine)
    if checkpoint is not None and engine != SPARK:
        CHECKPOINT.check(Path(checkpoint))
    files.prepare()
    if graph is not None:
        _draw(system, scopes[0], graph)
    results: list[Result] = []
    with _started(engine, cores, checkpoint, resume, elsewhere) as explorer:
        for each in scopes:
            with Ticker() as ticker:
                result = search(
                    system,
                    each,
                    properties=property or None,
                    symmetry=symmetry,
                    keep_going=keep_going,
                    budget=limits,
                    progress=partial(_tick, ticker),
                    target=model,
                    **explorer,
                )
            results.append(result)
            _report(result, json)
            if result.exit_code == OUT_OF_BUDGET or (result.findings and not keep_going):
                # Larger scopes cannot answer better: the run found is shorter to read, and a limit stays a limit.
                if len(results) < len(scopes) and not json:
                    say(f"Not searched: scope {', '.join(left.name for left in scopes[len(results) :])}.")
                break
    if rules:
        say_legend(map(render_result, results), system)
    files.give(next((trace for result in results for trace in result.findings), None))
    reports.give([search_record(system, result, "check", expected=expect == "violated") for result in results])
    return _exit_code(results, expect, json)


def _refuse_unfit(cores: int | None, graph: Path | None) -> None:
    """Raise UsageError for options that ``--engine spark`` does not support."""
    if cores is not None:
        raise UsageError(f"--cores is for one machine; with --engine spark write --master local[{cores}]")
    if graph is not None:
        raise UsageError("--graph draws what this machine explores; leave --engine spark out")


@contextmanager
def _started(
    engine: Engines, cores: int | None, checkpoint: str | None, resume: str | None, elsewhere: ExternalEngine
) -> Iterator[dict[str, Any]]:
    """The arguments of ``search`` that choose the engine. With Spark, the session lasts as long as the context."""
    if engine != SPARK:
        kept = {"checkpoint": checkpoint, "resume_from": resume}
        paths = {name: None if path is None else Path(path) for name, path in kept.items()}
        yield {"engine": engine, "cores": cores, **paths}
        return
    with ExitStack() as stack:
        with Ticker() as ticker:
            ticker.show("starting Spark")
            explorer = stack.enter_context(elsewhere.engine(checkpoint, resume))
        yield {"explorer": explorer}


def _draw(system: System, scope: Scope, path: Path) -> None:
    # Importing networkx takes longer than all other imports together, and few commands draw a graph.
    from holdfast.check.search.state_graph_file import check_suffix, export_graph  # noqa: PLC0415

    check_suffix(path)
    export_graph(system, scope, path)


def _tick(ticker: Ticker, now: Progress) -> None:
    if now.stage != SEARCHING:
        ticker.show(f"{now.stage}, {now.seconds:.0f} s")
        return
    parts = [
        f"depth {now.depth}",
        f"{now.distinct:,} states",
        f"{now.rate:,.0f} a second",
        f"{now.queue:,} waiting",
        f"{now.memory_bytes / 1e6:,.0f} MB",
        f"{now.seconds:.0f} s",
    ]
    left = now.left
    parts += [] if left.seconds is None else [f"{left.seconds:.0f} s left"]
    parts += [] if left.states is None else [f"{left.states:,} states left"]
    parts += [] if left.memory_bytes is None else [f"{left.memory_bytes / 1e6:,.0f} MB left"]
    ticker.show(", ".join(parts))


def _report(result: Result, as_json: bool) -> None:
    """Print a result. The text of a violation holds nothing that depends on the machine or on symmetry."""
    if as_json:
        say(json_format.dumps(to_json(result)))
        return
    say(f"{render_result(result)}\n")
    timing = result.timing
    note(
        f"{result.scope}: {result.figures.distinct:,} states in {timing.seconds:.1f} s, "
        f"{timing.states_per_second:,.0f} a second, {timing.memory_bytes / 1e6:,.0f} MB"
    )


def _exit_code(results: list[Result], expect: Expectation, as_json: bool) -> int:
    """The gravest exit code of the results. With ``--expect violated``: 0 if a property is violated, 10 if none is."""
    code = min((result.exit_code for result in results), key=GRAVITY.index)
    if expect == "holds" or code == OUT_OF_BUDGET:
        return code
    if code in (VIOLATED, DEADLOCK):
        return HOLDS
    (note if as_json else say)("A violation was expected, and nothing is violated.")
    return UNSHOWN
