"""Mappings: how the lines of a foreign log become events."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.logs.events import UNKNOWN, LogEvent
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.logs.own_format import Header
from holdfast.check.conform.mappings.mapping import KAFKA_DUMP, NDJSON, Mapping
from holdfast.check.conform.mappings.mapping_file import mapping_of, read_mapping
from holdfast.check.conform.mappings.yaml_nodes import root
from holdfast.ir.errors import Place, UsageError
from tests.conform.foreign_log import AT, SKETCH, line
from tests.conform.malformed_mappings import ACK, SOURCE


def acked(arguments: str, **more: Any) -> LogEvent:
    """The event that a mapping, whose ``ack`` has these arguments, makes of a line."""
    event = mapping_of(f"{SOURCE}events:\n  ack:\n    action: append\n{arguments}\n", "m.yaml").event(line(**more), AT)
    assert event is not None
    return event


def value(expression: str, **more: Any) -> Any:
    """The value of an expression that stands in YAML after a key."""
    return acked(f"    x: {expression}", **more).args["x"]


def test_a_mapping_has_what_its_file_says() -> None:
    """The mapping has the parts of its file, with their places."""
    mapping = mapping_of(SKETCH, "m.yaml")
    assert mapping.about == Header(Place("m.yaml", 1, 8), "ownership", ("hears_late",), {"NodeEpoch": {1: 1000}})
    assert (mapping.file, mapping.format, mapping.records, mapping.snapshot) == ("m.yaml", NDJSON, None, None)
    assert mapping.tables == {"codes": {"0": "NONE", "7": "REQUEST_TIMED_OUT", "9": "FENCED"}}
    assert mapping.ignore == {"heartbeat"}
    assert {name: at.line for name, at in mapping.hidden.items()} == {"reserve": 16}
    ack, fence = mapping.kinds["ack"], mapping.kinds["fence"]
    assert (ack.name, ack.at.line, ack.action, ack.note) == ("ack", 8, "append", "why the grain differs")
    assert {name: at.line for name, at in fence.places.items()} == {"action": 11, "n": 12, "e": 13, "heard": 14}


def test_a_line_becomes_an_event() -> None:
    """Every part of an event comes from the fields that the mapping names."""
    mapping = mapping_of(SKETCH, "m.yaml")
    more: dict[str, Any] = {"node": 1, "node_epoch": 1000, "stream": "s1", "base": 3, "end": 9, "code": 7}
    assert mapping.event(line(ts=[5, 8], after=[2, 6], **more), AT) == LogEvent(
        AT,
        "4",
        1,
        5,
        8,
        ("2", 6),
        "append",
        {"p": [1, 1000], "s": "s1"},
        UNKNOWN,
        (3, 9),
        {},
        {"next_offset": {"s1": 9}},
    )
    fence = line("fence", code=9, data={"node": 2, "ranges": [{"end": 5}]})
    assert mapping.event(fence, AT) == LogEvent(
        AT, "4", 1, 5, 5, None, "fence_node", {"n": 2, "e": 4, "heard": True}, "FENCED"
    )
    assert mapping.event(line("heartbeat"), AT) is None


@pytest.mark.parametrize(
    ("field", "outcome"),
    [
        ({}, None),
        ({"error": None}, None),
        ({"error": "NONE"}, None),
        ({"error": 0}, None),
        ({"error": "TIMED_OUT"}, UNKNOWN),
        ({"error": "FENCED"}, "FENCED"),
        ({"error": 9}, "9"),
        ({"error": False}, "false"),
    ],
)
def test_the_outcome_is_taken_unknown_or_an_error(field: dict[str, Any], outcome: str | None) -> None:
    """A line without the outcome's field was taken; a value outside both lists is an error's name."""
    text = f"{SOURCE}{ACK}outcome: {{field: error, taken: [NONE, 0], unknown: [TIMED_OUT]}}"
    event = mapping_of(text, "m.yaml").event(line(**field), AT)
    assert event is not None
    assert event.outcome == outcome


def test_without_outcome_every_line_was_taken() -> None:
    """A mapping without an outcome takes every line as a taken step."""
    assert acked("    x: 1", error="FENCED").outcome is None


@pytest.mark.parametrize(
    ("expression", "more", "expected"),
    [
        ("a", {"a": 7}, 7),
        ("a", {"a": None}, None),
        ("a", {"a": [1, {"b": "x"}]}, [1, {"b": "x"}]),
        ("a.b.c", {"a": {"b": {"c": 1}}}, 1),
        (".a", {"a": 7}, 7),
        ("ranges.1.end", {"ranges": [{}, {"end": 4}]}, 4),
        ("a.0", {"a": {"0": 3}}, 3),
        ("1.streamId", {"1": {"streamId": 8}}, 8),
        ("a.'node-id'", {"a": {"node-id": 3}}, 3),
        ("\"'node id'.x\"", {"node id": {"x": 3}}, 3),
        ("größe.Ω", {"größe": {"Ω": 2}}, 2),
        ("$type", {"$type": "t"}, "t"),
        ('"@timestamp"', {"@timestamp": 5}, 5),
        ("_a1", {"_a1": 5}, 5),
        ("12", {}, 12),
        ("0", {}, 0),
        ("-3", {}, -3),
        ("9223372036854775808", {}, 2**63),
        ("true", {}, True),
        ("false", {}, False),
        (".true", {"true": 3}, 3),
        ("'a'", {"a": 1}, "a"),
        ("'a + b'", {}, "a + b"),
        ("\"'it'\"", {}, "it"),
        ("''", {}, ""),
        ("a + 1", {"a": 2**63}, 2**63 + 1),
        ("a+1", {"a": 1}, 2),
        ("a - b - 1", {"a": 9, "b": 3}, 5),
        ("10 - a", {"a": 4}, 6),
        ("-a", {"a": 4}, -4),
        ("a - -1", {"a": 4}, 5),
        ("of[a]", {"a": "x"}, 1),
        ("of[a] + 1", {"a": "x"}, 2),
        ("of[n]", {}, "one"),
        ("of['y z']", {}, True),
        ("of[of[n]]", {}, "nested"),
        ("of[a.b]", {"a": {"b": False}}, "no"),
        ("of[n - 2]", {}, "minus one"),
        ('"of[a]"', {"a": "x"}, 1),
        ("[a, 'b', [1, n]]", {"a": 5}, [5, "b", [1, 1]]),
        ("[]", {}, []),
        ('["of[a]"]', {"a": "x"}, [1]),
        ('["a?"]', {"a": 5}, [5]),
    ],
)
def test_an_expression_has_its_value(expression: str, more: dict[str, Any], expected: Any) -> None:
    """Fields, constants, sums, look-ups, and lists of them have their values."""
    tables = "tables: {of: {x: 1, 1: one, 'y z': true, one: nested, false: 'no', -1: minus one}}\n"
    text = f"{tables}{SOURCE}events:\n  ack:\n    action: append\n    x: {expression}\n"
    event = mapping_of(text, "m.yaml").event(line(**more), AT)
    assert event is not None
    assert event.args["x"] == expected
    assert type(event.args["x"]) is type(expected)


@pytest.mark.parametrize("expression", ["a?", "a.b?", "a.b.c?", "a? + 1", '[1, "a?"]', "a.b? - c?"])
@pytest.mark.parametrize("more", [{}, {"a": None}, {"a": {"b": None}}])
def test_an_argument_of_an_optional_field_is_not_known_without_it(expression: str, more: dict[str, Any]) -> None:
    """If an optional field (``?``) is missing or null in a line, the argument is unknown."""
    if expression in ("a?", "a? + 1", '[1, "a?"]') and more.get("a") is not None:
        more = {"a": None}
    assert acked(f"    x: {expression}\n    y: 1", **more).args == {"y": 1}


def test_cells_are_nested_by_the_values_of_their_keys() -> None:
    """The first key is a field of the model, keys below are expressions, and a cell with an unknown key is left out."""
    event = acked(
        '    pre: {count: 3, empty: "a?"}\n'
        "    post: {next: {stream: end, 's2': 5, \"other?\": 1}, held: {[node, 7]: {1: true}}}",
        stream="s1",
        end=9,
        node=2,
    )
    assert event.pre == {"count": 3}
    assert event.post == {"next": {"s1": 9, "s2": 5}, "held": {"[2,7]": {"1": True}}}


def test_a_span_may_be_a_field_or_be_missing() -> None:
    """A span is a pair of offsets, and may be optional."""
    assert acked("    span: range", range=[3, 5]).span == (3, 5)
    assert acked('    span: ["a?", b]', b=5).span is None
    assert acked("    span: range", range=None).span is None
    assert acked("    span: [1, 'a.1?']".replace("'", '"'), a=[5]).span is None


def test_a_cause_may_be_made_of_fields() -> None:
    """A cause is a pair of fields; a line without one of them has no cause."""
    text = SOURCE.replace("cause: after", "cause: [from, at.n]") + ACK
    mapping = mapping_of(text, "m.yaml")
    for more, cause in (({"from": "b", "at": {"n": 2}}, ("b", 2)), ({"from": "b"}, None), ({}, None)):
        event = mapping.event(line(**more), AT)
        assert event is not None
        assert event.cause == cause


def test_ignored_lines_count_for_their_source_but_are_no_events(rows: Callable[..., str]) -> None:
    """Ignored lines are no events, so numbers of lines are translated to numbers of events, in causes too."""
    mapping = mapping_of(SOURCE + ACK + "ignore: [beat]", "m.yaml")
    path = rows(
        line("beat", n=1, broker="a"),
        line("ack", n=2, broker="a"),
        line("beat", broker="a", n=None),
        {"event": "beat"},
        line("beat", n=3, broker="a"),
        line("beat", n=1, broker="only"),
        line("ack", n=1, broker="b", after=["a", 1]),
        line("ack", n=2, broker="b", after=["a", 2]),
        line("ack", n=3, broker="b", after=["a", 3]),
        line("ack", n=4, broker="b", after=["a", 4]),
        line("ack", n=5, broker="b", after=["only", 1]),
        line("ack", n=4, broker="a"),
    )
    with Log([path], mapping) as log:
        numbers: list[int] = []
        log.survey(lambda event: numbers.append(event.number))
        assert numbers == [1, 1, 2, 3, 4, 5, 2]
        assert log.sources == ("a", "b")
        assert log.header is None
        assert [event.number for event in log.events_of("a")] == [1, 2]
        assert [event.cause for event in log.events_of("b")] == [None, ("a", 1), ("a", 1), ("a", 2), None]


def test_a_missing_ignored_line_is_found(rows: Callable[..., str]) -> None:
    """A missing ignored line is found if its source numbers it."""
    mapping = mapping_of(SOURCE + ACK + "ignore: [beat]", "m.yaml")
    path = rows(line(), line("beat", n=3))
    with Log([path], mapping) as log, pytest.raises(UsageError, match="jumps from 1 to 3"):
        log.survey(lambda event: None)


def test_a_log_of_ignored_lines_holds_no_event(rows: Callable[..., str]) -> None:
    """A log that holds only ignored lines is damaged."""
    mapping = mapping_of(SOURCE + ACK + "ignore: [beat]", "m.yaml")
    with Log([rows(line("beat"))], mapping) as log, pytest.raises(UsageError, match="every line is ignored"):
        log.survey(lambda event: None)


def test_a_mapping_of_a_dump_has_operations() -> None:
    """The mapping of a dump has operations made of records, with the expressions of all mappings."""
    text = (
        "model: controller_tables\nsource: {format: kafka-dump}\nignore: [NO_OP_RECORD]\nunseen: [acks]\n"
        "tables: {of: {1: one}}\nrecords:\n  open:\n    sequence: [S3_STREAM_RECORD: {streamState: 1}]\n"
        "    events: [{action: open, e: 1.epoch + 1}]\n"
    )
    mapping = mapping_of(text, "m.yaml")
    assert (mapping.format, mapping.unseen) == (KAFKA_DUMP, ("acks",))
    assert mapping.ignore == {"NO_OP_RECORD"}
    assert mapping.records is not None
    (operation,) = mapping.records.operations
    kind = operation.parts[0].cases[0].kind
    assert kind is not None
    assert kind.arguments({"1": {"epoch": 4}}, AT) == {"e": 5}
    assert kind.args["e"].at.line == 9


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff" + SOURCE + ACK, id="a byte order mark"),
        pytest.param((SOURCE + ACK).replace("\n", "\r\n"), id="CRLF"),
        pytest.param("--- # a mapping\n" + SOURCE + ACK + "...\n", id="marks of a document"),
        pytest.param("%YAML 1.2\n---\n" + SOURCE + ACK, id="a directive"),
        pytest.param("# comment\n\n" + SOURCE + "\n\n" + ACK, id="comments and blank lines"),
        pytest.param(json.dumps({"source": {"when": "event", "time": "ts", "seq": "n", "source": "broker"}})[:-1]
                     + ', "events": {"ack": {"action": "append", "x": "n + 1"}}}', id="JSON"),
        pytest.param(SOURCE + ACK.replace("ack:", "on: {action: x}, ack:"), id="words of YAML 1.1"),
        pytest.param(SOURCE + ACK + "note: {}\n".replace("note: {}", "hidden: []"), id="an empty list"),
        pytest.param(SOURCE + "events: {ack: {action: append, größe: \"Ω?\"}}", id="names in Unicode"),
        pytest.param(SOURCE.replace("source: broker", "source: 'one'") + ACK, id="a constant source"),
        pytest.param(SOURCE.replace("format: ndjson, ", "") + ACK, id="no format"),
    ],
)  # fmt: skip
def test_mappings_that_only_look_wrong_are_read(tmp_path: Path, text: str) -> None:
    """Mappings with unusual but valid YAML are read."""
    path = tmp_path / "m.yaml"
    path.write_bytes(text.encode())
    mapping = read_mapping(path)
    assert mapping.event(line(), AT) is not None


def test_a_log_of_the_own_format_needs_no_yaml() -> None:
    """Reading a log imports no YAML library, neither for our own format nor with a mapping that is loaded already."""
    code = (
        "import sys; import holdfast.check.conform.logs.log, holdfast.check.conform.mappings.mapping; "
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_mapping_is_a_format_of_a_log() -> None:
    """Mappings can be compared and printed; two readings of one file are equal, except for the parsed YAML."""
    assert mapping_of(SKETCH, "m.yaml") == mapping_of(SKETCH, "m.yaml")
    assert isinstance(mapping_of(SKETCH, "m.yaml"), Mapping)
    assert root("a: 1", "m.yaml").start_mark.line == 0
