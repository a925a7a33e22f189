"""Runs that TLC printed or dumped. ``foreign/`` has real outputs, with their modules."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.ir.errors import UsageError
from holdfast.trace.itf import itf_object
from holdfast.trace.itf_read import itf_run
from holdfast.trace.reading import read_file
from holdfast.trace.text import render
from holdfast.trace.trace import Trace

FOREIGN = Path(__file__).parent / "foreign"

TABLE = """\
OneHandle: violated after 2 steps

Table

start  (cells that are False, None or 0 are left out)
     s1  owner[s1]: None

  1  open
     s1  epoch[s1]: 0 -> 1
         owner[s1]: None -> n1
         opened[s1]: False -> True
     p1  handle[p1, s1]: 0 -> 1
         used + (p1, s1, 1)

  2  open
     s1  epoch[s1]: 1 -> 2
         owner[s1]: n1 -> n2
     p2  handle[p2, s1]: 0 -> 2
         used + (p2, s1, 2)

OneHandle is violated."""


def read(name: str) -> Trace:
    """The run in a file."""
    return read_file(FOREIGN / name).trace()


def text_of(tmp_path: Path, text: str) -> Trace:
    """The run in a text."""
    path = tmp_path / "run.txt"
    path.write_text(text)
    return read_file(path).trace()


def test_an_invariant() -> None:
    """The states, the operators of the steps and the invariant are read, and shown like a model's run."""
    assert render(read("table.plain.txt")) == TABLE


@pytest.mark.parametrize("name", ["table", "values", "lasso", "stuttering", "initial", "action"])
def test_both_outputs_hold_one_run(name: str) -> None:
    """TLC's plain output, its output with -tool and its ITF file have the same run."""
    plain, tool = read(f"{name}.plain.txt"), read(f"{name}.tool.txt")

    assert (plain.steps, plain.loop, plain.claim and plain.claim.name) == (
        tool.steps, tool.loop, tool.claim and tool.claim.name
    )  # fmt: skip
    again = itf_run(itf_object(plain), Path("again.itf.json")).trace()
    assert (again.steps, again.loop, again.cells) == (plain.steps, plain.loop, plain.cells)


@pytest.mark.parametrize(
    ("name", "kind", "claim", "length", "loop"),
    [
        ("table", "invariant", "OneHandle", 2, None),
        ("values", "deadlock", "deadlock", 2, None),
        ("initial", "invariant", "SomeOpen", 0, None),
        ("action", "step", "EpochsStay", 1, None),
        ("lasso", None, None, 3, 1),
        ("stuttering", None, None, 1, 1),
    ],
)
def test_what_is_violated(name: str, kind: str | None, claim: str | None, length: int, loop: int | None) -> None:
    """The kind of error, the length and a lasso's target are read. TLC does not name a temporal property."""
    trace = read(f"{name}.plain.txt")

    assert (trace.claim and trace.claim.kind, trace.claim and trace.claim.name) == (kind, claim)
    assert (trace.length, trace.loop) == (length, loop)


def test_every_kind_of_value() -> None:
    """Values of every kind are split into cells. A value that TLC prints on many lines is one value."""
    trace = read("values.plain.txt")
    last = dict(zip((cell.name for cell in trace.cells), trace.steps[-1].values, strict=True))

    assert {
        "step": 1,
        "flag": False,
        "text": 'a "quoted" word, and a \\',
        "pair[1]": "b",
        "queue.to[2]": "b",
        "members[a, -1]": True,
        "disk.owner": "b",
        "disk.log[1]": -1,
        "table[b]": -3,
        "deep.x": "{<<1, {a}>>, <<2, {}>>}",
        "deep.y.z[1, b]": True,
        "wide.number[12]": 12_000_000,
    }.items() <= last.items()


def test_a_dump_tells_arguments() -> None:
    """A JSON dump has the parameters of each step. A lasso ends with an action that leads back."""
    table, lasso = read("table.dump.json"), read("lasso.dump.json")

    assert [step.args for step in table.steps] == [
        (),
        (("p", "p1"), ("s", "s1"), ("e", 1)),
        (("p", "p2"), ("s", "s1"), ("e", 2)),
    ]
    assert (lasso.steps, lasso.loop) == (read("lasso.plain.txt").steps, 1)


ONE_VARIABLE = """\
State 1: <Initial predicate>
x = {}

State 2: <Next line 3, col 9 to line 3, col 18 of module One>
x = {1,
   2}

"""


def test_one_variable_has_no_conjunction(tmp_path: Path) -> None:
    """TLC prints a single variable without the conjunction sign before it."""
    trace = text_of(tmp_path, ONE_VARIABLE)

    assert [step.action for step in trace.steps] == ["init", "Next"]
    assert [cell.name for cell in trace.cells] == ["x[1]", "x[2]"]
    assert trace.steps[-1].values == (True, True)


def test_of_several_errors_the_first_counts(tmp_path: Path) -> None:
    """With -continue TLC prints several runs. The first one is read."""
    text = (FOREIGN / "table.plain.txt").read_text()
    later = text.replace("OneHandle", "Other").replace("epoch = (s1 :> 2)", "epoch = (s1 :> 9)")

    assert render(text_of(tmp_path, text + later)) == TABLE


@pytest.mark.parametrize("name", ["table.plain.txt", "table.tool.txt"])
def test_truncated_anywhere(tmp_path: Path, name: str) -> None:
    """Output cut off anywhere gives the run of its complete states, or one line with the error."""
    text, path = (FOREIGN / name).read_text(), tmp_path / "cut.txt"
    whole = read(name).steps
    for end in range(0, len(text), 7):
        path.write_text(text[:end])
        with suppress(UsageError):
            found = read_file(path).trace().steps
            # A number that is cut off on the very last line is still a number.
            assert [step.action for step in found] == [step.action for step in whole[: len(found)]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("TLC2 Version 2.15\nFinished in 00s\n", "run.txt: TLC prints no run here"),
        ("State 1: <Initial predicate>\n/\\ x = 1\nnonsense\n\n", "run.txt:3: 'nonsense' is no line of a state"),
        ("State 1: <Initial predicate>\n/\\ x = {1\n\n", "run.txt:2: x: the value {1 lacks its end"),
        ("State 1: <Initial predicate>\n\n", "run.txt:2: state 1 has no variables; was the file truncated?"),
        (
            "State 1: <Initial predicate>\n/\\ x = 1\n/\\ y = 1\n\nState 2: <Next line 1 of module M>\n/\\ x = 1\n\n",
            "state 2 has no value of y; was the file truncated?",
        ),
        ("State 1: <Initial predicate>\nx = 1\n\nBack to state 7: <N line 1>\n", "goes back to state 7, and has 1"),
        ("@!@!@STARTMSG 2217:4 @!@!@\n1: <Initial predicate>\nx = 1\n", "the message 2217 of TLC does not end"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    """An output without a run, or with a broken one, is refused by file and line."""
    with pytest.raises(UsageError) as caught:
        text_of(tmp_path, text)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"counterexample": {}}', "is no dump of TLC"),
        ('{"counterexample": []}', "is no dump of TLC"),
        ('{"counterexample": {"state": [[1]], "action": []}}', "is no dump of TLC"),
        ('{"counterexample": {"state": [], "action": []}}', "a counterexample without a state"),
        ('{"counterexample": {"state": [[2, {"x": 1}]], "action": []}}', "not numbered from 1 on: [2]"),
        ('{"counterexample": {"state": [[1, {"x": 1.5}]], "action": []}}', "1.5 is no value that TLC writes"),
        (
            '{"counterexample": {"state": [[1, {"x": 1}]], "action": [[[9, {}], {"name": "N"}, [1, {}]]]}}',
            "an action of the dump leads from state 9 to 1",
        ),
    ],
)
def test_broken_dumps(tmp_path: Path, text: str, problem: str) -> None:
    """A dump of another shape is refused with the expected shape, or with the error in it."""
    with pytest.raises(UsageError) as caught:
        text_of(tmp_path, text)
    assert problem in str(caught.value)
