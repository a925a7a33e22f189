"""The lanes of a space-time diagram: one for each element that acts or is changed, and the events on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from holdfast.lower.layout import Cell
from holdfast.trace.text import NOBODY, is_tuple, keys_of
from holdfast.trace.trace import Trace
from holdfast.trace.views.events import Change, Event, events

OTHERS = "others"
"""The name of the lane that elements without a lane of their own share."""
STATE = "state"
"""The name of the shared lane if no element has a lane of its own."""


@attrs.frozen
class Lane:
    """A line of the diagram; ``acts`` says that its element is of the acting sort."""

    name: str
    acts: bool


@attrs.frozen
class Happening:
    """An event on the lanes.

    ``actor`` is the lane of the acting element, None if nobody acts. ``call`` is the action; the actor's name stands
    before it if the actor has no lane of its own. ``touched`` has the texts of the changes, by the lane that changes.
    """

    event: Event
    actor: int | None
    call: str
    touched: Mapping[int, tuple[str, ...]]


@attrs.frozen
class LanePlan:
    """The lanes and events to draw. ``idle`` are elements of the acting sort that neither act nor are changed."""

    lanes: tuple[Lane, ...]
    happenings: tuple[Happening, ...]
    idle: tuple[str, ...]


def plan(trace: Trace, only: Collection[str] | None = None, *, most: int) -> LanePlan:
    """The lanes of a run, at most ``most``, for the elements that act or are changed.

    The acting elements come first, in the order of the model, then the others in order of appearance. If there are
    too many, the last ones share one lane.
    """
    run = events(trace, only)
    involved = dict.fromkeys(
        name for event in run.each for name in (event.actor, *(change.home for change in event.changes))
    )
    acting = [name for name in run.actors if name in involved]
    other = [name for name in involved if name not in acting and name != NOBODY]
    named = [*acting, *other]
    # A change of a cell without an owner needs the shared lane, which counts too.
    if len(named) + (NOBODY in involved and _unowned(run.each)) > most:
        named = named[: most - 1]
    shared = any(_lane(name, named) is None for name in involved if name != NOBODY) or _unowned(run.each)
    lanes = [Lane(name, name in acting) for name in named]
    lanes += [Lane(OTHERS if named else STATE, False)] if shared else []
    found = tuple(_happening(event, named) for event in run.each)
    return LanePlan(tuple(lanes), found, tuple(name for name in run.actors if name not in involved))


def _unowned(each: Collection[Event]) -> bool:
    """Whether a cell changes that belongs to no element."""
    return any(change.home == NOBODY for event in each for change in event.changes)


def _lane(name: str, named: list[str]) -> int | None:
    return named.index(name) if name in named else None


def _happening(event: Event, named: list[str]) -> Happening:
    actor = None if event.actor == NOBODY else _lane(event.actor, named)
    call = event.call
    if event.actor != NOBODY and actor is None:
        # The actor has no lane of its own: the shared lane comes after the named ones.
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
    """The new value of a cell, without the element that owns it: ``owner=n1``, ``+used[s1, epoch 1]``."""
    cell = change.cell
    rest = keys_of(_without_home(cell, change.home), "[]") if len(cell.keys) > 1 else ""
    name = cell.field.name + ("" if rest == "[]" else rest)
    if is_tuple(cell):
        return f"{'+' if change.new else '-'}{name}"
    return f"{name}={change.new}"


def _without_home(cell: Cell, home: str) -> Cell:
    """The cell without the key that is its owner, to build its short name."""
    place = next((index for index, key in enumerate(cell.keys) if str(key) == home), None)
    if place is None:
        return cell
    keys = tuple(key for index, key in enumerate(cell.keys) if index != place)
    kinds = tuple(kind for index, kind in enumerate(cell.field.keys) if index != place)
    return attrs.evolve(cell, keys=keys, field=attrs.evolve(cell.field, keys=kinds))
