"""Read a grammar from the ``records`` of a mapping file. Other content is a UsageError with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import STATE
from holdfast.check.conform.mappings.mapping_event import Kind
from holdfast.check.conform.mappings.mapping_expressions import MappingExpression, Tables
from holdfast.check.conform.mappings.mapping_kind import read_cells, read_expression, read_kind
from holdfast.check.conform.mappings.records import (
    ANY,
    ONCE,
    OPTIONAL,
    Conditions,
    Element,
    Grammar,
    Operation,
    RecordCase,
    RecordPart,
)
from holdfast.check.conform.mappings.yaml_nodes import Pairs, items, kind, pairs, place, text_of

if TYPE_CHECKING:
    import yaml

SNAPSHOT = "snapshot"
OPERATION_KEYS = ("sequence", "events", "note")

_ELEMENT = re.compile(r"([A-Z][A-Z0-9_]*)([?*+]?)")
_PATH = re.compile(r"([1-9][0-9]?)((?:\.[A-Za-z_]\w*)*)")


def read_grammar(part: str, records: yaml.Node, last: yaml.Node | None, tables: Tables) -> Grammar:
    """The grammar of a mapping's part ``records`` or ``snapshot``, with the keys of its part ``last``."""
    reader = _Operations(part == SNAPSHOT, tables)
    operations = tuple(reader.read(name, key, value) for name, (key, value) in pairs(records, part).items())
    if not operations:
        damaged(place(records), f"{part} is empty", "it says which records make an operation")
    keys = {
        name: read_expression(value, f"the key of {name}", tables)
        for name, (_, value) in (pairs(last, "last") if last is not None else {}).items()
    }
    grammar = Grammar(operations, keys)
    for name, (key, _) in (pairs(last, "last") if last is not None else {}).items():
        if name not in grammar.types:
            damaged(place(key), f"last has {name}, which no operation has", nearest(name, sorted(grammar.types)))
    return grammar


@attrs.frozen
class _Operations:
    """Reads operations. Operations of a snapshot set cells and name no action."""

    snapshot: bool
    tables: Tables

    def read(self, name: str, key: yaml.Node, node: yaml.Node) -> Operation:
        given = pairs(node, name, OPERATION_KEYS)
        if "sequence" not in given:
            damaged(place(key), f"{name} has no sequence", "list the types of its records in their order")
        sequence = given["sequence"][1]
        elements: list[Element] = []
        for each in items(sequence, f"the sequence of {name}"):
            elements.append(_element(each, name, len(elements) + 1, self.tables))
        if not elements:
            damaged(place(sequence), f"the sequence of {name} is empty", "list the types of its records")
        if elements[0].repeat in (OPTIONAL, ANY):
            damaged(
                place(sequence),
                f"{name} begins with {elements[0].type}{elements[0].repeat}, which may be absent",
                "an operation begins with a record that is there; write two operations",
            )
        reader = _Parts(name, elements, self.tables, self.snapshot)
        events = items(given["events"][1], f"events of {name}") if "events" in given else []
        return Operation(name, place(key), tuple(elements), tuple(reader.part(each) for each in events))


def _element(node: yaml.Node, name: str, number: int, tables: Tables) -> Element:
    """One element: ``TYPE``, or ``TYPE: {field: expression, …}``. The type may end with ?, * or +."""
    what = f"element {number} of {name}"
    conditions: Pairs = {}
    if kind(node) == "a map":
        given = pairs(node, what)
        if len(given) != 1:
            damaged(place(node), f"{what} has {len(given)} types", "each element stands on a line of its own")
        ((text, (_, value)),) = given.items()
        conditions = pairs(value, f"conditions of {text}")
    else:
        text = text_of(node, what)
    found = _ELEMENT.fullmatch(text)
    if found is None:
        damaged(
            place(node), f"{what} is {shown(text)}", "it is the type of a record, such as RANGE_RECORD, with ?, * or +"
        )
    read = _conditions(conditions, what, tables)
    for pair in read:
        for each in pair:
            _check_places(each, number)
    return Element(found[1], found[2] or ONCE, read)


def _conditions(given: Pairs, what: str, tables: Tables) -> Conditions:
    return tuple(
        (read_expression(key, f"a field of {what}", tables), read_expression(value, f"{name} of {what}", tables))
        for name, (key, value) in given.items()
    )


def _check_places(expression: MappingExpression, before: int, *, named: bool = True) -> None:
    """Raise UsageError for an expression that names an unknown record. ``before``: the first place that it may not use.

    ``named``: whether fields may have plain names, without the place of their record.
    """
    for root in sorted(expression.roots):
        if root.isdecimal() and not 1 <= int(root) < before:
            known = f"1 to {before - 1}" if before > 2 else "1" if before == 2 else "none"
            damaged(
                expression.at, f"{shown(expression.text)} uses record {root}", f"records that stand before: {known}"
            )
        if not root.isdecimal() and not named:
            damaged(
                expression.at,
                f"{shown(expression.text)} does not name the record that has {root}",
                f"write 1.{root} for a field of the first record",
            )


class _Parts:
    """Reads the events of one operation."""

    def __init__(self, name: str, elements: list[Element], tables: Tables, snapshot: bool) -> None:
        self.name, self.elements, self.tables, self.snapshot = name, elements, tables, snapshot

    def part(self, node: yaml.Node) -> RecordPart:
        given = pairs(node, f"an event of {self.name}")
        each = self._each(given["each"][1]) if "each" in given else None
        if "cases" in given:
            for key in given:
                if key not in ("each", "cases"):
                    damaged(place(given[key][0]), f"{shown(key)} stands beside cases", "put it into the cases")
            cases = tuple(self._case(case, each is not None) for case in items(given["cases"][1], "cases"))
            if not cases:
                damaged(place(given["cases"][1]), "cases is empty", "write at least one case")
        else:
            cases = (self._case(node, each is not None),)
        return RecordPart(each, cases, place(node))

    def _each(self, node: yaml.Node) -> tuple[str, ...]:
        text = text_of(node, "each")
        found = _PATH.fullmatch(text)
        if found is None or int(found[1]) > len(self.elements):
            damaged(
                place(node), f"each is {shown(text)}", f"it is a list in record 1 to {len(self.elements)}: 2.entries"
            )
        return found[1], *found[2].split(".")[1:]

    def _case(self, node: yaml.Node, named: bool) -> RecordCase:
        given = pairs(node, f"an event of {self.name}")
        where: Conditions = ()
        if "where" in given:
            where = _conditions(pairs(given["where"][1], "where"), "where", self.tables)
        rest = {key: value for key, value in given.items() if key not in ("each", "where")}
        if "span" in rest:
            damaged(place(rest["span"][0]), "an operation has no span", "give its arguments")
        read: Kind | None = None
        if rest:
            read = self._state(node, rest) if self.snapshot else read_kind(self.name, node, rest, self.tables)
        for expression in (*(each for pair in where for each in pair), *(_expressions(read) if read else ())):
            _check_places(expression, len(self.elements) + 1, named=named)
        return RecordCase(where, read)

    def _state(self, node: yaml.Node, given: Pairs) -> Kind:
        """The cells that a snapshot sets."""
        for key, (named, _) in given.items():
            if key != "post":
                damaged(place(named), f"{self.name} has {key}", "a snapshot has no requests: give post alone")
        return Kind(self.name, place(node), STATE, {}, {}, post=read_cells(given["post"][1], self.name, self.tables))


def _expressions(found: Kind) -> Iterable[MappingExpression]:
    """All expressions of a kind of event."""
    yield from found.args.values()
    waiting: list[object] = [found.pre, found.post]
    while waiting:
        each = waiting.pop()
        if isinstance(each, MappingExpression):
            yield each
        elif isinstance(each, tuple):
            waiting.extend(each)
