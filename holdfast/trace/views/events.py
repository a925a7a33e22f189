"""A run as events: the element that acts in each step, the cells that change, and the elements that own them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.types import Key, SortType
from holdfast.lower.layout import Cell, Value
from holdfast.trace.text import NOBODY, home_of, name_of
from holdfast.trace.trace import Step, Trace


@attrs.frozen
class Change:
    """A cell that a step changes. ``home`` is the element that it belongs to, or NOBODY."""

    cell: Cell
    old: Value
    new: Value

    @property
    def home(self) -> str:
        return home_of(self.cell)


@attrs.frozen
class Event:
    """A step with its number (from 1), the element that acts (or NOBODY), and its changes, budgets excluded."""

    number: int
    step: Step
    actor: str
    changes: tuple[Change, ...]

    @property
    def call(self) -> str:
        """The action with its arguments, without the actor: ``open(s1, 1)`` of p1."""
        others = [str(value) for _, value in self.step.args]
        if self.actor in others:
            others.remove(self.actor)
        # A file may tell no arguments at all.
        return f"{self.step.action}({', '.join(others)})" if others or self.step.code else self.step.action


@attrs.frozen
class Events:
    """All events of a run. ``actors`` are all elements of the acting sort, also those that never act."""

    actors: tuple[str, ...]
    each: tuple[Event, ...]


def events(trace: Trace, only: Collection[str] | None = None) -> Events:
    """The events of a run; with ``only``, their changes are limited to the cells of these names."""
    sort = acting_sort(trace)
    actors = _elements(trace).get(sort, ()) if sort is not None else ()
    shown = [not cell.field.hidden and (only is None or cell.name in only) for cell in trace.cells]
    each = []
    for number, (before, step) in enumerate(zip(trace.steps, trace.steps[1:], strict=False), start=1):
        values = zip(trace.cells, shown, before.values, step.values, strict=True)
        changes = (Change(cell, old, new) for cell, wanted, old, new in values if wanted and differ(old, new))
        each.append(Event(number, step, _actor(step, actors), tuple(changes)))
    return Events(tuple(actors), tuple(each))


def differ(one: Value, two: Value) -> bool:
    """Whether two values differ. In Python True equals 1; here they differ."""
    return one != two or isinstance(one, bool) != isinstance(two, bool)


def select_cells(trace: Trace, names: Sequence[str]) -> frozenset[str]:
    """The cell names that ``names`` selects; each is a field, for all its cells, or a cell. Raises UsageError for an
    unknown name.
    """
    chosen: set[str] = set()
    cells = [cell for cell in trace.cells if not cell.field.hidden]
    for name in names:
        found = {
            cell.name for cell in cells if _plain(name) in (cell.field.name, _plain(cell.name), _plain(name_of(cell)))
        }
        if not found:
            fields = list(dict.fromkeys(cell.field.name for cell in cells))
            near = get_close_matches(name.partition("[")[0], fields)
            hint = f"did you mean {', '.join(near)}?" if near and "[" not in name else f"it has: {', '.join(fields)}"
            raise UsageError(f"--only {name}: {trace.model} has no field or cell of that name; {hint}")
        chosen |= found
    return frozenset(chosen)


def _plain(name: str) -> str:
    """A name without the blanks that a shell makes awkward."""
    return name.replace(" ", "")


# Who acts ----------------------------------------------------------------------------------------------------------


def acting_sort(trace: Trace) -> SortType | None:
    """The sort that occurs among the parameters of most actions; of several such sorts the first.

    If a file gives no types of parameters, it is the sort that occurs in the arguments of most steps. If it gives no
    arguments either, it is the sort that most variables have as a key. None if there are no elements at all.
    """
    uses: dict[SortType, int] = {}
    for kinds in _uses(trace):
        for kind in dict.fromkeys(kinds):
            if isinstance(kind, SortType):
                uses[kind] = uses.get(kind, 0) + 1
    return max(uses, key=lambda sort: uses[sort], default=None)


def _uses(trace: Trace) -> Iterator[Collection[Key | object]]:
    """The types that each action, step or variable mentions, one collection for each; see ``acting_sort``."""
    if trace.signatures:
        for signature in trace.signatures:
            if signature.action != "init":
                yield [param.type for param in signature.params]
        return
    sorts = {name: sort for sort, names in _elements(trace).items() for name in names}
    given = [[sorts[str(value)] for _, value in step.args if str(value) in sorts] for step in trace.steps]
    if any(given):
        yield from given
        return
    fields = {cell.field.name: cell.field.keys for cell in trace.cells}
    yield from fields.values()


def _elements(trace: Trace) -> Mapping[SortType, tuple[str, ...]]:
    """The elements of each sort, in order of appearance: keys of cells, and arguments of actions."""
    found: dict[SortType, dict[str, None]] = {}
    for cell in (*(cell for cell, _ in trace.constants), *trace.cells):
        for kind, key in zip(cell.field.keys, cell.keys, strict=True):
            if isinstance(kind, SortType):
                found.setdefault(kind, {})[str(key)] = None
    kinds = {(sig.action, param.name): param.type for sig in trace.signatures for param in sig.params}
    for step in trace.steps:
        for name, value in step.args:
            sort = kinds.get((step.action, name))
            if isinstance(sort, SortType):
                found.setdefault(sort, {})[str(value)] = None
    return {sort: tuple(names) for sort, names in found.items()}


def _actor(step: Step, actors: Sequence[str]) -> str:
    """The first argument that is one of ``actors``, or NOBODY."""
    return next((str(value) for _, value in step.args if value in actors), NOBODY)
