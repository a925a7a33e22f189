"""The figures of a check: its counts, and the coverage that an answer without violations rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from holdfast.check.budget import Meter, resident_bytes
from holdfast.check.result import ActionFigures, Coverage, Figures, RuleFigures, ShortageFigures, Timing
from holdfast.ir.names import source_name
from holdfast.ir.system import System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.statistics import Statistics
from holdfast.runs.selection import Selection, idempotence


@attrs.define
class Counters:
    """The counters of a running search; ``Figures`` explains them. ``taken`` and ``repeats`` have an entry per action.

    ``repeats`` counts the steps of an idempotent action that were repeated at once, as a check of their idempotence.
    """

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
    """The figures of a search so far. Rules and cuts come from the statistics that the interpreter has kept."""
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
        shortages=tuple(_shortages(machine)),
    )


def _shortages(machine: Interpreter) -> Iterator[ShortageFigures]:
    """The shortages that were noted, in the order of the source."""
    noted = machine.statistics.shortages
    for shortage in sorted(noted, key=lambda each: (each.at.file, each.at.line, each.at.column, each.param.name)):
        name, kind = source_name(shortage.param.name), shortage.param.plain
        yield ShortageFigures(shortage.action, name, str(kind), machine.layout.last(kind), shortage.at)


def coverage(
    machine: Interpreter,
    selection: Selection,
    statistics: Statistics,
    taken: Sequence[int],
    repeats: Sequence[int],
    unshown_repeats: int,
    states: int,
) -> Coverage:
    """The coverage of an engine that takes steps.

    ``taken`` and ``repeats`` count steps and checked repetitions, by the index of the action. ``states`` is the number
    of states in which the properties were evaluated.
    """
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
            # A removed rule cannot decide anything, so it is not reported.
            if rule.label not in decisive and rule.label not in system.removed
        ),
        evaluated=tuple(_evaluated(selection, system, taken, repeats, states)),
        dropped_ghosts=tuple(var.name for var in system.variables if var.name in layout.dropped),
        unshown_repeats=unshown_repeats,
    )


def _evaluated(
    selection: Selection, system: System, taken: Sequence[int], repeats: Sequence[int], states: int
) -> Sequence[tuple[str, int]]:
    """For each property the number of states, steps or repetitions it was evaluated on, in the order of the source."""
    counted: list[tuple[str, int]] = []
    actions = system.actions
    for prop in selection.of_kind("invariant", "lemma", "step"):
        # A step property is evaluated on every step of its action; without ``of``, on every step.
        steps = (times for action, times in zip(actions, taken, strict=True) if prop.of in (None, action.name))
        counted.append((prop.name, sum(steps) if prop.kind == "step" else states))
    for action, times in zip(actions, repeats, strict=True):
        if action in selection.idempotent:
            counted.append((idempotence(system, action).name, times))
    return counted


def timing(meter: Meter, distinct: int) -> Timing:
    """The time since the start, the rate, and the memory that the process occupies now."""
    seconds = meter.seconds
    return Timing(seconds, distinct / seconds if seconds else 0.0, resident_bytes())
