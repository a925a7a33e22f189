"""Runs on one line: a written line is read back, and an error has its column."""

from __future__ import annotations

import shlex

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ir.errors import UsageError
from holdfast.trace.line import Call, parse_line, replay_command, to_line
from holdfast.trace.trace import Trace

LINE = "table tiny -ST-14 #35e6084304bdb5d7 one_handle: open(p1,s1,1) open(p2,s1,2)"


def test_a_line(handover: Trace) -> None:
    """A line has the target, the scope, the removed rules, the fingerprint, the claim and the steps."""
    assert to_line(handover) == LINE
    line = parse_line(LINE)
    assert (line.target, line.scope, line.variants, line.removed) == ("table", "tiny", (), ("ST-14",))
    assert (line.fingerprint, line.claim, line.start) == ("35e6084304bdb5d7", "one_handle", None)
    assert [str(step) for step in line.steps] == ["open(p1,s1,1)", "open(p2,s1,2)"]


def test_variants_starts_and_runs_that_show_nothing(handover: Trace) -> None:
    """Variants and removed labels keep their order. A start with arguments comes first. A dash stands for no claim."""
    first = attrs.evolve(handover.steps[0], args=(("up", True),))
    trace = attrs.evolve(
        handover, variants=("fast", "as_built"), removed=("A-1", "B-2@open"), claim=None, steps=(first,)
    )

    text = to_line(trace)

    assert text == "table tiny +fast +as_built -A-1 -B-2@open #35e6084304bdb5d7 -: init(True)"
    line = parse_line(text)
    assert (line.variants, line.removed, line.claim, line.steps) == (
        ("fast", "as_built"),
        ("A-1", "B-2@open"),
        None,
        (),
    )
    assert line.start == Call("init", ("True",), text.index("init") + 1)


def test_the_repetition_is_implied(repeated: Trace) -> None:
    """The second of two equal steps is left out."""
    assert to_line(repeated).endswith(" press_idempotent: press(BUSY)")


@given(target=st.text(min_size=1))
def test_any_target_survives_a_shell(handover: Trace, target: str) -> None:
    """For any target name the command is four plain words to a shell, and is read back."""
    try:
        target.encode()
    except UnicodeEncodeError:
        target = target.encode(errors="replace").decode()
    command = replay_command(attrs.evolve(handover, target=target))

    assert command is not None
    assert "\n" not in command
    first, second, line = shlex.split(command)
    assert (first, second) == ("holdfast", "replay")
    assert parse_line(line).target == target
    assert parse_line(command).target == target


@pytest.mark.parametrize(
    "text",
    [
        f"holdfast replay '{LINE}'",
        f"'{LINE}'",
        f'"{LINE}"',
        f"  {LINE}\n",
        f"replay:    holdfast replay '{LINE}'",
        f"replay:    {LINE}",
        f"replay: '{LINE}'",
    ],
)
def test_what_stands_around_a_line_may_stay(text: str) -> None:
    """The command, quotes and blanks around a line are accepted, and columns count them."""
    found, plain = parse_line(text), parse_line(LINE)

    assert [str(step) for step in found.steps] == [str(step) for step in plain.steps]
    assert attrs.evolve(found, steps=plain.steps) == plain


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "column 1: the target is missing"),
        ("table", "column 6: the scope is missing"),
        ("table -ST-14 #35e6084304bdb5d7 -:", "column 7: '-ST-14' is no name of a scope"),
        ("table tiny", "column 11: the fingerprint is missing"),
        ("table tiny #35e6 -:", "column 12: '#35e6' is no fingerprint; write # and sixteen hexadecimal digits"),
        ("table tiny - #35e6084304bdb5d7 -:", "column 12: '-' names nothing"),
        ("table tiny -: open(p1)", "column 12: '-:' names nothing; the fingerprint"),
        ("table tiny #35e6084304bdb5d7", "column 29: the claim is missing"),
        ("table tiny #35e6084304bdb5d7 open(p1,s1,1)", "column 30: 'open(p1,s1,1)' is no claim"),
        ("table tiny #35e6084304bdb5d7 -: open(p1, s1,1)", "column 33: 'open(p1,' is no step"),
        ("table tiny #35e6084304bdb5d7 -: open(p1,,1)", "column 33: 'open(p1,,1)' has an empty argument"),
        ("ta%FFble tiny #35e6084304bdb5d7 -:", "column 1: 'ta%FFble' is no text once its % signs are read"),
        ("x" * (1 << 20) + "x", "a line has at most 1,048,576 characters"),
    ],
)
def test_what_is_wrong_is_named(text: str, problem: str) -> None:
    """A malformed line is refused with the column of the error."""
    with pytest.raises(UsageError) as caught:
        parse_line(text)
    assert problem in str(caught.value)


def test_a_foreign_run_has_no_line(handover: Trace) -> None:
    """A run without a model has no line, since it could not be replayed."""
    foreign = attrs.evolve(handover, foreign=({},))

    assert replay_command(foreign) is None
    with pytest.raises(UsageError, match="has no model behind it"):
        to_line(foreign)
