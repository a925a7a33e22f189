"""The command ``holdfast scenario run``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.cli.options import Names, Switch
from holdfast.cli.output import note, say, write
from holdfast.cli.output_files import PageFile
from holdfast.cli.reporting import NO_REPORTS, Reports, renderer
from holdfast.ir.errors import Place, UsageError
from holdfast.records.record import Case, Moment, Record, fingerprint
from impl.cli.scenario_page import scenario_runs
from impl.rules import guards
from impl.rules import without as without_rules
from impl.scenario.failovers import run_with_failovers
from impl.scenario.language import Scenario, read_file
from impl.scenario.reading import MalformedError
from impl.scenario.replay import check_replay
from impl.scenario.report import failure_lines, said, summary, text, title, to_json, why
from impl.scenario.runner import ScenarioVerdict
from impl.scenario.runner import run as run_scenario
from impl.scenario.suggest import unknown_id
from impl.scenario.switches import ALWAYS, OF_BROKERS, REFUSED, RUN, switches

PASSED, FAILED, INTERRUPTED = 0, 12, 20


def run(
    *files: str,
    replay: Switch = False,
    failover_at: str | None = None,
    without: Names = (),
    switch: Names = (),
    html: PageFile = None,
    json: Switch = False,
    reports: Reports = NO_REPORTS,
) -> int:
    """Run scenario files, or all files of a folder, and print for each scenario whether its results are as expected.

    Parameters
    ----------
    files
        Scenario files, or folders; all *.yaml and *.yml files of a folder are run.
    replay
        After each step, rebuild the metadata image from the log and from a snapshot, and compare both with the image.
    failover_at
        Run each scenario again with a change of controller before this step: a number, or all for each step in turn.
    without
        Switch off the rule of the implementation with this label. May be repeated.
    switch
        Build in a suspicious spot as AutoMQ has it, such as AM-07. May be repeated.
    html
        Write the answer to this file as a page: what failed, and the steps of each scenario that failed.
    json
        Print one line of JSON for each scenario.
    reports
        Reports for other tools.
    """
    scenarios = _read(files)
    at = _failover_steps(failover_at, scenarios)
    if replay and failover_at is not None:
        raise UsageError("--replay and --failover-at are two kinds of runs; give one of them")
    as_built = _switches(switch)
    _check_labels(without)
    reports.prepare(json=json)
    render = None if html is None else renderer("system")
    verdicts: list[ScenarioVerdict] = []
    # Ctrl-C ends the present scenario without a verdict. The verdicts of earlier scenarios stay.
    with without_rules(*without), suppress(KeyboardInterrupt):
        for scenario in scenarios:
            if failover_at is not None:
                verdict = run_with_failovers(scenario, as_built, at=at)
            else:
                verdict = run_scenario(scenario, as_built, after=check_replay if replay else None)
            say(to_json(verdict) if json else text(verdict))
            verdicts.append(verdict)
    if len(verdicts) < len(scenarios):
        note(f"holdfast: interrupted: {len(verdicts)} of {len(scenarios)} scenarios were run")
    (note if json else say)(summary(verdicts))
    changes = (*(f"-{label}" for label in without), *(f"+{name}" for name in switch))
    options = [*(f"--without={label}" for label in without), *(f"--switch={name}" for name in switch)]
    if html is not None and render is not None:
        command = shlex.join(["holdfast", "scenario", "run", *files, *options])
        write(html, render(scenario_runs(verdicts, len(scenarios), changes, command)))
    reports.give(_records(verdicts, changes, options))
    if any(verdict.failure for verdict in verdicts):
        return FAILED
    return PASSED if len(verdicts) == len(scenarios) else INTERRUPTED


def _read(files: Sequence[str]) -> list[Scenario]:
    """The scenarios of all files. Raises UsageError if any file is malformed, after a line for each malformed file."""
    if not files:
        raise UsageError("no scenario is given; name files, or folders that hold some")
    scenarios: list[Scenario] = []
    problems: dict[str, None] = {}
    for path in [path for name in files for path in _paths(name)]:
        try:
            scenarios += read_file(path, str(path))
        except MalformedError as error:
            problems[str(error)] = None
    *others, last = [*problems] or [""]
    for problem in others:
        note(f"holdfast: {problem}")
    if last:
        raise UsageError(last)
    return scenarios


def _paths(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml") and each.is_file())
        if not found:
            raise UsageError(f"{name}: the folder holds no scenario files (*.yaml); name another")
        return found
    if not path.exists():
        raise UsageError(f"{name}: there is no such file; `holdfast scenario new NAME` writes one")
    return [path]


def _failover_steps(given: str | None, scenarios: Sequence[Scenario]) -> tuple[int, ...] | None:
    """The steps before which the controller changes; None for all steps. Raises UsageError."""
    if given is None or given == "all":
        return None
    if not re.fullmatch(r"0*[1-9]\d{0,8}", given, re.ASCII):
        raise UsageError(f"--failover-at {given}: it is no step; give the number of a step, from 1, or all")
    longest = max(len(scenario.steps) for scenario in scenarios)
    if int(given) > longest:
        raise UsageError(f"--failover-at {given}: the longest scenario ends with step {longest}; give no more")
    return (int(given),)


def _check_labels(labels: Sequence[str]) -> None:
    reached = [label for label, places in guards().items() if any(file.partition("/")[0] in RUN for file, _ in places)]
    for label in labels:
        if label not in reached:
            raise UsageError(f"--without: {unknown_id('label', label, reached)}")


def _switches(names: Sequence[str]) -> frozenset[str]:
    known = sorted({*switches(), *ALWAYS})
    for name in names:
        if name in OF_BROKERS:
            raise UsageError(f"--switch: {name} is a spot of brokers, and a scenario has none; leave it out")
        if name in REFUSED:
            raise UsageError(f"--switch: {name} cannot be built in: {REFUSED[name]}; leave it out")
        if name not in known:
            raise UsageError(f"--switch: unknown switch {name}; known: {', '.join(known)}")
        if name in ALWAYS:
            note(f"holdfast: --switch {name} changes nothing: {ALWAYS[name]}, with every profile")
    return frozenset(names) - ALWAYS.keys()


def _records(verdicts: Sequence[ScenarioVerdict], changes: tuple[str, ...], options: list[str]) -> list[Record]:
    """One record for each file, with a case for each scenario. ``options``: options of the command that repeats it."""
    by_file: dict[str, list[ScenarioVerdict]] = {}
    for verdict in verdicts:
        by_file.setdefault(verdict.scenario.file, []).append(verdict)
    return [_record(file, found, changes, options) for file, found in by_file.items()]


def _record(file: str, verdicts: list[ScenarioVerdict], changes: tuple[str, ...], options: list[str]) -> Record:
    failed = sum(verdict.failure is not None for verdict in verdicts)
    return Record(
        engine="scenario run",
        model=file,
        scope="",
        changes=changes,
        verdict="violated" if failed else "holds",
        exit_code=FAILED if failed else PASSED,
        cases=tuple(_case(verdict, options) for verdict in verdicts),
        figures=(("scenarios", str(len(verdicts))), ("failed", str(failed))),
    )


def _case(verdict: ScenarioVerdict, options: list[str]) -> Case:
    scenario, failure = verdict.scenario, verdict.failure
    at = Place(scenario.file, scenario.line)
    if failure is None:
        steps = f"{len(scenario.steps)} steps as expected"
        return Case(name=scenario.name, kind="scenario", sentence=scenario.name, at=at, status="passed", message=steps)
    moments = [
        Moment("controller", f"{number}. {said(step, step.calls[0])}", Place(step.file, step.line))
        for number, step in enumerate(scenario.steps[: failure.number], 1)
    ]
    first = failure.differences[0] if failure.differences else None
    return Case(
        name=scenario.name,
        kind="scenario",
        sentence=scenario.name,
        at=Place(failure.step.file, failure.call.line),
        status="failed",
        message=f"{title(failure)}: {why(failure)}",
        text="\n".join(failure_lines(failure)),
        replay=shlex.join(["holdfast", "scenario", "run", scenario.file, *options]),
        fingerprint=fingerprint(
            "scenario", scenario.file, scenario.name, str(failure.number), first.path if first else ""
        ),
        flow=tuple(moments),
    )
