"""A run that explains a log, as a line that ``holdfast replay``, ``show`` and ``explore`` take.

The sizes and constants of a log are no scope of the model, so the run needs a model file of its own that adds this
scope. If the log counts past numbers that it mentions elsewhere, one event becomes several steps of the run.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

from holdfast.check.conform.answer.model_file import SCOPE, Numbers, model_file, scope_of
from holdfast.check.conform.answer.retrace import Check, NoRunError, Retrace, check_length, of_all_streams, of_part
from holdfast.check.conform.judge.event_trial import StatePath
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.logs.log import Log
from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.line import replay_command

NAME = "Explained"
"""The name of a run's class; with a number if there are several runs."""

MOST_RUNS = 8
"""The limit of worlds; with more, no run is written for each world."""


def check_suffix(path: Path) -> None:
    """Raise UsageError unless the file's name is one of a model."""
    if path.suffix != ".py":
        raise UsageError(f"--run {path}: the run needs a model file; choose a name that ends in .py")


def lines_of(system: System, log: Log, judgement: Judgement, path: Path, check: Check) -> tuple[str, ...]:
    """Lines about the runs that explain a log, with the commands that replay them. Writes ``path``, a model file.

    There is one run of all streams together, or else one run for each world. Raises NoRunError if there is no run, and
    writes no file then.
    """
    check_length(judgement)
    assert judgement.ground is not None, "a log that was judged has one"
    sort = judgement.ground.sort
    try:
        if sort is None or judgement.chosen is not None:
            return _written(system, [of_part(log, judgement, part, check) for part in judgement.parts], path)
        try:
            return _written(system, [of_all_streams(log, judgement, check)], path)
        except (UnjudgedError, NoRunError) as error:
            reason = f"No run of all {sort}s together: {error}."
        if len(judgement.parts) > MOST_RUNS:
            raise NoRunError(f"{reason} Choose one {sort} with --stream")
        parts = [of_part(log, judgement, part, check) for part in judgement.parts]
        return (reason, *_written(system, parts, path))
    except UnjudgedError as error:
        raise NoRunError(str(error)) from None


def _written(system: System, runs: list[Retrace], path: Path) -> tuple[str, ...]:
    """Write the model file; returns for each run a sentence and the command that replays it."""
    numbers = [{nat: sorted(values) for nat, values in run.world.mentioned.items()} for run in runs]
    scripts = [_script(system, run, values) for run, values in zip(runs, numbers, strict=True)]
    names = [NAME if len(runs) == 1 else f"{NAME}{number}" for number in range(1, len(runs) + 1)]
    try:
        worlds = [run.world for run in runs]
        path.write_text(model_file(system, zip(names, worlds, numbers, strict=True)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--run {path}: cannot be written: {error.strerror}; choose another file") from None
    lines: list[str] = []
    try:
        for name, run, script in zip(names, runs, scripts, strict=True):
            sort = run.world.ground.sort
            called = [] if sort is None else run.world.ground.names.called(sort)
            who = f" for {sort} {', '.join(called[stream] for stream in run.world.slots) or '?'}" if sort else ""
            lines.append(f"A run of {system.name}{who} explains {run.events:,} events:")
            lines.append(f"replay: {_command(system, script, f'{path}:{name}')}")
    except HoldfastError as error:
        # Keep no model file without a run.
        path.unlink()
        raise NoRunError(str(error)) from None
    except NoRunError:
        path.unlink()
        raise
    return tuple(lines)


def _command(system: System, script: Script, target: str) -> str:
    # Other files in that folder may belong to somebody else, and nothing of them is executed.
    again = load_variant(target, system.chosen, alone=True)
    replayer = Replayer(again, again.scope(SCOPE), target=target, options=None)
    trace = replayer.trace(script, None)
    assert not isinstance(trace, StoppedScript), "each step of the script was taken"
    command = replay_command(trace)
    if command is None:
        raise NoRunError("no model stands behind it")
    return command


def _script(system: System, run: Retrace, numbers: Numbers) -> Script:
    """The steps in the codes of the model file. Raises NoRunError for a step that is not possible there."""
    try:
        machine = Interpreter(system, scope_of(system, run.world, numbers), ghosts=frozenset(), properties=())
    except UsageError as error:
        raise NoRunError(str(error)) from None
    names = {action.name for action in (system.init, *system.actions)}
    state = machine.layout.blank()
    found: list[tuple[str, tuple[int, ...]]] = []
    for step in run.steps:
        if step.action not in names:
            raise NoRunError(f"one world has no run: it needs the effect of {step.action}; judge with --joint all")
        args = tuple(bisect_left(numbers[arg[0]], arg[1]) if isinstance(arg, tuple) else arg for arg in step.args)
        # One logged event may count past numbers of the log that the model reaches one by one: repeat its step.
        while True:
            outcome = machine.step(state, step.action, args)
            if not isinstance(outcome, Taken):
                why = f"{outcome.label} refuses it" if isinstance(outcome, Refused) else f"it passes {outcome.bound}"
                raise NoRunError(
                    f"step {len(found)}, {step.action}, is not possible among all numbers of the log: {why}"
                )
            state = outcome.state
            found.append((step.action, args))
            if _has_arrived(step, state, machine.layout, numbers):
                break
    return Script(found[0][1], tuple(found[1:]))


def _has_arrived(step: StatePath, state: bytes, layout: Layout, numbers: Numbers) -> bool:
    """Whether each cell that the step counts has its number in the log. If not, the step has to be taken again.

    Raises NoRunError if a cell is already above its number.
    """
    below = False
    for name, place, (nat, number) in step.counted:
        code = state[layout.field(name).offset + place]
        wanted = bisect_left(numbers[nat], number)
        if code > wanted:
            raise NoRunError(
                f"{step.action} counts {name} on to {number}, and not over the numbers of the log below it"
            )
        below = below or code < wanted
    return not below
