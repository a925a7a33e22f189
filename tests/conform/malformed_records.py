"""Malformed mappings of dumps, by name: the text, the line of the error, and words of the error."""

from __future__ import annotations

HEAD = "source: {format: kafka-dump}\nrecords:\n"


def operation(sequence: str, events: str = "") -> str:
    """A mapping of one operation ``op``: its sequence on line 4, its events on line 5."""
    return f"{HEAD}  op:\n    sequence: {sequence}\n" + (f"    events: {events}\n" if events else "")


def event(text: str) -> str:
    """A mapping with one event, on line 5, of an operation of two records and a list."""
    return operation("[A, 'B?', 'C*']", f"[{{{text}}}]")


MALFORMED_RECORDS = {
    "records a list": ("source: {format: kafka-dump}\nrecords: []\n", 2, "records is a list"),
    "records empty": ("source: {format: kafka-dump}\nrecords: {}\n", 2, "records is empty"),
    "an operation of nothing": (HEAD + "  op:\n", 3, "op is nothing"),
    "an operation without a sequence": (HEAD + "  op: {events: []}\n", 3, "op has no sequence"),
    "an unknown key": (HEAD + "  op: {sequense: [A]}\n", 3, "did you mean sequence?"),
    "a sequence that is a text": (operation("A"), 4, 'the sequence of op is "A"'),
    "a sequence of nothing": (operation("[]"), 4, "the sequence of op is empty"),
    "an optional begin": (operation("['A?', B]"), 4, "which may be absent"),
    "a begin of any number": (operation("['A*', B]"), 4, "which may be absent"),
    "a type in small letters": (operation("[range_record]"), 4, 'element 1 of op is "range_record"'),
    "a type with two signs": (operation("['A*?']"), 4, 'element 1 of op is "A*?"'),
    "an element of two types": (operation("[{A: {}, B: {}}]"), 4, "element 1 of op has 2 types"),
    "conditions that are a text": (operation("[A: x]"), 4, 'conditions of A is "x"'),
    "a condition on a later record": (operation("[A: {x: 2.x}, B]"), 4, '"2.x" uses record 2'),
    "a condition on the record by its place": (operation("[A: {x: 1.x}]"), 4, '"1.x" uses record 1'),
    "a condition that is no expression": (operation("[A: {x: a b}]"), 4, '"b" stands where'),
    "a field that is no expression": (operation("[A: {a b: 1}]"), 4, '"b" stands where'),
    "events that are a map": (operation("[A]", "{action: x}"), 5, "events of op is a map"),
    "an event without an action": (event("s: 1.x"), 5, "op has no action"),
    "an event of a place that is not there": (event("action: x, s: 4.x"), 5, '"4.x" uses record 4'),
    "an event of record 0": (event("action: x, s: 0.x"), 5, '"0.x" uses record 0'),
    "a plain field of an event": (event("action: x, s: streamId"), 5, "does not name the record that has streamId"),
    "a plain field among cells": (event("action: x, post: {f: {streamId: 1.x}}"), 5, "write 1.streamId"),
    "last in an event": (event("action: x, s: last.x"), 5, "does not name the record that has last"),
    "each of a place that is not there": (event("each: 4.x, action: x"), 5, 'each is "4.x"'),
    "each of a field": (event("each: entries, action: x"), 5, 'each is "entries"'),
    "cases beside an action": (event("cases: [{action: x}], action: x"), 5, '"action" stands beside cases'),
    "no cases": (event("cases: []"), 5, "cases is empty"),
    "where that is a list": (event("where: [a], action: x"), 5, "where is a list"),
    "a span": (event("action: x, span: 1.x"), 5, "an operation has no span"),
    "last of an unknown type": ("last: {X: a}\n" + operation("[A]"), 1, "last has X, which no operation has"),
    "a type that is used and ignored": ("ignore: [A]\n" + operation("[A]"), 1, "stands in an operation and in ignore"),
    "unseen a text": ("unseen: acks\n" + operation("[A]"), 1, 'unseen is "acks"'),
    "a pattern of files": (operation("[A]").replace("kafka-dump", "kafka-dump, file: x"), 1, 'unknown key "file"'),
}  # fmt: skip
