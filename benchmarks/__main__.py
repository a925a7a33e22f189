"""``python -m benchmarks``: measure, and print the ratios that the project promises."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import App, Parameter
from rich.console import Console

from benchmarks import engines, tlc
from benchmarks.limits import limits
from benchmarks.machine import machine
from benchmarks.report import Measurements, ScopeFigures, show, to_json
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System

RESULTS = Path(__file__).with_name("results") / "latest.json"
INTERPRETED = 400_000
"""The most states that the interpreter explores; its rate is measured on them."""
DEPTH = 50
"""The length of random runs."""

app = App(name="benchmarks", help_format="plaintext")

T = TypeVar("T")


@app.default
def measure(
    *,
    out: Annotated[Path, Parameter(help="where to write the results as JSON")] = RESULTS,
    repeat: Annotated[int, Parameter(help="how often to measure; the fastest counts")] = 3,
    quick: Annotated[bool, Parameter(help="the small scope once: does everything run?", negative=())] = False,
) -> None:
    """Measure Holdfast against TLC and against itself, all in one run, and print the ratios.

    Ends with 1 if the checkers disagree on the states, the steps or the depth; a missed goal is no error.
    """
    repeat = 1 if quick else repeat
    console = Console(stderr=True)
    facts, model = machine(), engines.system()
    scopes = {
        name: _scoped(model, name, repeat, lambda text: console.print(text, style="dim"))
        for name in (("small",) if quick else ("one_word", "two_words"))
    }
    console.print("random runs, starts, and what the machine allows", style="dim")
    simulated = [_simulate(model, quick) for _ in range(repeat)]
    traces = 20_000 if quick else 1_000_000
    walked = [engines.walked(model, "one_word", traces=traces, depth=DEPTH) for _ in range(repeat)]
    least = ["opened_has_owner"]
    drawn = [engines.walked(model, "one_word", traces=traces, depth=DEPTH, properties=least) for _ in range(repeat)]
    starts = [engines.second_start() for _ in range(repeat)]
    lived = [engines.lived("tiny" if quick else "default") for _ in range(repeat)]
    measured = Measurements(
        machine=facts,
        scopes=scopes,
        limits=limits(repeat),
        simulated=min(simulated, key=lambda found: found.seconds / found.steps),
        walked=max(walked),
        drawn=max(drawn),
        first_start=min(first for first, _ in starts),
        second_start=min(second for _, second in starts),
        lived=min(lived, key=lambda found: found.times),
    )
    show(measured, Console())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(to_json(measured), indent=2) + "\n", encoding="utf-8")


@app.command
def campaign(
    *,
    traces: Annotated[int, Parameter(help="how many runs")] = 10_000_000,
    cores: Annotated[int, Parameter(help="how many cores Spark may use")] = 2,
) -> None:
    """Measure a campaign on Spark against the bare kernel. It wants a machine that does nothing else."""
    # Imported here: the other benchmarks do not need Spark.
    from benchmarks.campaigns import campaigned, lines  # noqa: PLC0415

    for line in (f"load before: {machine().load}", *lines(campaigned(traces, cores, DEPTH))):
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


def _simulate(model: System, quick: bool) -> tlc.SimulationSpeed:
    return tlc.simulate(model.scopes["one_word"], runs=200 if quick else 10_000, depth=DEPTH)


def _scoped(model: System, name: str, repeat: int, say: Callable[[str], None]) -> ScopeFigures:
    """Measure one scope. The engines take turns, so that other load on the machine affects them equally."""
    scope = model.scopes[name]
    engines.explore(model, name, engine="kernel")  # Compiles the kernel, so that compiling is not measured.
    found: list[tuple[ScopeSearch, ...]] = []
    for turn in range(repeat):
        say(f"{name}: turn {turn + 1} of {repeat}")
        found.append(
            (
                tlc.explore(scope),
                engines.explore(model, name, engine="kernel", cores=1),
                engines.explore(model, name, engine="kernel", cores=2),
            )
        )
        _require_equal(name, *found[-1])
    profile = engines.profile(model, name)
    reached = found[0][0].distinct
    interpreted = engines.explore(
        model, name, engine="interpreter", states=INTERPRETED if reached > INTERPRETED else None
    )
    by_tlc, one, two = (min(turns, key=lambda explored: explored.seconds) for turns in zip(*found, strict=True))
    return ScopeFigures(by_tlc, one, two, interpreted, profile)


def _require_equal(name: str, *found: ScopeSearch) -> None:
    """Raise RuntimeError if the checkers have not done the same work: then their times are not comparable."""
    answers = {(explored.distinct, explored.generated, explored.depth) for explored in found}
    if len(answers) > 1:
        raise RuntimeError(f"scope {name}: the checkers disagree on (states, steps, depth): {sorted(answers)}")


def main() -> None:
    """Run the command. An error is printed as one line; it ends with 2 for wrong use, and with 1 otherwise."""
    try:
        app()
    except (UsageError, RuntimeError) as error:
        Console(stderr=True).print(f"benchmarks: {error}", markup=False, highlight=False)
        sys.exit(2 if isinstance(error, UsageError) else 1)


if __name__ == "__main__":
    main()
