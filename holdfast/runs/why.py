"""Explain a run: find the place that shows the claim, and the steps that led there."""

from __future__ import annotations

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import LIVENESS
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.selection import idempotence
from holdfast.trace.trace import Trace
from holdfast.trace.views.slice import Slice, SliceQuestion, slice_run


@attrs.frozen
class Reasons:
    """The run up to the place that shows the claim, and its slice."""

    trace: Trace
    slice: Slice


def why(replayer: Replayer, trace: Trace, name: str | None = None) -> Reasons:
    """The reasons why a run shows a property.

    ``name`` is a property or a rule id; by default it is the run's claim, or the first property that its end violates.
    If the end does not show the property, the first place of the run that does is explained. Raises UsageError for a
    name that the model does not have, and for a property that no place of the run shows.
    """
    script = replayer.script(trace)
    for wanted in _names(replayer, trace, script, name):
        if replayer.claim(wanted).kind in LIVENESS:
            raise UsageError(
                f"--why: the run violates {wanted} as a whole, and not by one of its states; leave --why out"
            )
        # The end first, then all places from the start on.
        for length in (len(script.steps), *range(len(script.steps))):
            part = attrs.evolve(script, steps=script.steps[:length])
            if replayer.shows(part, wanted):
                shown = replayer.trace(part, wanted)
                assert isinstance(shown, Trace), "it was followed before"
                prop = next((prop for prop in replayer.system.properties if prop.name == wanted), None)
                return Reasons(shown, slice_run(replayer.machine.layout, shown, SliceQuestion(shown.shown, prop)))
    done = "reached" if replayer.claim(wanted).kind == "witness" else "violated"
    raise UsageError(f"--why {name or wanted}: it is {done} nowhere in this run; name a property that is")


def _names(replayer: Replayer, trace: Trace, script: Script, name: str | None) -> list[str]:
    """The names of the requested claims, at least one."""
    if name is None:
        found = trace.claim.name if trace.claim is not None else replayer.violated(script)
        if found is None:
            raise UsageError("the run violates nothing at its end; name what to explain: --why PROPERTY")
        return [found]
    cited = [prop.name for prop in replayer.selection.properties if name in prop.ids]
    repeats = [action for action in replayer.selection.idempotent if name == action.idempotent]
    cited += [idempotence(replayer.system, action).name for action in repeats]
    return cited or [replayer.claim(name).name]
