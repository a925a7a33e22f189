"""Makes a new run of earlier ones: changes of a script and of a tape, drawn from a seed.

Each fault has consequences, so most changes lose what a run has reached, and a run that keeps most of its parent
reaches little else. So most new runs are *crossed*: they are drawn, with the kinds of faults of two parents and more of
the operations that are seldom (``crossing.py``). Half of the others *fork*: they repeat their parent up to a moment
that few runs reach, and go on from there with new operations and new faults. The rest change operations and faults
anywhere. Where a rule is missing in the parent, the further run matters, and most new runs keep what led there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from impl.sim.check import Question
from impl.sim.crossing import exchanged, kinds_of_both
from impl.sim.options import Fork, Options
from impl.sim.partitions import script as script_of_partitions
from impl.sim.run import Run
from impl.sim.script import ScriptOperation, make
from impl.sim.tape import Fault, stream

CROSSED = 0.75
"""The share of new runs that are crossed."""
CROSSED_CLOSELY = 0.2
"""The same share where runs are to stay close to their parent."""
FORKED = 0.5
"""The share of the others that fork."""
BEFORE_MS, AFTER_MS = 1_500, 6_500
"""How long before and after the moment the fork is, at most. Most forks are shortly before it."""
SAME = 0.2
"""The share of forks that keep the script of the parent."""
CHANGES = 4
"""The most changes of a run that does not fork."""
SHIFT_MS = 4_000
"""The most by which operations move."""
STEPS = 12
"""The most decisions of its site by which a fault moves."""
AGAIN = 100
"""The most decisions of its site after which a fault happens again."""

Draw = Callable[[], float]
Script = tuple[ScriptOperation, ...]
Faults = tuple[Fault, ...]


class ParentRun(msgspec.Struct, frozen=True):
    """What repeats a run: seed, script and faults. ``begin``: the virtual time at which the script began."""

    seed: int
    begin: int
    script: Script
    faults: Faults

    @classmethod
    def of(cls, run: Run) -> ParentRun:
        """A run that has ended, as a parent."""
        return cls(run.seed, run.begin, run.script, tuple(run.faults))


def descend(
    question: Question, seed: int, parent: ParentRun, at: int, other: ParentRun, *, closely: bool = False
) -> Question:
    """The question of a new run. Equal arguments give equal questions.

    ``question``: how runs are drawn that have no parent. ``at``: the virtual time of a moment of the parent. ``other``:
    the second parent of a crossed run; parts of it may take the place of parts of the parent in others. ``closely``:
    few runs are crossed.
    """
    draw = stream(seed, "descent")
    options = question.options
    if draw() < (CROSSED_CLOSELY if closely else CROSSED):
        kinds = kinds_of_both(options.faults, parent.faults, other.faults, draw)
        script = _possible(exchanged(_drawn(options, seed), options, draw), options)
        return replace(question, seed=seed, options=replace(options, faults=kinds, operations_of=script))
    if draw() < FORKED:
        at += int(draw() ** 3 * (BEFORE_MS + AFTER_MS)) - BEFORE_MS
        later = parent.script if draw() < SAME else _drawn(options, seed)
        script = _joined(parent.script, later, at - parent.begin)
        options = replace(options, recorded=parent.faults, fork=Fork(at, seed))
        return replace(question, seed=parent.seed, options=replace(options, operations_of=_possible(script, options)))
    weather, script, faults = parent.seed, parent.script, parent.faults
    for _ in range(1 + int(draw() * CHANGES)):
        how = draw()
        if how < 0.15:
            weather = seed
        elif how < 0.5:
            script = _changed_script(script, other.script, draw)
        else:
            faults = _changed_faults(faults, other.faults, draw)
    options = replace(options, faults="none", recorded=faults, operations_of=_possible(script, options))
    return replace(question, seed=weather, options=options)


def _drawn(options: Options, seed: int) -> Script:
    """The script that a run without a parent has."""
    clients, operations, span_ms = options.clients, options.operations, options.span_ms
    if options.partitions:
        return script_of_partitions.make(
            seed, clients=clients, partitions=options.partitions, operations=operations, span_ms=span_ms
        )
    return make(seed, clients=clients, streams=options.streams, operations=operations, span_ms=span_ms)


def _possible(script: Iterable[ScriptOperation], options: Options) -> Script:
    """The script in the order of times, as long as a drawn one at most, without operations that no script has.

    A value is written once, a stream is created once and destroyed once, and the first streams always exist. The
    oracles rely on all of that.
    """
    used: set[tuple[str, int]] = set()
    found = []
    for each in sorted(script, key=lambda each: (each.at, each.client)):
        if each.f in ("create", "destroy"):
            once = each.f, each.key
            if each.key < options.streams or once in used:
                continue
            used.add(once)
        elif each.f == "append":
            if ("append", each.value) in used:
                continue
            used.add(("append", each.value))
        found.append(each)
    return tuple(found[: options.operations])


def _joined(script: Script, other: Script, at: int) -> Script:
    """The operations of a script before a time, and those of another one from this time on."""
    return (*(each for each in script if each.at < at), *(each for each in other if each.at >= at))


def _changed_script(script: Script, other: Script, draw: Draw) -> Script:
    """Drop, move or repeat some operations in a row, let them concern one stream, or go on as another script does."""
    if not script:
        return other
    how, begin = draw(), int(draw() * len(script))
    end = begin + 1 + int(draw() ** 3 * len(script) / 2)
    some = script[begin:end]
    if how < 0.2:
        return script[:begin] + script[end:]
    if how < 0.7:
        if how < 0.5:
            by = int((2 * draw() - 1) * SHIFT_MS)
            some = tuple(replace(each, at=max(0, each.at + by)) for each in some)
        else:
            lasting = ("create", "destroy")
            some = tuple(each if each.f in lasting else replace(each, key=some[0].key) for each in some)
        return script[:begin] + some + script[end:]
    if how < 0.85:
        return script + tuple(replace(each, at=each.at + int(draw() * SHIFT_MS)) for each in some)
    return _joined(script, other, some[0].at)


def _changed_faults(faults: Faults, other: Faults, draw: Draw) -> Faults:
    """Drop, move, change or repeat a fault, drop several, or add faults of another run."""
    if not faults:
        return other
    how, place = draw(), int(draw() * len(faults))
    fault = faults[place]
    before, after = faults[:place], faults[place + 1 :]
    if how < 0.15:
        return before + after[int(draw() ** 3 * len(faults) / 2) :]
    if how < 0.25:
        return tuple(each for each in faults if each.kind != fault.kind)
    if how < 0.5:
        moved = max(0, fault.index + int((2 * draw() - 1) * STEPS))
        return (*before, replace(fault, index=moved), *after)
    if how < 0.65:
        return (*before, replace(fault, value=draw()), *after)
    if how < 0.8:
        return (*faults, replace(fault, index=fault.index + 1 + int(draw() ** 2 * AGAIN)))
    if how < 0.9:
        return faults + other[: int(draw() * len(other))]
    return before + tuple(each for each in other if each.at >= fault.at)
