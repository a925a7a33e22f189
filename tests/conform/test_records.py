"""The grammar of dumps: how records are divided into operations, and the errors where that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.dumps.dump_record import DumpBatch, DumpRecord
from holdfast.check.conform.mappings.mapping_event import cells_of
from holdfast.check.conform.mappings.mapping_file import mapping_of, read_mapping
from holdfast.check.conform.mappings.mapping_names import check_names
from holdfast.check.conform.mappings.records import Divider, MisfitError
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from tests.conform.malformed_mappings import ACK, SOURCE
from tests.conform.malformed_records import HEAD, MALFORMED_RECORDS

BATCH = DumpBatch("d.txt", 0, 9, 1)
Row = tuple[str, dict[str, Any]]


def records(*rows: Row) -> list[DumpRecord]:
    """Records with offsets from 0."""
    return [DumpRecord(kind, 0, data, offset, 0, BATCH, offset + 1) for offset, (kind, data) in enumerate(rows)]


def divider(text: str, last: str = "") -> Divider:
    """The divider for the operations of this mapping."""
    mapping = mapping_of(f"{last}{HEAD}{text}", "m.yaml")
    assert mapping.records is not None
    return Divider(mapping.records)


def events(found: Divider, *rows: Row) -> list[tuple[int, str, dict[str, Any]]]:
    """The offsets, actions and arguments of the events of a batch."""
    return [
        (record.offset, kind.action, kind.arguments(scope, record.at))
        for record, kind, scope in found.events(records(*rows))
    ]


def misfit(found: Divider, *rows: Row) -> tuple[int, str]:
    """The offset and the problem of the first record that begins no operation."""
    with pytest.raises(MisfitError) as caught:
        events(found, *rows)
    return caught.value.record.offset, str(caught.value)


TWO = """
  long: {sequence: [A: {x: 1}, B], events: [{action: long, s: 2.y}]}
  short: {sequence: [A], events: [{action: short, s: 1.x}]}
"""


def test_the_first_operation_that_fits_is_taken() -> None:
    """A batch may hold several operations in a row, and the first operation that fits is taken."""
    rows = [("A", {"x": 1}), ("B", {"y": 5}), ("A", {"x": 2}), ("A", {"x": 1})]
    assert events(divider(TWO), *rows) == [
        (0, "long", {"s": 5}),
        (2, "short", {"s": 2}),
        (3, "short", {"s": 1}),
    ]


def test_an_operation_does_not_go_on_in_the_next_batch() -> None:
    """An operation ends with its batch, since the controller appends it at once."""
    only = divider("  op: {sequence: [A, B]}\n")
    assert misfit(only, ("A", {})) == (0, "op: the batch ends, and a B is missing")


@pytest.mark.parametrize(
    ("sign", "most", "fits"),
    [("", 1, {1}), ("?", 1, {0, 1}), ("*", 3, {0, 1, 2, 3}), ("+", 3, {1, 2, 3})],
)
def test_an_element_stands_as_often_as_its_sign_says(sign: str, most: int, fits: set[int]) -> None:
    """An element occurs once, at most once, any number of times, or at least once, as its sign says."""
    found = divider(f"  op: {{sequence: [A, 'B{sign}', C], events: [{{action: x, s: 3.z}}]}}\n")
    for count in range(most + 2):
        rows: list[Row] = [("A", {}), *[("B", {})] * count, ("C", {"z": 7})]
        if count in fits:
            assert events(found, *rows) == [(0, "x", {"s": 7})]
        elif count <= most or sign in ("", "?"):
            assert misfit(found, *rows)[0] == 0


def test_conditions_compare_fields_places_and_constants() -> None:
    """A condition names the record's own fields, and earlier records by place; 1 does not equal true."""
    found = divider("  op: {sequence: [A: {x: y}, B: {s: 1.s, n: 1.n + 1, flag: true}]}\n")
    good: list[Row] = [("A", {"x": 1, "y": 1, "s": 3, "n": 4}), ("B", {"s": 3, "n": 5, "flag": True})]
    assert events(found, *good) == []
    for place, field, value in ((0, "x", 2), (1, "s", 4), (1, "n", 4), (1, "flag", 1), (1, "flag", "true")):
        rows = [(kind, dict(data)) for kind, data in good]
        rows[place][1][field] = value
        offset, text = misfit(found, *rows)
        assert offset == 0
        assert f"the {'AB'[place]} at offset {place} does not fit: {field} is" in text
    assert "there is no" not in misfit(found, ("A", {"x": 1}))[1]


def test_a_condition_on_an_absent_field_does_not_hold_unless_it_is_optional() -> None:
    """A condition on an absent field fails unless the field is optional."""
    strict, loose = divider("  op: {sequence: [A: {x: 1}]}\n"), divider('  op: {sequence: [A: {"x?": 1}]}\n')
    assert misfit(strict, ("A", {}))[0] == 0
    assert events(loose, ("A", {})) == []
    assert misfit(loose, ("A", {"x": 2}))[0] == 0


def test_last_is_the_record_of_the_same_key_before_the_operation() -> None:
    """``last`` is the latest record with the same key before this operation, perhaps in an earlier batch."""
    text = '  first: {sequence: [A: {n: 0}]}\n  next: {sequence: [A: {n: "last.n? + 1"}]}\n'
    found = divider(text, "last: {A: s}\n")
    assert events(found, ("A", {"s": 1, "n": 0}), ("A", {"s": 1, "n": 1}), ("A", {"s": 2, "n": 0})) == []
    assert events(found, ("A", {"s": 2, "n": 1}), ("A", {"s": 3, "n": 9})) == []
    problems = (
        "first: the A at offset 0 does not fit: n is 3, and 0 is wanted",
        "next: the A at offset 0 does not fit: n is 3, and last.n? + 1 is 2",
    )
    assert misfit(found, ("A", {"s": 1, "n": 3})) == (0, "; ".join(problems))


def test_each_element_of_a_list_is_an_event() -> None:
    """Elements of a record's list, of repeated records and of nested lists are events by the first case that fits."""
    text = """
  op:
    sequence: [A, 'B*', 'C?']
    events:
      - each: 2.rows
        cases: [{where: {a: b}, action: same, s: a}, {where: {a: 1.skip}}, {action: other, s: a, e: 1.x}]
      - {each: "2", action: whole, s: n}
      - {each: 3.rows, action: rest, s: a}
"""
    pairs = [{"a": 1, "b": 1}, {"a": 2, "b": 9}, {"a": 3, "b": 9}]
    assert events(divider(text), ("A", {"x": 5, "skip": 2}), ("B", {"n": 7, "rows": pairs}), ("B", {"n": 8})) == [
        (1, "same", {"s": 1}),
        (1, "other", {"s": 3, "e": 5}),
        (1, "whole", {"s": 7}),
        (2, "whole", {"s": 8}),
    ]


def test_an_element_that_no_case_covers_is_a_misfit() -> None:
    """An element that no case covers is named, with its record."""
    text = "  op: {sequence: [A], events: [{each: 1.rows, where: {a: 1}, action: x}]}\n"
    assert misfit(divider(text), ("A", {"rows": [{"a": 1}, {"a": 2}]})) == (0, "op: no case of m.yaml:3 fits")


def test_cells_are_keyed_by_fields() -> None:
    """Cells have fields as keys, as in all mappings."""
    text = "  op: {sequence: [A], events: [{action: x, post: {f: {1.n: {1.s: 1.v - 1}}}}]}\n"
    ((record, kind, scope),) = divider(text).events(records(("A", {"n": 4, "s": 2, "v": 8})))
    assert cells_of(kind.post, scope, record.at) == {"f": {"4": {"2": 7}}}


@pytest.mark.parametrize("name", MALFORMED_RECORDS)
def test_a_malformed_mapping_of_a_dump_is_one_line(tmp_path: Path, name: str) -> None:
    """A malformed mapping of a dump gives one line: its file and line, the problem, and the remedy."""
    text, number, words = MALFORMED_RECORDS[name]
    path = tmp_path / "m.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_mapping(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:{number}: ")
    assert words in said
    assert "; " in said
    assert "\n" not in said


# Names --------------------------------------------------------------------------------------------------------------

TABLES = compile_model(load_model("controller_tables"))


def in_event(text: str) -> str:
    """A mapping of a dump with one event, on line 5."""
    return f"{HEAD}  op:\n    sequence: [A]\n    events: [{{{text}}}]\n"


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        (in_event("action: opne"), 5, "ControllerTables has no action opne; did you mean open?"),
        (in_event("action: open, stream: 1.s"), 5, "open has no parameter stream"),
        (in_event("action: close, post: {opend: {1.s: true}}"), 5, "has no field opend; did you mean opened?"),
        (in_event("action: close, pre: {opened: true}"), 5, "opened has 0 keys here"),
        (in_event("action: close, pre: {entry_to: {1.n: 3}}"), 5, "entry_to has 1 keys here"),
        (in_event("action: close, pre: {opened: {1.s: {1.n: true}}}"), 5, "opened has 1 keys here"),
        (in_event("action: close, pre: {opened: {1.s: 1}}"), 5, "opened is 1; it is true or false"),
        (in_event("action: register, n: 1.n, e: -1, flag: false"), 5, "e is -1; it is a number of NodeEpoch"),
        (in_event("action: register, n: 1.n, e: 1.e, flag: 'no'"), 5, 'flag is "no"; it is true or false'),
        (in_event("action: trim, q: [1, 2]"), 5, "q is [1, 2]"),
        ("hidden: [sweep]\n" + in_event("action: open"), 1, "hidden names sweep"),
        ("model: x\nliterals: {Epochs: {1: 3}}\n" + in_event("action: open"), 1, "literals names Epochs"),
        (SOURCE + ACK, 2, "ControllerTables has no action append"),
        (SOURCE + "events:\n  ack:\n    action: open\n    s: a\n    p: b\n", 6, "open has no parameter p"),
    ],
)
def test_names_that_the_model_lacks_are_named(text: str, number: int, words: str) -> None:
    """Names that the model lacks are reported before any log is read, for mappings of dumps and of lines."""
    with pytest.raises(UsageError) as caught:
        check_names(mapping_of(text, "m.yaml"), TABLES)
    said = str(caught.value)
    assert said.startswith(f"m.yaml:{number}: ")
    assert words in said
    assert "\n" not in said


def test_a_mapping_that_comes_with_holdfast_has_a_name() -> None:
    """A mapping that comes with Holdfast can be named, and its own names exist in the model."""
    mapping = read_mapping(Path("automq-metadata"))
    assert mapping.file.endswith("mappings/automq-metadata.yaml")
    check_names(mapping, TABLES)
    with pytest.raises(UsageError, match="there is no mapping automq-metadta; did you mean automq-metadata"):
        read_mapping(Path("automq-metadta"))
