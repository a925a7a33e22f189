"""Each kind of damage in a log gives one line, and the shipped schema agrees with the reader."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from typing import Any

import jsonschema
import pytest

from holdfast.check.conform.logs.own_format import SCHEMA
from tests.conform.damaged_logs import MALFORMED
from tests.conform.log_lines import HEADER, line, lines, problem, survey


@pytest.mark.parametrize("name", MALFORMED)
def test_a_damaged_log_is_one_line(file: Callable[..., str], name: str) -> None:
    """A damaged log ends with exit code 2 and one line: its file and line, the problem, and the remedy."""
    text, number, words = MALFORMED[name]
    path = file(text)
    said = problem(path)
    assert said.startswith(f"{path}:{number}: ")
    assert words in said
    assert "; " in said
    assert len(said.splitlines()) == 1
    assert len(said) < len(path) + 300


def test_there_are_enough_damaged_logs() -> None:
    """There are as many damaged logs as planned."""
    assert len(MALFORMED) >= 100


def test_a_dropped_or_swapped_line_of_a_source_is_always_found(file: Callable[..., str]) -> None:
    """If any line of a source except its last is dropped, or swapped with a later one, the log is damaged."""
    rng = random.Random(2)
    counts = dict.fromkeys("abc", 0)
    texts: list[tuple[str, str]] = []
    for _ in range(60):
        source = rng.choice("abc")
        counts[source] += 1
        texts.append((source, line(source, counts[source])))
    for at, (source, _) in enumerate(texts):
        later = [place for place in range(at + 1, len(texts)) if texts[place][0] == source]
        if not later:
            continue
        rest = [text for place, (_, text) in enumerate(texts) if place != at]
        assert f'"{source}"' in problem(file(lines(*rest)))
        swapped = [text for _, text in texts]
        other = rng.choice(later)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        assert f'"{source}"' in problem(file(lines(*swapped)))


def test_every_cut_of_a_log_is_found_or_is_a_log(file: Callable[..., str]) -> None:
    """A truncated log is damaged in its last line, or ends after a whole line and is a log."""
    text = lines(HEADER, line(note="é"), line(seq=2, cause=["a", 1])).encode()
    whole = {place for place in range(len(text) + 1) if text[:place].endswith((b"}", b"}\n"))}
    for place in range(1, len(text)):
        path = file(text[:place])
        if place in whole and text[:place].count(b"\n") + text[:place].endswith(b"}") > 1:
            survey(path)
        else:
            assert problem(path)


def test_causes_are_refused_exactly_if_no_order_respects_them(file: Callable[..., str]) -> None:
    """Small logs are damaged exactly if a topological sort of all events fails."""
    rng = random.Random(11)
    refused = 0
    for _ in range(300):
        events = [(source, seq) for source in "abc" for seq in (1, 2, 3)]
        causes = {event: rng.choice(events) for event in events if rng.random() < 0.4}
        causes = {event: of for event, of in causes.items() if event[0] != of[0] or of[1] < event[1]}
        graph = {
            event: [of for of in (causes.get(event), (event[0], event[1] - 1)) if of in events] for event in events
        }
        texts = {event: line(*event, **({"cause": causes[event]} if event in causes else {})) for event in events}
        seq = dict.fromkeys("abc", 0)
        order = []
        for source in rng.sample("aaabbbccc", 9):
            seq[source] += 1
            order.append(texts[source, seq[source]])
        path = file(lines(*order))
        try:
            tuple(TopologicalSorter(graph).static_order())
        except CycleError:
            assert "the causes go round" in problem(path)
            refused += 1
        else:
            assert len(survey(path)) == 9
    assert 50 < refused < 250


UNSEEN = {
    *(
        name
        for name in MALFORMED
        if name.startswith(("cause itself", "cause of no ", "causes of sources", "begins late", "only a header"))
    ),
    *("NaN", "Infinity", "minus Infinity", "half of a surrogate pair", "half of a pair in a key"),
    *("a key twice", "an argument twice", "a nested key twice", "a key twice by an escape", "an integer too long"),
    *("a float too large", "over 1 MiB", "a byte over 1 MiB", "blank over 1 MiB", "nested"),
    *("seq a float", "span of floats", "ends before it begins", "span turned round"),
}
"""Damages of single lines that the schema of a line cannot see.

These are damages of the text, the order of two numbers, other lines, and 1.0 in place of an integer.
"""

GOOD = [
    line(),
    line(t=[1, 2]),
    line(**dict.fromkeys(("cause", "error", "span", "pre", "post"))),
    line(error="?", span=[0, 0], pre={}, post={"x": {"y": 1}}),
    line(x=[1, {"y": None}], größe=2**64),
    HEADER,
    '{"holdfast": "log", "version": 1, "model": "m", "variants": ["v"], "literals": {"E": {"0": 0, "12": 1000}}}',
    '{"holdfast": "log", "version": 1, "model": null, "variants": null, "literals": null}',
]


@pytest.fixture
def valid() -> Callable[[Any], bool]:
    """Whether an object is valid by the shipped schema."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_takes_good_lines(file: Callable[..., str], valid: Callable[[Any], bool], text: str) -> None:
    """A line that the reader accepts is valid by the schema."""
    assert survey(file(lines(text, *([line()] if text in GOOD[5:] else []))))
    assert valid(json.loads(text))


def test_the_schema_refuses_bad_lines(file: Callable[..., str], valid: Callable[[Any], bool]) -> None:
    """The schema refuses those one-line damaged logs whose damage a schema can see."""
    refused = 0
    for name, (text, number, words) in MALFORMED.items():
        if not isinstance(text, str) or text.count("\n") != 1 or number != 1:
            continue
        try:
            sample = json.loads(text)
        except (ValueError, RecursionError):
            continue
        header = isinstance(sample, dict) and "holdfast" in sample and name not in UNSEEN
        assert words in problem(file(text + (lines(line()) if header else "")))
        assert valid(sample) == (name in UNSEEN), name
        refused += name not in UNSEEN
    assert refused >= 60
