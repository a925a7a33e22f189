"""The grammar of a metadata log: which consecutive records make one operation, and its meaning for a model.

The records of a batch are divided into operations from left to right. An operation is a sequence of elements. At each
record, the first operation of the mapping is taken whose elements all fit. An element takes as many records as it can,
and gives none back: there is no backtracking.

An expression of the mapping names the records of its operation by their places, as in ``1.streamId``. In a condition,
the fields of the record itself have their plain names, and ``last`` is the record of the same type and key before this
operation. In an event for each element of a list, the fields of the list's element have their plain names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from holdfast.check.conform.dumps.dump_record import DumpRecord
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import Json
from holdfast.check.conform.mappings.mapping_event import Kind
from holdfast.check.conform.mappings.mapping_expressions import (
    AbsentError,
    MappingExpression,
    ValueProblem,
    scalar_text,
)
from holdfast.ir.errors import Place

Fields = dict[str, Any]
Conditions = tuple[tuple[MappingExpression, MappingExpression], ...]
"""Pairs of expressions that must be equal. A pair is skipped if it has a field that is marked with ? and absent."""

ONCE, OPTIONAL, ANY, SOME = "", "?", "*", "+"
"""How often an element occurs in an operation: once, at most once, any number of times, at least once."""


@attrs.frozen
class Element:
    """One element of an operation: records of one type that fulfil the conditions."""

    type: str
    repeat: str
    conditions: Conditions
    asks_last: bool = attrs.field(init=False)
    """Whether a condition names ``last``. Most do not, and looking for the last record takes time."""

    @asks_last.default
    def _names_last(self) -> bool:
        return any("last" in side.roots for condition in self.conditions for side in condition)


@attrs.frozen
class RecordCase:
    """The meaning of an operation, or of a list's element in it, if the conditions hold: an event, or None."""

    where: Conditions
    kind: Kind | None


@attrs.frozen
class RecordPart:
    """A part of an operation's meaning. ``each``: the path of a list; one case applies for each element of the list."""

    each: tuple[str, ...] | None
    cases: tuple[RecordCase, ...]
    at: Place


@attrs.frozen
class Operation:
    """Records that the controller appends for one request, and the events that they stand for."""

    name: str
    at: Place
    elements: tuple[Element, ...]
    parts: tuple[RecordPart, ...]
    second: str | None = attrs.field(init=False)
    """The type of the second record, if every match of the operation has one of the same type; otherwise None."""

    @second.default
    def _second(self) -> str | None:
        first, *others = self.elements
        if first.repeat != ONCE or not others or others[0].repeat not in (ONCE, SOME):
            return None
        return others[0].type


@attrs.frozen
class Grammar:
    """The ``records`` of a mapping. ``keys``: by type, an expression; ``last`` is the latest record with its value."""

    operations: tuple[Operation, ...]
    keys: Mapping[str, MappingExpression]

    @property
    def types(self) -> frozenset[str]:
        """The types of records that occur in operations."""
        return frozenset(element.type for operation in self.operations for element in operation.elements)


class MisfitError(Exception):
    """Records that are no operation. ``record`` is the first one; the text says why each operation does not fit."""

    def __init__(self, record: DumpRecord, problem: str) -> None:
        super().__init__(problem)
        self.record = record


class Divider:
    """Divides batches into operations, and remembers the last record of each type and key.

    ``after``: a divider for the earlier records, whose last records this one continues with.
    """

    def __init__(self, grammar: Grammar, after: Divider | None = None) -> None:
        self._grammar = grammar
        # Operations by the type of their first record, in the order of the mapping: the first that fits is taken.
        self._leading: dict[str, list[Operation]] = {}
        for operation in grammar.operations:
            self._leading.setdefault(operation.elements[0].type, []).append(operation)
        self._types = grammar.types
        self.met: Counter[str] = Counter()
        """How often each operation occurred."""
        self._last: dict[tuple[str, str], Fields] = after._last if after is not None else {}

    def leads(self, record: DumpRecord) -> bool:
        """Whether an operation may begin with the record."""
        return record.type in self._leading

    @property
    def types(self) -> frozenset[str]:
        """The types of records that occur in operations."""
        return self._types

    def events(self, batch: Sequence[DumpRecord]) -> Iterator[tuple[DumpRecord, Kind, Fields]]:
        """The events of a batch: for each the record that it comes from, its kind, and the scope of its expressions.

        Raises MisfitError for a record that begins no operation, after the events of the records before it.
        """
        start = 0
        while start < len(batch):
            following = batch[start + 1].type if start + 1 < len(batch) else None
            for operation in self._leading.get(batch[start].type, ()):
                # A quick test that rules out most operations without a match.
                if operation.second not in (None, following):
                    continue
                match = _Match(operation, batch, start, self._last_of)
                if match.fits:
                    break
            else:
                raise MisfitError(batch[start], self._problem(batch, start))
            self.met[match.operation.name] += 1
            yield from match.events()
            # Remember only after the events: within its operation, ``last`` means the record before the operation.
            for record in batch[start : match.end]:
                self._remember(record)
            start = match.end

    def _remember(self, record: DumpRecord) -> None:
        key = self._key(record)
        if key is not None:
            self._last[key] = record.data

    def _last_of(self, record: DumpRecord) -> Fields | None:
        key = self._key(record)
        return None if key is None else self._last.get(key)

    def _key(self, record: DumpRecord) -> tuple[str, str] | None:
        expression = self._grammar.keys.get(record.type)
        if expression is None:
            return None
        try:
            return record.type, scalar_text(expression.value(record.data))
        except ValueProblem as problem:
            expression.of(record.data, record.at)  # Raises UsageError if the field is missing.
            damaged(record.at, f"{expression.text}: {problem}", f"{expression.at.file}:{expression.at.line} needs it")

    def _problem(self, batch: Sequence[DumpRecord], start: int) -> str:
        """Why no operation begins at a record: the problems of the operations that match the most records."""
        tried = self._leading.get(batch[start].type)
        if tried is None:
            return f"no operation begins with a {batch[start].type}"
        matches = [_Match(operation, batch, start, self._last_of) for operation in tried]
        furthest = max(match.end for match in matches)
        problems = [f"{match.operation.name}: {match.problem()}" for match in matches if match.end == furthest]
        return "; ".join(dict.fromkeys(problems))


class _Match:
    """An operation, tried on the records from ``start``. ``end``: the index of the first record not taken."""

    def __init__(self, operation: Operation, batch: Sequence[DumpRecord], start: int, last_of: Any) -> None:
        self.operation = operation
        self.batch, self.start, self.end = batch, start, start
        self.scope: Fields = {}
        self.taken: dict[str, range] = {}
        """For each element, the indices in the batch of the records that it took."""
        self._last_of = last_of
        self._missing: Element | None = None
        for place, element in enumerate(operation.elements, 1):
            if not self._take(str(place), element):
                self._missing = element
                break

    @property
    def fits(self) -> bool:
        """Whether all elements found their records."""
        return self._missing is None

    def _take(self, place: str, element: Element) -> bool:
        batch, begin, many = self.batch, self.end, element.repeat in (ANY, SOME)
        most = len(batch) if many else min(begin + 1, len(batch))
        while self.end < most and self._is(element, batch[self.end]):
            self.end += 1
        self.taken[place] = range(begin, self.end)
        if many:
            self.scope[place] = [record.data for record in batch[begin : self.end]]
        elif self.end > begin:
            self.scope[place] = batch[begin].data
        return self.end > begin or element.repeat in (OPTIONAL, ANY)

    def _is(self, element: Element, record: DumpRecord) -> bool:
        if record.type != element.type:
            return False
        return not element.conditions or _hold(element.conditions, self._scope_of(element, record))

    def _scope_of(self, element: Element, record: DumpRecord) -> Fields:
        scope = {**record.data, **self.scope}
        # A record's own fields must not hide the operation's records, so these come second.
        last = self._last_of(record) if element.asks_last else None
        if last is not None:
            scope["last"] = last
        return scope

    def problem(self) -> str:
        """Why the operation does not fit."""
        element = self._missing
        assert element is not None
        if self.end == len(self.batch):
            return f"the batch ends, and a {element.type} is missing"
        record = self.batch[self.end]
        if record.type != element.type:
            return f"a {record.type} stands at offset {record.offset}, and a {element.type} is missing"
        scope = self._scope_of(element, record)
        left, right = next(each for each in element.conditions if not _holds(each, scope))
        values = f"{left.text} is {_value(left, scope)}"
        wanted = f"{right.text} is {_value(right, scope)}" if right.roots else f"{right.text} is wanted"
        return f"the {record.type} at offset {record.offset} does not fit: {values}, and {wanted}"

    def events(self) -> Iterator[tuple[DumpRecord, Kind, Fields]]:
        """The events of the operation, in the order of the mapping. Raises MisfitError if no case of a part fits."""
        for part in self.operation.parts:
            if part.each is None:
                yield from self._case(part, self.batch[self.start], self.scope)
                continue
            for record, element in self._elements(part.each, part.at):
                yield from self._case(part, record, {**element, **self.scope})

    def _case(self, part: RecordPart, record: DumpRecord, scope: Fields) -> Iterator[tuple[DumpRecord, Kind, Fields]]:
        for case in part.cases:
            if _hold(case.where, scope):
                if case.kind is not None:
                    yield record, case.kind, scope
                return
        raise MisfitError(record, f"{self.operation.name}: no case of {part.at.file}:{part.at.line} fits")

    def _elements(self, path: tuple[str, ...], at: Place) -> Iterator[tuple[DumpRecord, Fields]]:
        """The maps at a path, each with its record. Lists on the path are flattened; absent parts give no maps."""
        for taken in self.taken[path[0]]:
            record = self.batch[taken]
            level: list[Any] = [record.data]
            for name in path[1:]:
                level = [each[name] for each in _flat(level) if isinstance(each, dict) and name in each]
            for each in _flat(level):
                if not isinstance(each, dict):
                    damaged(
                        record.at, f"{'.'.join(path)} holds {shown(each)}", f"{at.file}:{at.line} needs a list of maps"
                    )
                yield record, each


def _flat(level: list[Any]) -> Iterator[Any]:
    for each in level:
        if isinstance(each, list):
            yield from each
        elif each is not None:
            yield each


def _hold(conditions: Conditions, scope: Fields) -> bool:
    for each in conditions:  # noqa: SIM110 - a generator takes twice as long
        if not _holds(each, scope):
            return False
    return True


def _holds(condition: tuple[MappingExpression, MappingExpression], scope: Fields) -> bool:
    left, right = condition
    try:
        one, other = left.value(scope), right.value(scope)
    except AbsentError:
        return True
    except ValueProblem:
        return False
    return type(one) is type(other) and one == other


def _value(expression: MappingExpression, scope: Fields) -> str:
    try:
        value: Json = expression.value(scope)
    except AbsentError:
        return "absent"
    except ValueProblem as problem:
        return f"not known ({problem})"
    return shown(value)
