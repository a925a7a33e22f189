"""Runs as ITF files, read back by itf-py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import itf_py
import pytest

from holdfast.ir.errors import UsageError
from holdfast.trace.itf import itf_object, itf_text, write_itf
from holdfast.trace.trace import Trace


def read(trace: Trace) -> itf_py.Trace:
    """The trace as itf-py reads it."""
    return itf_py.trace_from_json(json.loads(itf_text(trace)))


def test_every_type_is_read_back(sampler: Trace) -> None:
    """A value of each type is read back unchanged. An Optional is a set of at most one element."""
    last = read(sampler).states[-1].values

    assert {
        "busy": True,
        "phase": "IDLE",
        "gap": -2,
        "latest": {"l1_OF_LOG_STREAM"},
        "lowest": {0},
        "phases": {
            ("l1_OF_LOG_STREAM", 0): {"IDLE"},
            ("l1_OF_LOG_STREAM", 1): frozenset(),
            ("l2_OF_LOG_STREAM", 0): frozenset(),
            ("l2_OF_LOG_STREAM", 1): frozenset(),
        },
        "marked": {"l1_OF_LOG_STREAM"},
        "linked": {("l1_OF_LOG_STREAM", "IDLE")},
    } == {name: value for name, value in last.items() if not name.startswith("mbt::")}


def test_constants_are_parameters(sampler: Trace) -> None:
    """Given constants are named as parameters, and are in the first state alone."""
    trace = read(sampler)

    first, *others = trace.states
    assert trace.params == ["first", "home"]
    assert (1, {"l1_OF_LOG_STREAM": {0}, "l2_OF_LOG_STREAM": frozenset()}) == (
        first.values["first"], first.values["home"]
    )  # fmt: skip
    assert not any(set(trace.params) & set(state.values) for state in others)
    assert set(trace.vars) | set(trace.params) == set(first.values)


def test_actions_stand_in_both_places(handover: Trace) -> None:
    """Action and arguments are both variables of the state and metadata. The first action is init."""
    states = read(handover).states

    assert [state.values["mbt::actionTaken"] for state in states] == ["init", "open", "open"]
    picks = states[2].values["mbt::nondetPicks"]
    assert ({"p2_OF_PROC"}, {"s1_OF_STREAM"}, {2}) == (picks.p, picks.s, picks.e)
    args = {"p": "p2_OF_PROC", "s": "s1_OF_STREAM", "e": {"#bigint": "2"}}
    assert {"index": 2, "action": "open", "args": args} == states[2].meta


def test_parameters_of_one_name_and_two_types(sampler: Trace) -> None:
    """Parameters with one name and different types get names with their actions."""
    picks = read(sampler).states[1].values["mbt::nondetPicks"]

    assert (("sample_s", "e", "f", "press_s"), frozenset()) == (picks._fields, picks.press_s)


def test_meta_data(sampler: Trace) -> None:
    """The metadata have the format, Apalache's types, the model and the command."""
    meta = read(sampler).meta

    assert (meta["format"], meta["status"], meta["source"]) == ("ITF", "violation", "sampler")
    assert meta["command"] == "holdfast check sampler --scope tiny"
    assert "a run of 1 step that violates unmarked (SA-09)" in meta["description"]
    assert meta["varTypes"] == {
        "first": "Int",
        "home": "LOG_STREAM -> Set(Int)",
        "busy": "Bool",
        "phase": "Str",
        "gap": "Int",
        "latest": "Set(LOG_STREAM)",
        "lowest": "Set(Int)",
        "phases": "<<LOG_STREAM, Int>> -> Set(Str)",
        "marked": "Set(LOG_STREAM)",
        "linked": "Set(<<LOG_STREAM, Str>>)",
        "mbt::actionTaken": "Str",
        "mbt::nondetPicks": "{ sample_s: Set(LOG_STREAM), e: Set(Int), f: Set(Str), press_s: Set(Str) }",
    }


def test_no_plain_number_is_written(sampler: Trace) -> None:
    """Every integer of a state is written as a bigint."""

    def numbers(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [found for part in value.values() for found in numbers(part)]
        if isinstance(value, list):
            return [found for part in value for found in numbers(part)]
        return [value] if isinstance(value, int) and not isinstance(value, bool) else []

    states = [
        {name: value for name, value in state.items() if name != "#meta"} for state in itf_object(sampler)["states"]
    ]

    assert numbers(states) == []


def test_optionals_as_variants(sampler: Trace) -> None:
    """On request Optionals are written as Quint does, with Apalache's type."""
    written = itf_object(sampler, optionals="variant")

    none, some = (state["latest"] for state in written["states"])
    assert none == {"tag": "None", "value": {"#tup": []}}
    assert some == {"tag": "Some", "value": "l1_OF_LOG_STREAM"}
    assert written["#meta"]["varTypes"]["latest"] == "Some(LOG_STREAM) | None(UNIT)"
    assert none == written["states"][0]["mbt::nondetPicks"]["e"]


def test_why_sets_are_the_default(sampler: Trace) -> None:
    """itf-py cannot read the variants. When it can, they should become the default."""
    with pytest.raises(ValueError, match=r"keyword|identifier"):
        itf_py.trace_from_json(itf_object(sampler, optionals="variant"))


def test_a_refused_repetition_is_no_state(repeated: Trace) -> None:
    """A refused repetition has no state. The description mentions it."""
    trace = read(repeated)

    assert [state.values["mbt::actionTaken"] for state in trace.states] == ["init", "press"]
    assert trace.meta["description"].endswith("; press again, with equal arguments, is refused by PR-03")


def test_written_file(handover: Trace, tmp_path: Path) -> None:
    """The file has the text. A path that cannot be written is a usage error."""
    write_itf(handover, tmp_path / "run.itf.json")

    assert itf_text(handover) == (tmp_path / "run.itf.json").read_text()
    with pytest.raises(UsageError, match="cannot be written"):
        write_itf(handover, tmp_path / "none" / "run.itf.json")
