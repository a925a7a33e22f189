"""The figures of a check: what it counted, and why a green answer is green."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.check.budget import Meter, resident_bytes
from holdfast.check.result import ActionFigures, Coverage, Figures, RuleFigures, Timing
from holdfast.ir.system import System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.statistics import Statistics
from holdfast.runs.selection import Selection, idempotence


@attrs.define
class Counters:
    """What a search counts as it goes; see ``Figures`` for the meaning. ``taken`` and ``repeats`` are by action."""

    taken: list[int]
    repeats: list[int]
    generated: int = 0
    initial: int = 0
    depth: int = 0
    widest_level: int = 0
    waiting: int = 0
    unshown_repeats: int = 0
    cut_ends: int = 0


def figures(machine: Interpreter, selection: Selection, counters: Counters, distinct: int, group_order: int) -> Figures:
    """The figures so far, with what the interpreter noted since the search began."""
    covered = coverage(
        machine, selection, machine.statistics, counters.taken, counters.repeats, counters.unshown_repeats, distinct
    )
    return Figures(
        **attrs.asdict(covered, recurse=False),
        distinct=distinct,
        generated=counters.generated,
        depth=counters.depth,
        initial=counters.initial,
        widest_level=counters.widest_level,
        waiting=counters.waiting,
        group_order=group_order,
        cut_ends=counters.cut_ends,
    )


def coverage(
    machine: Interpreter,
    selection: Selection,
    statistics: Statistics,
    taken: Sequence[int],
    repeats: Sequence[int],
    unshown_repeats: int,
    states: int,
) -> Coverage:
    """What was covered: steps and repetitions by action; ``states`` is of how many states the properties were asked."""
    system, layout = machine.system, machine.layout
    cuts = sorted(statistics.cuts.items())
    decisive = statistics.decisive
    return Coverage(
        bits=layout.bits,
        widest=tuple(layout.widest()),
        actions=tuple(
            ActionFigures(action.name, times, tuple((bound, cut) for (name, bound), cut in cuts if name == action.name))
            for action, times in zip(system.actions, taken, strict=True)
        ),
        undecisive=tuple(
            RuleFigures(rule.label, rule.kind, rule.at)
            for rule in system.rules
            if rule.label not in decisive and rule.label not in system.removed
        ),
        evaluated=tuple(_evaluated(selection, system, taken, repeats, states)),
        dropped_ghosts=tuple(var.name for var in system.variables if var.name in layout.dropped),
        unshown_repeats=unshown_repeats,
    )


def _evaluated(
    selection: Selection, system: System, taken: Sequence[int], repeats: Sequence[int], states: int
) -> Sequence[tuple[str, int]]:
    """Of how many states, steps or repetitions each property was asked, in the order of the source."""
    counted: list[tuple[str, int]] = []
    actions = system.actions
    for prop in selection.of_kind("invariant", "lemma", "step"):
        steps = (times for action, times in zip(actions, taken, strict=True) if prop.of in (None, action.name))
        counted.append((prop.name, sum(steps) if prop.kind == "step" else states))
    for action, times in zip(actions, repeats, strict=True):
        if action in selection.idempotent:
            counted.append((idempotence(system, action).name, times))
    return counted


def timing(meter: Meter, distinct: int) -> Timing:
    """How long it took, and how much memory the process occupies now."""
    seconds = meter.seconds
    return Timing(seconds, distinct / seconds if seconds else 0.0, resident_bytes())
