"""A scope for one log: it has the elements that the log names and the numbers that it mentions.

A number of a log is replaced by its place among all mentioned numbers, with room between two neighbours for unmentioned
numbers. This shares nothing with the judge of logs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import attrs

from holdfast.ir.marks import ScopeMark
from holdfast.lang.maps import Map, Rel
from holdfast.lang.model import Model
from holdfast.lang.sorts import Int, Nat, Sort
from tests.generated.oracle import NoStartError, Oracle

Line = Mapping[str, Any]
Kinds = tuple[tuple[Any, ...], Any]
"""The types of a field's keys, and of its values."""


class LogScope:
    """Translates the values of a log into values of the model. ``log``: its header and its lines.

    ``room``: the number of unmentioned numbers between two mentioned ones. ``plain``: the Nats whose numbers are the
    same in the log and in the model, each with the smallest bound it has in every log. ``rising``: the plain Nats that
    the model counts on. Raises NoStartError if the log names no process.
    """

    def __init__(
        self,
        model: type[Model],
        mark: ScopeMark,
        log: Sequence[Line],
        *,
        room: int = 1,
        plain: Mapping[str, int] | None = None,
        rising: Iterable[str] = (),
    ) -> None:
        self.lines = list(log[1:])
        literals = log[0].get("literals", {})
        self.literals = {name: len(meanings) for name, meanings in literals.items()}
        self.room, self.plain, self.rising, self.least = room, dict(plain or {}), set(rising), mark.sizes
        asked = Oracle(model, mark)
        self.kinds = {name: kinds for name, kinds in kinds_of(model).items() if name not in asked.ghosts}
        self.params = {act.name: dict(act.types) for act in asked.acts}
        self.given: dict[type[Sort], list[str]] = {}
        for name in mark.given:
            self.given.setdefault(self.kinds[name][0][0], []).append(name)
        self.elements: dict[type[Sort], dict[str, int]] = {kind: {} for kind in mark.sizes if issubclass(kind, Sort)}
        nats = [kind for kind in mark.sizes if issubclass(kind, Nat)]
        self.numbers = {kind: {0, *literals.get(kind.__name__, {}).values()} for kind in nats}
        for kind, value in self._values():
            self._see(kind, value)
        self.codes = {kind: dict(self._codes(kind)) for kind in self.numbers}
        if not all(self.elements[kind] for kind in self.given):
            raise NoStartError("the log names no process")
        self.mark = attrs.evolve(mark, sizes=self._sizes(), given=dict(self._constants()), budgets={})

    def _sizes(self) -> dict[type, int]:
        sizes: dict[type, int] = {kind: max(1, len(seen)) for kind, seen in self.elements.items()}
        return sizes | {kind: self._top(kind) for kind in self.codes}

    def _constants(self) -> Iterator[tuple[str, list[Any]]]:
        """The constants of each process, by the names of processes."""
        for kind, names in self.given.items():
            processes = [json.loads(name) for name in self.elements[kind]]
            for place, name in enumerate(names):
                yield name, [self._plain(self.kinds[name][1], process[place]) for process in processes]

    def _values(self) -> Iterator[tuple[Any, Any]]:
        """Every value of the log, with its type."""
        for line in self.lines:
            yield from ((self.params[line["action"]][name], value) for name, value in line.get("args", {}).items())
            for name, keys, value in (
                *cells(line.get("pre", {}), self.kinds),
                *cells(line.get("post", {}), self.kinds),
            ):
                yield from zip(self.kinds[name][0], keys, strict=True)
                yield self.kinds[name][1], value

    def _see(self, kind: Any, value: Any) -> None:
        kind = some(kind)
        if value is None:
            return
        if kind in self.elements:
            name = _name(value)
            self.elements[kind].setdefault(name, len(self.elements[kind]))
            for place, constant in enumerate(self.given.get(kind, ())):
                self._see(self.kinds[constant][1], json.loads(name)[place])
        elif kind in self.numbers:
            self.numbers[kind].add(int(value))

    def _codes(self, kind: type) -> Iterator[tuple[int, int]]:
        """The code of each number. Between two literals there is no room."""
        if kind.__name__ in self.plain:
            yield from ((number, number) for number in self.numbers[kind])
            return
        literals = self.literals.get(kind.__name__, 0)
        for place, number in enumerate(sorted(self.numbers[kind])):
            yield number, min(place, literals) + max(0, place - literals) * (1 + self.room)

    def _top(self, kind: type) -> int:
        """The greatest number of the Nat; at least the model's own bound, where ghosts may have keys of their own."""
        top = max(self.codes[kind].values())
        if kind.__name__ in self.plain:
            return max(top, self.plain[kind.__name__]) + (kind.__name__ in self.rising)
        return max(top + self.room, self.least[kind])

    def value(self, kind: Any, value: Any) -> Any:
        """The model's value for a log's value, or for a key of a JSON object."""
        kind = some(kind)
        if value is None:
            return None
        if kind in self.elements:
            return kind.element(self.elements[kind][_name(value)])
        if kind in self.codes:
            return kind(self.codes[kind][int(value)])
        if kind is bool:
            return value is True or value == "true"
        return kind(int(value)) if issubclass(kind, Int) else kind[value]

    def _plain(self, kind: Any, value: Any) -> Any:
        found = self.value(kind, value)
        return found.index if isinstance(found, Sort) else found


def kinds_of(model: type[Model]) -> dict[str, Kinds]:
    """The types of each field."""
    return {name: _kinds(hint) for name, hint in get_type_hints(model, include_extras=True).items() if name[0] != "_"}


def _kinds(hint: Any) -> tuple[tuple[Any, ...], Any]:
    """The types of a field's keys, and of its values."""
    if get_origin(hint) is Annotated:
        return _kinds(get_args(hint)[0])
    if get_origin(hint) is Rel:
        return get_args(hint), bool
    if get_origin(hint) is Map:
        key, value = get_args(hint)
        return get_args(key) if get_origin(key) is tuple else (key,), value
    return (), hint


def some(kind: Any) -> Any:
    """The type without None."""
    return get_args(kind)[0] if get_origin(kind) in (UnionType, Union) else kind


def _name(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def cells(cells: Mapping[str, Any], kinds: Mapping[str, tuple[tuple[Any, ...], Any]]) -> Iterator[tuple[str, Any, Any]]:
    """The cells that a line gives: field, keys, value."""
    for name, value in cells.items():
        nested: list[tuple[tuple[str, ...], Any]] = [((), value)]
        for _ in kinds[name][0]:
            nested = [((*keys, key), inner) for keys, each in nested for key, inner in each.items()]
        yield from ((name, keys, inner) for keys, inner in nested)
