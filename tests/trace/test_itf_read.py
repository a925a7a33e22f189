"""Reading ITF files: all encodings, files of other tools, round trips checked by itf-py, and broken files."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import itf_py
import pytest

from holdfast.ir.errors import UsageError
from holdfast.trace.itf import itf_object, write_itf
from holdfast.trace.itf_read import itf_run
from holdfast.trace.itf_values import Fun, Listing, Opaque, Rec, SetOf, Tree, Tup, Variant, decode, encode, key
from holdfast.trace.reading import read_file
from holdfast.trace.text import render
from holdfast.trace.trace import Trace
from tests.trace.generated import canonical, itf_file

FOREIGN = Path(__file__).parent / "foreign"
GENERATED = 1000

LASSO = """\
a run of 2 steps

MC_Leader

given
     n1  N[n1]: True
     n2  N[n2]: True

start  (cells that are False, None or 0 are left out)
     east  leader[east]: n1
     west  leader[west]: n1

  1  step
     west  leader[west]: n1 -> n2
     n1    sent + (n1, n2, 1)
           clock[n1]: 0 -> 1

  2  step
     east  leader[east]: n1 -> n2
     n2    sent + (n2, n1, 1)
           clock[n2]: 0 -> 1

     and then back to the state after step 1, for ever
"""


def read(name: str) -> Trace:
    """The run in a file of another tool."""
    return read_file(FOREIGN / name).trace()


def trace_of(*states: dict[str, Any], **rest: Any) -> Trace:
    """The run of a file with these states and the last state's variables."""
    names = [name for name in states[-1] if name != "#meta"]
    return itf_run({"vars": names, "states": list(states)} | rest, Path("x.itf.json")).trace()


def cells(trace: Trace, index: int = -1) -> dict[str, Any]:
    """The cells of a state by name."""
    return dict(zip((cell.name for cell in trace.cells), trace.steps[index].values, strict=True))


# Values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (True, True),
        (7, 7),
        ({"#bigint": "-12"}, -12),
        ("n1_OF_NODE", "n1_OF_NODE"),
        ([1, 2], Listing((1, 2))),
        ({"#tup": []}, Tup(())),
        ({"#set": [2, 1, {"#bigint": "2"}]}, SetOf((1, 2))),
        ({"#map": [[{"#tup": ["b", 1]}, True], [{"#tup": ["a", 2]}, False]]},
         Fun(((Tup(("a", 2)), False), (Tup(("b", 1)), True)))),
        ({"a": 1, "b": {}}, Rec((("a", 1), ("b", Rec(()))))),
        ({"tag": "Some", "value": 3}, Variant("Some", 3)),
        ({"tag": "None", "value": {"#tup": []}}, Variant("None", Tup(()))),
        ({"tag": 1, "value": 3}, Rec((("tag", 1), ("value", 3)))),
        ({"tag": "Some", "value": 3, "more": 1}, Rec((("tag", "Some"), ("value", 3), ("more", 1)))),
        ({"#unserializable": "Int"}, Opaque("Int")),
    ],
)  # fmt: skip
def test_encodings(written: Any, value: Tree) -> None:
    """Each encoding is read and written back unchanged, except for order and plain numbers."""
    assert key(decode(written)) == key(value)
    assert canonical(encode(decode(written))) == canonical(written)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (None, "null is no value of ITF"),
        (1.5, "1.5 is no value of ITF, whose numbers are integers"),
        ({"#bigint": 3}, "#bigint holds a string of digits, and not 3"),
        ({"#bigint": "0x3"}, '#bigint holds a string of digits, and not "0x3"'),
        ({"#set": {}}, "#set holds a list, and not {}"),
        ({"#map": {"a": 1}}, '#map holds a list, and not {"a": 1}'),
        ({"#map": [["a"]]}, '#map holds a list of pairs [key, value], and not ["a"]'),
        ({"#map": [["a", 1], ["a", 2]]}, "#map gives two values for one key"),
        ({"#tup": [], "x": 1}, "an object with #tup has other fields too"),
        ({"#list": []}, "#list is no encoding of ITF"),
    ],
)
def test_what_is_no_value_is_refused(written: Any, problem: str) -> None:
    """A value that ITF does not have is refused, with the file, the state and the variable."""
    with pytest.raises(UsageError) as caught:
        trace_of({"x": 1}, {"x": written})
    assert f"x.itf.json: state 1: x: {problem}" in str(caught.value)


def test_numbers_that_python_refuses_to_print() -> None:
    """A number of any length is read, shown and written. (Python refuses to print long ones.)"""
    digits = "-" + "9" * 20_000

    assert decode({"#bigint": digits}) == 1 - 10**20_000
    assert encode(decode({"#bigint": digits})) == {"#bigint": digits}
    assert digits in render(trace_of({"x": {"#bigint": digits}}))


def test_true_is_not_one() -> None:
    """Python's True equals 1, but a set keeps both."""
    assert decode({"#set": [1, True, 0, False]}) != decode({"#set": [1, 0]})
    assert key(decode([True])) != key(decode([1]))


def test_the_types_tell_records_from_variants() -> None:
    """If the file's types make a variable a record with a field tag, it is not read as a variant."""
    state = {"x": {"tag": "Some", "value": 1}}
    record = trace_of(state, **{"#meta": {"varTypes": {"x": "{ tag: Str, value: Int }"}}})

    assert (cells(record), cells(trace_of(state))) == ({"x.tag": "Some", "x.value": 1}, {"x": 1})


# Cells -----------------------------------------------------------------------------------------------------------


def test_cells_of_every_shape() -> None:
    """Functions, sets, records and sequences are split into cells. Deeper or mixed values are text."""
    trace = trace_of(
        {"f": {"#map": []}, "s": {"#set": []}, "r": {"a": 1}, "q": [], "m": 1, "t": {"#tup": [1]}, "o": "x", "e": []},
        {
            "f": {"#map": [[{"#tup": ["p1_OF_PROC", 10]}, {"n": 1}], [{"#tup": ["p1_OF_PROC", 9]}, {"n": 2}]]},
            "s": {"#set": ["s10_OF_S", "s9_OF_S"]},
            "r": {"a": {"#set": [{"#set": [1]}]}},
            "q": ["x"],
            "m": [1],
            "t": {"#tup": [2]},
            "o": {"tag": "None", "value": {}},
            "e": [],
        },
    )

    assert [(cell.name, value) for cell, value in zip(trace.cells, trace.steps[-1].values, strict=True)] == [
        ("f.n[p1, 9]", 2),
        ("f.n[p1, 10]", 1),
        ("s[s9]", True),
        ("s[s10]", True),
        ("r.a", "{{1}}"),
        ("q[1]", "x"),
        ("m", "<<1>>"),
        ("t", "<<2>>"),
        ("o", None),
        ("e", "<<>>"),
    ]
    assert trace.steps[0].values == (None, None, False, False, 1, None, 1, "<<1>>", "x", "<<>>")


def test_nothing_in_a_file_moves_the_cursor() -> None:
    """Control characters in names and values are shown as escapes."""
    trace = trace_of({"a\x1b[2J": "b\x1b]0;\x07\n"})

    assert "\x1b" not in render(trace)
    assert r"a\u001b[2J: b\u001b]0;\u0007\n" in render(trace)


def test_a_variable_of_very_many_cells_stays_whole() -> None:
    """A variable with more cells than anybody reads is one text."""
    many = trace_of({"x": {"#set": list(range(4097))}})
    fewer = trace_of({"x": {"#set": list(range(4096))}})

    assert (len(many.cells), len(fewer.cells)) == (1, 4096)


# Files of other tools --------------------------------------------------------------------------------------------


def test_a_lasso_of_apalache() -> None:
    """A file with parameters, elements, a loop and no actions is shown like a model's run."""
    assert render(read("apalache_lasso.itf.json")) == LASSO.rstrip()


def test_numbers_beyond_any_word() -> None:
    """Big integers keep all their digits."""
    last = cells(read("apalache_counter.itf.json"))

    assert last["total"] == -170141183460469231731687303715884105729
    assert last["history[2]"] == 9007199254740993


def test_variants_and_records_of_apalache() -> None:
    """Options, records that look like variants, and values that Apalache could not write are read."""
    first, last = (cells(read("apalache_variants.itf.json"), index) for index in (0, -1))

    assert (first["box"], last["box"], last["message.tag"], last["message.value"]) == (None, 3, "bye", 2)
    assert (first["disk.blocks[7]"], last["disk.blocks[7]"], last["all_numbers"]) == (None, "data", "Int")


def test_actions_and_picks_of_quint() -> None:
    """The variables of model-based testing give action and arguments, and are not part of the state."""
    trace = read("quint_bank.itf.json")

    assert (trace.model, trace.steps[0].action, trace.steps[0].args) == ("bank", "init", ())
    assert (trace.steps[1].action, trace.steps[1].args) == ("transfer", (("sender", "alice"), ("amount", 15)))
    assert cells(trace) == {
        "balances[alice]": -5,
        "balances[bob]": 15,
        "lastTransfer": "Some([from |-> alice, amount |-> 15])",
    }


def test_plain_numbers_and_units_of_quint() -> None:
    """Older files with plain numbers, with an empty record for no value, and with unsorted sets are read."""
    trace = read("quint_queue.itf.json")

    assert cells(trace, 0)["queue::stage"] == "Idle"
    assert cells(trace) == {
        "queue::pending.id[1]": 7,
        "queue::pending.urgent[1]": True,
        "queue::head": "<<1, next>>",
        "queue::stage": "Serving(7)",
        "queue::seen[1]": True,
        "queue::seen[2]": True,
    }


def test_meta_data_alone_names_actions() -> None:
    """Action and arguments are read from #meta too."""
    trace = trace_of({"x": 1}, {"x": 2, "#meta": {"action": "grow", "args": {"by": {"#bigint": "1"}}}})

    assert (trace.steps[1].action, trace.steps[1].args) == ("grow", (("by", 1),))


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        ({"action": "shrink"}, "state 1: its #meta names the action shrink, and mbt::actionTaken grow"),
        ({"action": "grow", "args": {"by": 2}}, "state 1: its #meta has by = 2, and mbt::nondetPicks 1"),
    ],
)
def test_two_stories_are_an_error(meta: dict[str, Any], problem: str) -> None:
    """If #meta and the variables have different actions or arguments, the file is refused."""
    variables = {"mbt::actionTaken": "grow", "mbt::nondetPicks": {"by": {"tag": "Some", "value": 1}}}
    with pytest.raises(UsageError) as caught:
        trace_of({"x": 1} | variables, {"x": 2, "#meta": meta} | variables)
    assert str(caught.value) == f"x.itf.json: {problem}; give an ITF file as its tool wrote it"


# Round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in FOREIGN.glob("*.itf.json")))
def test_files_of_other_tools_survive(name: str, tmp_path: Path) -> None:
    """A file of another tool is written back with equal contents."""
    write_itf(read(name), tmp_path / name)

    assert json.loads((tmp_path / name).read_text()) == json.loads((FOREIGN / name).read_text())


def test_generated_files_survive() -> None:
    """A thousand files of every encoding are written back equal, and itf-py reads the same values."""
    for seed in range(GENERATED):
        file = itf_file(Random(seed))
        trace = itf_run(file, Path("x.itf.json")).trace()
        assert itf_object(trace) == file, seed
        assert itf_py.trace_from_json(itf_object(trace)) == itf_py.trace_from_json(file), seed
        for state in file["states"]:
            for value in (value for name, value in state.items() if name != "#meta"):
                again = encode(decode(value))
                assert canonical(again) == canonical(value), seed
                assert itf_py.value_from_json(again) == itf_py.value_from_json(value), seed


def test_generated_files_are_shown() -> None:
    """Every generated run can be rendered, and every state has a value for every cell."""
    for seed in range(0, GENERATED, 10):
        trace = itf_run(itf_file(Random(seed)), Path("x.itf.json")).trace()
        assert render(trace, full=True)
        assert {len(step.values) for step in trace.steps} == {len(trace.cells)}


# Broken files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty; give an ITF file"),
        (" \n", "is empty"),
        ("hello", "contains no run; give an ITF file"),
        ('{"vars": ["x"], "states": [{"x": 1}', "1:36: is no JSON: Expecting ',' delimiter (the file ends too early"),
        ('{"vars": ["x', "1:11: is no JSON: Unterminated string starting at (the file ends too early"),
        ('{"vars": [x]}', "1:11: is no JSON: Expecting value;"),
        ("[1, 2]", "is JSON, but not a run"),
        ("{}", "is JSON, but not a run"),
        ('{"engine": "search", "findings": []}', "is a result of --json; give the line"),
        ('{"states": []}', "states is no list of states, or an empty one"),
        ('{"states": 3}', "states is no list of states"),
        ('{"states": [3]}', "state 0 is no object"),
        ('{"vars": "x", "states": [{}]}', "vars is no list of names"),
        ('{"vars": ["x"], "states": [{}]}', "state 0 has no value of x"),
        ('{"vars": [], "params": ["N"], "states": [{}]}', "state 0 has no value of N"),
        ('{"vars": [], "states": [{"y": 1}]}', "state 0 gives y, which neither vars nor params names"),
        ('{"#meta": 3, "states": [{}]}', "#meta is no object"),
        ('{"vars": [], "states": [{"#meta": 3}]}', "state 0: #meta is no object"),
        ('{"vars": [], "states": [{}], "loop": 1}', "loop is 1, and not the index of a state, 0 to 0"),
        ('{"vars": [], "states": [{}], "loop": true}', "loop is True, and not the index of a state"),
        ("[" * 100_000, "its JSON nests too deeply to be a run"),
        ('{"vars": ["x"], "states": [{"x": ' + "[" * 500 + "]" * 500 + "}]}", "state 0: x: a value nests deeper than"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, problem: str) -> None:
    """A file without a run is one line with its name and the error."""
    path = tmp_path / "broken.itf.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_file(path)
    assert str(caught.value).startswith(f"{path}:")
    assert problem.removesuffix(";") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    """Binary files, folders and missing files are reported as such."""
    path = tmp_path / "file"
    for raw, problem in ((b"\x7fELF\x02\x00", "byte 5 is zero"), (b"\x80abc", "no text in UTF-8 (byte 0)")):
        path.write_bytes(raw)
        with pytest.raises(UsageError) as caught:
            read_file(path)
        assert problem in str(caught.value)
    for missing, problem in ((tmp_path, "is a folder"), (tmp_path / "none", "cannot be read: No such file")):
        with pytest.raises(UsageError, match=problem):
            read_file(missing)


def test_a_file_of_100_megabytes(tmp_path: Path) -> None:
    """A file that is too large is refused by its size before it is read. So is a device without an end."""
    path = tmp_path / "large.itf.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(UsageError, match=r"has 100,000,000 bytes, and a run at most 67,108,864 \(64 MiB\)"):
        read_file(path)
    with pytest.raises(UsageError, match="it is a device that may never end"):
        read_file(Path("/dev/zero"))
