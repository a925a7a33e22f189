"""The lines of a space-time diagram: one for each element that acts or is changed, and what happens on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from holdfast.lower.layout import Cell
from holdfast.trace.text import NOBODY, is_tuple, keys_of
from holdfast.trace.trace import Trace
from holdfast.trace.views.events import Change, Event, events

OTHERS = "others"
"""The lane of all that has no lane of its own."""
STATE = "state"
"""The same, where nothing has one."""


@attrs.frozen
class Lane:
    """A line of the diagram; ``acts`` where its element is one of those that act."""

    name: str
    acts: bool


@attrs.frozen
class Happening:
    """An event on the lanes: who acts (None: nobody), and for each lane that it changes what becomes of it.

    ``call`` is the action; who acts comes first in it if that is not what the lane is called.
    """

    event: Event
    actor: int | None
    call: str
    touched: Mapping[int, tuple[str, ...]]


@attrs.frozen
class LanePlan:
    """What to draw. ``idle`` are the elements that could act, and neither do nor are changed."""

    lanes: tuple[Lane, ...]
    happenings: tuple[Happening, ...]
    idle: tuple[str, ...]


def plan(trace: Trace, only: Collection[str] | None = None, *, most: int) -> LanePlan:
    """The lanes of a run, at most so many, of those involved: who acts in the order of the model, then the others as
    they come in. Where there are too many, the last ones share one lane.
    """
    run = events(trace, only)
    involved = dict.fromkeys(
        name for event in run.each for name in (event.actor, *(change.home for change in event.changes))
    )
    acting = [name for name in run.actors if name in involved]
    other = [name for name in involved if name not in acting and name != NOBODY]
    named = [*acting, *other]
    if len(named) + (NOBODY in involved and _unowned(run.each)) > most:
        named = named[: most - 1]
    shared = any(_lane(name, named) is None for name in involved if name != NOBODY) or _unowned(run.each)
    lanes = [Lane(name, name in acting) for name in named]
    lanes += [Lane(OTHERS if named else STATE, False)] if shared else []
    found = tuple(_happening(event, named) for event in run.each)
    return LanePlan(tuple(lanes), found, tuple(name for name in run.actors if name not in involved))


def _unowned(each: Collection[Event]) -> bool:
    """Whether something changes that belongs to nobody."""
    return any(change.home == NOBODY for event in each for change in event.changes)


def _lane(name: str, named: list[str]) -> int | None:
    return named.index(name) if name in named else None


def _happening(event: Event, named: list[str]) -> Happening:
    actor = None if event.actor == NOBODY else _lane(event.actor, named)
    call = event.call
    if event.actor != NOBODY and actor is None:
        actor, call = len(named), f"{event.actor}: {call}"
    touched: dict[int, list[str]] = {}
    for change in event.changes:
        lane = _lane(change.home, named)
        text = short(change)
        if lane is None:
            lane, text = len(named), f"{change.home} {text}" if change.home != NOBODY else text
        touched.setdefault(lane, []).append(text)
    return Happening(event, actor, call, {lane: tuple(texts) for lane, texts in sorted(touched.items())})


def short(change: Change) -> str:
    """What becomes of a cell, without the element that it belongs to: ``owner=n1``, ``+used[s1, epoch 1]``."""
    cell = change.cell
    rest = keys_of(_without_home(cell, change.home), "[]") if len(cell.keys) > 1 else ""
    name = cell.field.name + ("" if rest == "[]" else rest)
    if is_tuple(cell):
        return f"{'+' if change.new else '-'}{name}"
    return f"{name}={change.new}"


def _without_home(cell: Cell, home: str) -> Cell:
    """The cell with its other keys alone, for its name."""
    place = next((index for index, key in enumerate(cell.keys) if str(key) == home), None)
    if place is None:
        return cell
    keys = tuple(key for index, key in enumerate(cell.keys) if index != place)
    kinds = tuple(kind for index, kind in enumerate(cell.field.keys) if index != place)
    return attrs.evolve(cell, keys=keys, field=attrs.evolve(cell.field, keys=kinds))
