"""``python -m benchmarks``: measure, and print the goals that the project has set itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.console import Console

from benchmarks.engines import DEPTH
from benchmarks.gathering import LONG, PARTS, QUICK, Effort, Part, gather
from benchmarks.history import release_file, releases, show_history, store
from benchmarks.machine import load, machine
from benchmarks.report import show, to_json
from holdfast.cli.output import check_writable, write
from holdfast.ir.errors import UsageError

RESULTS = Path(__file__).with_name("results") / "latest.json"
HISTORY = Path(__file__).with_name("history")
"""The folder with the results of releases."""

app = App(name="benchmarks", help_format="plaintext")


@app.default
def measure(
    *,
    out: Annotated[Path | None, Parameter(help="where to write the results as JSON (benchmarks/results)")] = None,
    repeat: Annotated[int, Parameter(help="how often to measure; the fastest counts", validator=Number(gte=1))] = 3,
    whole: Annotated[bool, Parameter(help="also measure what takes long", negative=())] = False,
    only: Annotated[tuple[Part, ...], Parameter(help="measure this part only; may be repeated", negative=())] = (),
    quick: Annotated[bool, Parameter(help="small scopes once: does everything run?", negative=())] = False,
    release: Annotated[str | None, Parameter(help="keep the figures as the results of this release")] = None,
) -> None:
    """Measure Holdfast against other checkers, against C and against itself, and print every goal.

    Without --whole, `mutate`, `verify` and `make test` are left out. Ends with 1 if a measurement failed, or if the
    checkers disagree on the states, the steps or the depth; a missed goal is no error, and neither is a program that is
    not installed.
    """
    if quick and (whole or only or release is not None):
        raise UsageError("--quick measures a fixed part; leave out --whole, --only and --release, or --quick")
    if whole and only:
        raise UsageError("--whole measures every part; leave out --only, or --whole")
    kept = None if release is None else release_file(release, HISTORY)
    if out is None:
        RESULTS.parent.mkdir(exist_ok=True)
    results = out or RESULTS
    check_writable(results)
    parts = only or (QUICK if quick else PARTS.keys() - (frozenset() if whole else LONG))
    progress = Console(stderr=True)
    effort = Effort(1 if quick else repeat, quick, lambda text: progress.print(text, style="dim"))
    facts = machine()
    measured = gather(parts, effort)
    after = load()
    show(measured, facts, after, effort, _console())
    if measured.interrupted:
        progress.print("benchmarks: interrupted; these are the figures until then, and none is stored")
        sys.exit(130)
    write(results, json.dumps(to_json(measured, facts, after), indent=2) + "\n")
    if kept is not None:
        store(kept, measured, facts, after)
    if not measured.complete:
        sys.exit(1)


@app.command(name="history")
def show_releases() -> None:
    """Print the results of all releases side by side."""
    show_history(releases(HISTORY), _console())


@app.command
def campaign(
    *,
    traces: Annotated[int | None, Parameter(help="how many runs; 10,000,000, or 1,000 of clusters")] = None,
    cores: Annotated[int, Parameter(help="how many cores Spark may use")] = 2,
    clusters: Annotated[bool, Parameter(help="simulate clusters instead of a model", negative=())] = False,
) -> None:
    """Measure a campaign on Spark against a bare loop over its runs. It wants a machine that does nothing else."""
    # Imported here: the other benchmarks do not need Spark.
    from benchmarks.campaigns import campaigned, clusters_campaigned, lines  # noqa: PLC0415

    load = machine().load
    if clusters:
        found = clusters_campaigned(1_000 if traces is None else traces, cores)
    else:
        found = campaigned(10_000_000 if traces is None else traces, cores, DEPTH)
    for line in (f"load before: {load}", *lines(found)):
        Console().print(line, highlight=False, soft_wrap=True)


@app.command(name="search")
def search_on_spark(
    *,
    cores: Annotated[int, Parameter(help="how many cores Spark may use")] = 2,
    quick: Annotated[bool, Parameter(help="a small scope: does everything run?", negative=())] = False,
) -> None:
    """Measure exhaustive search on Spark, from one to 26 million states. It wants a machine that does nothing else."""
    from benchmarks.searches import lines, searched  # noqa: PLC0415 - as above

    Console().print(f"load before: {machine().load}", highlight=False)
    for start, found in searched(cores, quick):
        for line in lines(start, found, cores):
            Console().print(line, highlight=False, soft_wrap=True)


@app.command
def controller(
    *,
    quick: Annotated[bool, Parameter(help="few streams and moves: does everything run?", negative=())] = False,
) -> None:
    """Measure the controller of the reference implementation on one core: operations, snapshots, memory."""
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.controller import lines, measured  # noqa: PLC0415

    found = measured(1_000, 400, 1) if quick else measured()
    for line in (f"load before: {machine().load}", *lines(found)):
        Console().print(line, highlight=False, soft_wrap=True)


@app.command
def simulate(
    *,
    quick: Annotated[bool, Parameter(help="few short runs: does everything run?", negative=())] = False,
) -> None:
    """Measure simulated clusters on one core: node steps per second, the time of a run, the share of the oracles."""
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.simulate import lines, measured  # noqa: PLC0415

    found = measured(2, 50, 1) if quick else measured()
    for line in (f"load before: {machine().load}", *lines(found)):
        Console().print(line, highlight=False, soft_wrap=True)


@app.command
def balancer(
    *,
    quick: Annotated[bool, Parameter(help="a small cluster: does everything run?", negative=())] = False,
) -> None:
    """Measure the planner of the balancer on one core: the seconds of a round, and the ratio to the literal planner."""
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.balancer import lines, measured  # noqa: PLC0415

    Console().print(f"load before: {machine().load}", highlight=False)
    for found in measured(10, 500, (5, 100), 1) if quick else measured():
        for line in lines(found):
            Console().print(line, highlight=False, soft_wrap=True)


@app.command
def cluster(
    *,
    quick: Annotated[bool, Parameter(help="a few seconds: does everything run?", negative=())] = False,
) -> None:
    """Measure a cluster of processes on moto's server: records and calls of the store per second, and moves."""
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.cluster import lines, measured  # noqa: PLC0415

    Console().print(f"load before: {machine().load}", highlight=False)
    for version in ("V6", "legacy"):
        for line in lines(measured(version, 5 if quick else 30)):
            Console().print(line, highlight=False, soft_wrap=True)


@app.command
def conform(
    *,
    events: Annotated[int, Parameter(help="how many events the logs have")] = 100_000,
    most: Annotated[int | None, Parameter(help="events of the largest log whose memory is measured")] = None,
    quick: Annotated[bool, Parameter(help="few events: does everything run?", negative=())] = False,
) -> None:
    """Measure the judge of logs on one core: events per second, and memory."""
    # Imported here: the other benchmarks do not need conformance.
    from benchmarks.conform import lines, measured  # noqa: PLC0415

    found = measured(2_000, 1) if quick else measured(events, most=most)
    for line in (f"load before: {machine().load}", *lines(found)):
        Console().print(line, highlight=False, soft_wrap=True)


@app.command
def logs(
    *,
    count: Annotated[int, Parameter(help="how many logs", validator=Number(gte=12))] = 200,
    recorded: Annotated[int, Parameter(help="how many to record; the others are copies", validator=Number(gte=1))] = 20,
    operations: Annotated[int, Parameter(help="operations of the clients in a log", validator=Number(gte=50))] = 300,
    write_to: Annotated[Path | None, Parameter(help="only write the logs, into this folder")] = None,
    quick: Annotated[bool, Parameter(help="few short logs: does everything run?", negative=())] = False,
) -> None:
    """Measure a campaign over logs on one core: events per second, over logs of which three are damaged and three
    impossible.
    """
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.logs import lines, measured, write_logs  # noqa: PLC0415

    if write_to is not None:
        for name, kind in sorted(write_logs(write_to, count, recorded, operations).wrong.items()):
            Console().print(f"{name} {kind}", highlight=False)
        return
    found = measured(12, 2, 50) if quick else measured(count, recorded, operations)
    for line in (f"load before: {machine().load}", *lines(found)):
        Console().print(line, highlight=False, soft_wrap=True)


@app.command
def guided(
    *,
    seeds: Annotated[int, Parameter(help="how many seeds", validator=Number(gte=1))] = 10,
    first: Annotated[int, Parameter(help="the first seed", validator=Number(gte=0))] = 1,
    traces: Annotated[int, Parameter(help="how many runs each campaign has")] = 192,
    quick: Annotated[bool, Parameter(help="one seed with short runs: does everything run?", negative=())] = False,
) -> None:
    """Compare guided campaigns of clusters with blind ones: what each reaches in the same number of runs."""
    # Imported here: the other benchmarks do not need the implementation.
    from benchmarks.guides import LEAST, lines, measured, sums  # noqa: PLC0415

    traces = LEAST if quick else traces
    if traces < LEAST:
        raise UsageError(f"--traces {traces}: choose at least {LEAST}; a campaign with fewer runs has one blind round")
    found = []
    for each in measured(range(first, first + (1 if quick else seeds)), traces, 40 if quick else 300):
        found.append(each)
        for line in lines(each):
            Console().print(line, highlight=False, soft_wrap=True)
    for line in sums(found):
        Console().print(line, highlight=False, soft_wrap=True)


def _console() -> Console:
    """Standard output; in a file or a pipe, lines are wide enough for the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def main(arguments: Sequence[str]) -> None:
    """Run the command with its arguments.

    An error is printed as one line; it ends with 2 for wrong use, with 1 otherwise, and with 130 after Ctrl-C.
    """
    try:
        app(arguments)
    except (UsageError, RuntimeError) as error:
        Console(stderr=True).print(f"benchmarks: {error}", markup=False, highlight=False)
        sys.exit(2 if isinstance(error, UsageError) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
