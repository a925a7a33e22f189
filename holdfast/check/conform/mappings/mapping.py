"""Mappings: rules to read the lines of a system's own log as events of a model."""

from __future__ import annotations

from collections.abc import Mapping as Map

import attrs

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import UNKNOWN, Json, LogEvent
from holdfast.check.conform.logs.fields import event_cause, event_number, interval, offsets, source_name
from holdfast.check.conform.logs.own_format import Header
from holdfast.check.conform.logs.strict_json import Raw
from holdfast.check.conform.mappings.mapping_event import Kind, cells_of
from holdfast.check.conform.mappings.mapping_expressions import (
    AbsentError,
    MappingExpression,
    NoFieldError,
    Tables,
    ValueProblem,
    scalar_text,
)
from holdfast.check.conform.mappings.records import Grammar
from holdfast.ir.errors import Place

NDJSON, KAFKA_DUMP = "ndjson", "kafka-dump"


@attrs.frozen
class SourceFields:
    """The fields of a line that hold the values which every event has. ``cause`` is None if the log names no causes."""

    when: MappingExpression
    time: MappingExpression
    number: MappingExpression
    source: MappingExpression
    cause: MappingExpression | None = None


@attrs.frozen
class MappedOutcome:
    """The field of a line that holds the outcome, and its values.

    ``taken``: the values for a step that was taken. ``unknown``: the values for an unknown outcome. Any other value is
    the name of an error. If a line lacks the field, or has null there, its step was taken.
    """

    field: MappingExpression
    taken: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()


@attrs.frozen
class Mapping:
    """A mapping. ``about``: the model, its variants and its literals.

    ``format``: NDJSON, or KAFKA_DUMP. For a dump, ``fields`` and ``outcome`` are None and ``kinds`` is empty;
    ``records`` defines which records make an operation, and ``snapshot`` does so for snapshots (None if the mapping
    reads no snapshots). ``ignore``: the kinds of lines, or of records, that say nothing about the model. ``hidden``:
    the actions that no line shows, with their places in the mapping. ``unseen``: sentences about facts that no log of
    this kind shows.
    """

    file: str
    about: Header
    format: str = NDJSON
    fields: SourceFields | None = None
    tables: Tables = attrs.field(factory=dict)
    kinds: Map[str, Kind] = attrs.field(factory=dict)
    ignore: frozenset[str] = frozenset()
    hidden: Map[str, Place] = attrs.field(factory=dict)
    outcome: MappedOutcome | None = None
    records: Grammar | None = None
    snapshot: Grammar | None = None
    unseen: tuple[str, ...] = ()

    def header(self, raw: Raw, at: Place) -> None:
        """A foreign log has no header."""

    def event(self, raw: Raw, at: Place) -> LogEvent | None:
        """The event of a line; None if the mapping ignores its kind.

        Raises UsageError if the kind is unknown, or if the line lacks a field that the mapping uses.
        """
        fields = self._fields()
        kind = self._kind(fields.when, raw, at)
        if kind is None:
            return None
        begin, end = interval(_value(fields.time, raw, at), at, fields.time.text)
        span = None
        if kind.span is not None:
            span = offsets(_optional(kind.span, raw, at), at, kind.span.text)
        return LogEvent(
            at,
            self._source(raw, at),
            event_number(_value(fields.number, raw, at), at, fields.number.text),
            begin,
            end,
            _cause(fields.cause, raw, at),
            kind.action,
            kind.arguments(raw, at),
            self._outcome(raw, at),
            span,
            cells_of(kind.pre, raw, at),
            cells_of(kind.post, raw, at),
        )

    def position(self, raw: Raw, at: Place) -> tuple[str, int] | None:
        """Source and number of an ignored line; None if it lacks one of them, because then it does not count."""
        fields = self._fields()
        source, number = _if_there(fields.source, raw, at), _if_there(fields.number, raw, at)
        if source is None or number is None:
            return None
        return source_name(_name(source), at, fields.source.text), event_number(number, at, fields.number.text)

    def _fields(self) -> SourceFields:
        assert self.fields is not None, "a dump has no lines of JSON"
        return self.fields

    def _kind(self, when: MappingExpression, raw: Raw, at: Place) -> Kind | None:
        name = _text(when, _value(when, raw, at), at)
        kind = self.kinds.get(name)
        if kind is None and name not in self.ignore:
            near = nearest(name, [*self.kinds, *sorted(self.ignore)])
            damaged(
                at,
                f"the kind of line {shown(name)} is neither in events nor in ignore of {self.file}",
                f"add it; {near}",
            )
        return kind

    def _source(self, raw: Raw, at: Place) -> str:
        expression = self._fields().source
        return source_name(_name(_value(expression, raw, at)), at, expression.text)

    def _outcome(self, raw: Raw, at: Place) -> str | None:
        if self.outcome is None:
            return None
        value = _if_there(self.outcome.field, raw, at)
        if value is None:
            return None
        name = _text(self.outcome.field, value, at)
        if name in self.outcome.taken:
            return None
        return UNKNOWN if name in self.outcome.unknown else name


def _value(expression: MappingExpression, raw: Raw, at: Place) -> Json:
    """The value of an expression that every event needs."""
    try:
        return expression.of(raw, at)
    except AbsentError:
        damaged(at, f"the line has no {expression.text}", "every event has a kind, a time, a number and a source")


def _optional(expression: MappingExpression, raw: Raw, at: Place) -> Json:
    """The value of an expression; None if the line lacks an optional field."""
    try:
        return expression.of(raw, at)
    except AbsentError:
        return None


def _if_there(expression: MappingExpression, raw: Raw, at: Place) -> Json:
    """The value of an expression; None if the line lacks a field, whether the field is marked as optional or not."""
    try:
        return expression.value(raw)
    except (AbsentError, NoFieldError):
        return None
    except ValueProblem:
        # Evaluate again to raise the error with its place.
        return expression.of(raw, at)


def _text(expression: MappingExpression, value: Json, at: Place) -> str:
    try:
        return scalar_text(value)
    except ValueProblem as problem:
        damaged(at, f"{expression.text}: {problem}", "it names a kind or an outcome")


def _name(value: Json) -> Json:
    """The name of a source. A number becomes a text, because systems number their nodes."""
    return str(value) if type(value) is int else value


def _cause(expression: MappingExpression | None, raw: Raw, at: Place) -> tuple[str, int] | None:
    if expression is None:
        return None
    cause = _if_there(expression, raw, at)
    if isinstance(cause, list) and len(cause) == 2:
        cause = [_name(cause[0]), cause[1]]
    return event_cause(cause, at, expression.text)
