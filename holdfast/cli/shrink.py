"""``holdfast shrink``: make a run as short as possible, such that it still shows the same property."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import attrs
from cyclopts import Parameter, validators

from holdfast.check.budget import Budget, Meter, interruptible
from holdfast.check.result import trace_to_json
from holdfast.cli.options import Switch
from holdfast.cli.output import note, say
from holdfast.cli.run_files import NO_FILES, RunFiles
from holdfast.ir.errors import UsageError
from holdfast.runs.loading import LoadedRun, open_trace
from holdfast.runs.replay import Replayer
from holdfast.runs.shrink import BUDGET, ShrinkResult
from holdfast.runs.shrink import shrink as shrink_run
from holdfast.trace.text import count, render


def shrink(
    run: str,
    /,
    *,
    model: str | None = None,
    property: str | None = None,  # noqa: A002 - the option's name
    budget: Annotated[int, Parameter(validator=validators.Number(gte=1))] = BUDGET,
    json: Switch = False,
    files: RunFiles = NO_FILES,
) -> int:
    """Make a run as short as possible: fewer steps, then smaller arguments. It must still show the same property.

    Every candidate is replayed on the model and must violate the same property at its end, or reach the same witness.

    Parameters
    ----------
    run
        A file (ITF, or what TLC printed or dumped), or a line as `holdfast replay` takes it.
    model
        The model to replay on, in place of the one that the run names: 'TARGET [SCOPE] [+VARIANT…] [-LABEL…]'.
    property
        The property that the run must still show at its end; otherwise the one that the file or line names, or the one
        that its end violates.
    budget
        How many candidates to try (20000): replayed runs, and states searched for shortcuts.
    json
        Print the result as JSON and nothing else.
    files
        Files with the shrunk run.
    """
    files.prepare()
    opened = open_trace(run, model=model)
    replayer, claim = _to_keep(opened, property)
    meter = Meter(Budget())
    with interruptible(meter):
        script = replayer.script(opened.trace)
        shrunk = shrink_run(replayer, script, claim, budget=budget, stopped=lambda: meter.spent is not None)
    # Drop the options of the command that found the run: that command would find the original run, not this one.
    shrunk = attrs.evolve(shrunk, trace=attrs.evolve(shrunk.trace, options=None))
    if opened.changed is not None:
        note(f"holdfast: {opened.changed}")
    _report(shrunk, interrupted=meter.spent is not None, as_json=json)
    files.give(shrunk.trace)
    return 0


def _to_keep(opened: LoadedRun, wanted: str | None) -> tuple[Replayer, str]:
    """The replayer of the run, and the name of the claim that the shrunk run must still show.

    Raises UsageError if the run has no model, ends in a loop, or shows nothing.
    """
    trace, replayer = opened.trace, opened.replayer
    if replayer is None:
        raise UsageError(
            f"{trace.target}: no model stands behind the run, so that no other can be tried; name one with --model"
        )
    if trace.loop is not None:
        raise UsageError(f"{trace.target}: it ends in a loop, and only finite runs are shrunk; take another")
    if wanted is not None:
        return replayer, wanted
    claim = trace.claim.name if trace.claim is not None else replayer.violated(replayer.script(trace))
    if claim is None:
        raise UsageError(
            f"{trace.target}: the run violates nothing at its end; name what it must still show with --property"
        )
    return replayer, claim


def _report(shrunk: ShrinkResult, *, interrupted: bool, as_json: bool) -> None:
    trace = shrunk.trace
    before = trace.length + shrunk.removed
    if as_json:
        done = {"from": before, "tried": shrunk.tried, "shortest": shrunk.shortest, "interrupted": interrupted}
        say(json_format.dumps({"shrunk": done, "run": trace_to_json(trace)}))
        return
    name = trace.shown.name
    if shrunk.removed:
        what = f"Shrunk from {before:,} to {count(trace.length, 'step')}"
    else:
        what = f"No step could be left out of {before:,}"
    known = (
        f"No run in this scope shows {name} in fewer steps."
        if shrunk.shortest
        else "Interrupted: a shorter run may exist."
        if interrupted
        else "A shorter run may exist; try more candidates with --budget."
    )
    say(f"{render(trace)}\n\n{what}; {count(shrunk.tried, 'candidate')} tried.\n{known}")
