"""Malformed mappings, and log lines that do not fit a mapping: each gives one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping_file import mapping_of, read_mapping
from holdfast.ir.errors import UsageError
from tests.conform.foreign_log import AT, line
from tests.conform.malformed_mappings import ACK, MALFORMED, SOURCE


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_mapping_is_one_line(tmp_path: Path, name: str) -> None:
    """A malformed mapping ends with exit code 2 and one line: its file and line, the problem, and the remedy."""
    text, number, words = MALFORMED[name]
    path = tmp_path / "m.yaml"
    path.write_bytes(text.encode())
    with pytest.raises(UsageError) as caught:
        read_mapping(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:{number}: ")
    assert words in said
    assert "; " in said
    assert len(said.splitlines()) == 1
    assert len(said) < len(str(path)) + 300


def test_there_are_enough_malformed_mappings() -> None:
    """There are as many malformed mappings as planned."""
    assert len(MALFORMED) >= 100


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    """A missing file, a folder and a file in another encoding are usage errors."""
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("# a\n# ä\n".encode("latin-1"))
    for path, words in (
        (tmp_path / "no.yaml", "No such file"),
        (tmp_path, "is a folder"),
        (latin, f"{latin}:2: the file is not UTF-8"),
    ):
        with pytest.raises(UsageError, match="; ") as caught:
            read_mapping(path)
        assert words in str(caught.value)


FOREIGN: dict[str, tuple[str, dict[str, Any], str]] = {
    "no kind": ("x: 1", {"event": None}, "event: null is no text"),
    "kind a list": ("x: 1", {"event": ["ack"]}, 'event: ["ack"] is no text'),
    "an unknown kind": ("x: 1", {"event": "akc"}, 'the kind of line "akc" is neither in events nor in ignore'),
    "its nearest kind": ("x: 1", {"event": "akc"}, "did you mean ack?"),
    "time a text": ("x: 1", {"ts": "12:30"}, 'ts is "12:30"'),
    "time null": ("x: 1", {"ts": None}, "ts is null"),
    "seq a text": ("x: 1", {"n": "1"}, 'n is "1"'),
    "source null": ("x: 1", {"broker": None}, "broker is null"),
    "source a float": ("x: 1", {"broker": 1.5}, "broker is 1.5"),
    "cause a number": ("x: 1", {"after": 3}, "after is 3"),
    "no field": ("x: stream", {"straem": 1}, "the line has no field stream (did you mean straem?)"),
    "how to make it optional": ("x: stream", {}, "write stream? at m.yaml:5"),
    "no nested field": ("x: a.b", {"a": {"c": 1}}, "the line has no field a.b"),
    "a field of null": ("x: a.b", {"a": None}, "the line has no field a.b: a is null"),
    "a field of a text": ("x: a.b?", {"a": "t"}, 'the line has no field a.b: a is "t"'),
    "a place behind a list": ("x: a.2", {"a": [1]}, "the line has no field a.2: a is a list of 1"),
    "a name in a list": ("x: a.b?", {"a": [1]}, "the line has no field a.b: a is [1]"),
    "a sum of texts": ("x: a + 1", {"a": "1"}, '"1" is no integer'),
    "a sum of truths": ("x: 1 + a", {"a": True}, "true is no integer"),
    "a sum of floats": ("x: a - 1", {"a": 1.5}, "1.5 is no integer"),
    "a sum of null": ("x: a - 1", {"a": None}, "null is no integer"),
    "no entry": ("x: codes[a]", {"a": "NOEN"}, 'the table codes has no "NOEN" (did you mean NONE?)'),
    "a key that is a list": ("x: codes[a]", {"a": [1]}, "[1] is no text and no integer"),
    "span of texts": ("span: [a, b]", {"a": "1", "b": "2"}, '[a, b] is ["1", "2"]'),
    "span turned round": ("span: [a, b]", {"a": 2, "b": 1}, "ends before its base"),
    "a cell twice": ("post: {x: {a: 1, b: 2}}", {"a": "s", "b": "s"}, 'gives the cell "s" twice'),
    "a key of a cell missing": ("post: {x: {stream: 1}}", {}, "the line has no field stream"),
    "a name with line ends": ("x: a", {"a\nb\u2028": 1}, "broker, a\\nb\\u2028"),
    "a very long name": ("x: a", {"a" * 9999: 1}, "…"),
    "an outcome of no table": ("x: 1", {"code": 99}, 'the table codes has no "99"'),
    "an outcome that is a list": ("x: 1", {"code": [1]}, "[1] is no text and no integer"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_line_that_does_not_fit_the_mapping_is_an_error(rows: Callable[..., str], name: str) -> None:
    """A line without a field that the mapping uses gives one line: the log's file and line, and the place to fix."""
    rest, more, words = FOREIGN[name]
    mapping = mapping_of(
        f"{SOURCE}events:\n  ack:\n    action: append\n    {rest}\ntables: {{codes: {{NONE: 1, NO: 2}}}}\n"
        'outcome: {field: "codes[code]"}\n',
        "m.yaml",
    )
    path = rows(line() | more)
    with pytest.raises(UsageError) as caught, Log([path], mapping) as log:
        log.survey(lambda event: None)
    said = str(caught.value)
    assert said.startswith(f"{path}:1: ")
    assert words in said
    assert len(said.splitlines()) == 1
    assert len(said) < len(path) + 700


def test_a_line_needs_no_optional_kind_time_number_or_source() -> None:
    """A field that every event needs is required even if the mapping marks it as optional."""
    mapping = mapping_of(SOURCE.replace("time: ts", 'time: "ts?"') + ACK, "m.yaml")
    with pytest.raises(UsageError, match=r"x.log:7: the line has no ts\?"):
        mapping.event(line(ts=None), AT)
