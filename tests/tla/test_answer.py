"""TLC's messages: their content, and errors if they contradict the exit code."""

from __future__ import annotations

import pytest

from holdfast.check.tlc.answer import TlcAnswer, TlcError, answer_of, read_messages
from holdfast.check.tlc.process import NoAnswerError, TlcOutput


def message(number: int, text: str, kind: int = 0) -> str:
    """A message with TLC's markers."""
    return f"@!@!@STARTMSG {number}:{kind} @!@!@\n{text}\n@!@!@ENDMSG {number} @!@!@\n"


VERSION = message(2262, "TLC2 Version 2.15")
SUCCESS = message(2193, "Model checking completed. No error has been found.")
COUNTS = message(2199, "1,020 states generated, 100 distinct states found, 0 states left on queue.")
DEPTH = message(2194, "The depth of the complete state graph search is 6.")
STARTS = message(2190, "Finished computing initial states: 20 distinct states generated at 2026-01-01 00:00:00.")
VIOLATED = message(2110, "Invariant OneOwner is violated.", 1)
STATES = message(2217, "1: <Initial predicate>\n/\\ x = 0\n", 4) + message(
    2217, "2: <Open line 1, col 1 to line 2, col 2 of module m>\n/\\ x = 1\n", 4
)


def test_an_exhausted_search_is_counted() -> None:
    """States, steps without the initial states, and the depth in steps, which is TLC's depth in states minus one."""
    found = answer_of(TlcOutput(VERSION + STARTS + SUCCESS + COUNTS + DEPTH, 0))
    assert found == TlcAnswer("exhausted", distinct=100, taken=1000, depth=5)
    assert found.steps is None


def test_a_violation_has_a_run() -> None:
    """A violation has the invariant's name and a run, whose length counts steps."""
    found = answer_of(TlcOutput(VERSION + VIOLATED + STATES + COUNTS, 12))
    assert (found.verdict, found.name, found.steps) == ("violated", "OneOwner", 1)


def test_a_false_constant_is_violated_at_once() -> None:
    """TLC shows no run for an invariant on constants, which is violated at once."""
    found = answer_of(TlcOutput(VERSION + message(2230, "The invariant of Claim is equal to FALSE", 1), 151))
    assert (found.verdict, found.name, found.steps) == ("violated", "Claim", 0)


@pytest.mark.parametrize(
    ("text", "code", "problem"),
    [
        (VERSION + SUCCESS + COUNTS + DEPTH, 12, "ends with 12, which do not agree"),
        (VERSION + VIOLATED + STATES, 0, "'Invariant OneOwner is violated.' and ends with 0"),
        (VERSION + message(1000, "TLC ran out of memory", 1), 1, "cannot check the module: TLC ran out of memory"),
        (VERSION + VIOLATED + STATES, 13, "'Invariant OneOwner is violated.' and ends with 13"),
        (VERSION + VIOLATED + STATES, 255, "'Invariant OneOwner is violated.' and ends with 255"),
        (VERSION + message(2114, "Deadlock reached.", 1) + STATES, 12, "'Deadlock reached.' and ends with 12"),
        (VERSION + message(2116, "Temporal properties were violated.", 1) + STATES, 0, "and ends with 0"),
        # With -continue a search goes on after a violation, and may end with 0.
        (VERSION + STARTS + VIOLATED + STATES + SUCCESS + COUNTS + DEPTH, 0, "is violated.' and 'Model checking compl"),
        (VERSION + STARTS + SUCCESS + COUNTS + DEPTH + VIOLATED + STATES, 0, "found.' and 'Invariant OneOwner is viol"),
        (VERSION + STARTS + SUCCESS + DEPTH, 0, "without saying how many states"),
        (VERSION + STARTS + SUCCESS + COUNTS, 0, "without saying how many states"),
        (VERSION + SUCCESS + COUNTS + DEPTH, 0, "without saying how many initial states"),
        (VERSION + SUCCESS, 0, "without saying how many states"),
        (VERSION + STARTS + SUCCESS + COUNTS.replace(" 0 states", " 3 states") + DEPTH, 0, "3 states are left"),
        (VERSION + message(2103, "overflow", 1) + SUCCESS + COUNTS + DEPTH, 0, "cannot check the module: overflow"),
    ],
)
def test_what_contradicts_itself_is_an_error(text: str, code: int, problem: str) -> None:
    """Neither the exit code alone nor the messages alone are believed."""
    with pytest.raises(TlcError, match=problem):
        answer_of(TlcOutput(text, code))


@pytest.mark.parametrize("text", [SUCCESS + COUNTS + DEPTH, VIOLATED + STATES])
def test_a_killed_java_has_no_answer_whatever_it_said_before(text: str) -> None:
    """A Java that is killed while it prints has no answer, even if the answer was already printed."""
    with pytest.raises(NoAnswerError, match="signal 9 ended Java"):
        answer_of(TlcOutput(VERSION + STARTS + text, 137))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (message(1000, "TLC threw an exception", 1) + "Overflow when computing 65536*65536\n", r"65536\*65536"),
        (message(2265, "TLC can't handle a number this big.\n4294967297", 1), "4294967297"),
    ],
)
def test_a_number_beyond_32_bits_is_one_line(text: str, number: str) -> None:
    """A number of more than 32 bits ends TLC with an error. The line names the number and the remedy."""
    with pytest.raises(
        NoAnswerError, match=rf"^TLC computes with 32 bits, and cannot compute {number}; choose a small"
    ):
        answer_of(TlcOutput(VERSION + text, 75))


@pytest.mark.parametrize(
    ("text", "code", "ending"),
    [
        ("", 1, r"exit code 1\)"),
        (VERSION + "Killed\n", 137, r"signal 9 ended Java"),
        (VERSION + STARTS, 143, r"signal 15 ended Java"),
        ("Error occurred during initialization of VM\n", 1, "last line 'Error occurred during initialization of VM'"),
    ],
)
def test_an_ended_java_has_no_answer(text: str, code: int, ending: str) -> None:
    """A killed or silent Java is one line."""
    with pytest.raises(NoAnswerError, match=f"TLC ended before it had an answer .*{ending}"):
        answer_of(TlcOutput(text, code))


def test_what_the_parser_says_is_told() -> None:
    """If SANY refuses a module, the error has the place and the reason."""
    text = '***Parse Error***\nWas expecting "==== or more Module body"\nEncountered "x" at line 9, column 1\n\n'
    with pytest.raises(TlcError, match=r'Parsing failed\. Was expecting "==== or more .* at line 9, column 1'):
        answer_of(TlcOutput(VERSION + text + message(3002, "Parsing failed.", 1), 150))


def test_a_message_may_be_cut_off() -> None:
    """A message without an end reaches to the end of the text. Lines between messages belong to no message."""
    text = VERSION + "Parsing file m.tla\n" + "@!@!@STARTMSG 2200:0 @!@!@\nProgress"
    assert [(each.number, each.text) for each in read_messages(text)] == [
        (2262, "TLC2 Version 2.15"),
        (2200, "Progress"),
    ]
