"""The answer of TLC, read from its messages and compared with its exit code.

The exit code alone is not enough: with ``-continue`` TLC ends with 0 after violations, and old versions have their own
codes for errors.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import attrs

from holdfast.check.tlc.process import NoAnswerError, TlcOutput
from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.trace.foreign import ForeignRun
from holdfast.trace.tlc import tlc_run

SUCCESS, COUNTS, DEPTH = 2193, 2199, 2194
STARTED = (2190, 2191)
INVARIANT, INITIALLY, ALWAYS_FALSE, DEADLOCK = 2110, 2107, 2230, 2114
STEP, STEP_INITIALLY, TEMPORAL = 2112, 2108, 2116
"""Message numbers of TLC: of the answers, of the counts, and of the number of initial states (``STARTED``)."""

PART_OF_ANSWER = {2121, 2217, 2218, 2122, 2264}
"""Numbers of messages that print the counterexample, state by state. They belong to an answer and are no failures."""

ERROR_CLASSES = (1, 2)

_BEGIN = re.compile(r"@!@!@STARTMSG (\d+)(?::(\d+))? @!@!@")
_END = re.compile(r"@!@!@ENDMSG \d+ @!@!@")
_COUNTS = re.compile(r"([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left")
_STARTS = re.compile(r"initial states: ([\d,]+)")
_DEPTH = re.compile(r"depth of the complete state graph search is ([\d,]+)")
_VIOLATED = re.compile(
    r"(?:[Ii]nvariant|[Ii]nvariant of|Property|Action property) (\S+|line .+?) is (?:violated|equal)"
)

_TOO_LARGE = re.compile(r"(?:Overflow when computing|TLC can't handle a number this big\.)\s+(\S+)")

Verdict = Literal["exhausted", "violated", "deadlock", "step", "liveness"]


REPORT = "please report it, with the module that `holdfast tla` writes"
"""The remedy for a fault of TLC or of the module, which no user can mend."""


class TlcError(HoldfastError):
    """TLC could not check the model, or contradicts itself: the generated module is faulty (exit code 1)."""

    exit_code = 1


@attrs.frozen
class Message:
    """One message of TLC: its number, its class ``kind`` (1 and 2 are errors) and its text."""

    number: int
    kind: int
    text: str


@attrs.frozen
class TlcAnswer:
    """The answer of TLC.

    - ``verdict``: ``violated`` means an invariant, ``step`` a formula about steps (such as that the model implements
      another module), ``liveness`` a formula about whole runs.
    - ``name``: what TLC calls the violated formula; ``run``: the counterexample.
    - ``distinct`` states, ``taken`` steps, ``depth`` in steps: the figures of an exhausted search, else 0.
    """

    verdict: Verdict
    distinct: int = 0
    taken: int = 0
    depth: int = 0
    name: str = ""
    run: ForeignRun | None = None

    @property
    def steps(self) -> int | None:
        """The length of the counterexample; None if nothing is violated.

        It is 0 if TLC shows no counterexample, as for an invariant over constants that is false.
        """
        return len(self.run.states) - 1 if self.run is not None else None if self.verdict == "exhausted" else 0


def answer_of(said: TlcOutput) -> TlcAnswer:
    """Read the answer from the output of TLC.

    Raises NoAnswerError if TLC was killed or met a number that is too large for it. Raises TlcError if TLC could not
    check the model, or if its messages contradict one another or the exit code.
    """
    messages = read_messages(said.text)
    answers = [message for message in messages if message.number in _ANSWERS]
    answer = answers[0] if answers else None
    other = [message for message in messages if message.number not in _ANSWERS]
    failure = next((m for m in other if m.kind in ERROR_CLASSES and m.number not in PART_OF_ANSWER), None)
    # A killed TLC may have printed an answer before, but the search behind it is not complete.
    if said.signal is not None or (answer is None and failure is None):
        raise NoAnswerError(f"TLC ended before it had an answer ({_ending(said)}); start it again")
    if answer is None or (failure is not None and answer.number == SUCCESS):
        assert failure is not None
        large = _TOO_LARGE.search(said.text)
        if large is not None:
            raise NoAnswerError(
                f"TLC computes with 32 bits, and cannot compute {large[1]}; choose a smaller scope, or smaller numbers"
            )
        raise TlcError(f"TLC cannot check the module: {_line(failure.text)}{_parsing(said.text)}; {REPORT}")
    if len({_ANSWERS[each.number] for each in answers}) > 1:
        raise TlcError(f"TLC says {_line(answer.text)!r} and {_line(answers[-1].text)!r}, which do not agree; {REPORT}")
    if said.code not in _CODES.get(answer.number, _ANY_ERROR):
        raise TlcError(f"TLC says {_line(answer.text)!r} and ends with {said.code}, which do not agree; {REPORT}")
    return _exhausted(messages) if answer.number == SUCCESS else _violation(said, answer)


def read_messages(text: str) -> list[Message]:
    """The messages that ``-tool`` marks, in order. A message without an end mark goes to the end of the text."""
    found: list[Message] = []
    number, kind = 0, 0
    lines: list[str] = []
    for line in text.splitlines():
        begin = _BEGIN.match(line)
        if begin is not None:
            number, kind, lines = int(begin[1]), int(begin[2] or 0), []
        elif _END.match(line):
            found.append(Message(number, kind, "\n".join(lines)))
            number = 0
        elif number:
            lines.append(line)
    return [*found, Message(number, kind, "\n".join(lines))] if number else found


def _exhausted(messages: list[Message]) -> TlcAnswer:
    texts = {message.number: message.text for message in messages}
    counts, depth = _COUNTS.search(texts.get(COUNTS, "")), _DEPTH.search(texts.get(DEPTH, ""))
    if counts is None or depth is None:
        raise TlcError("TLC finished without saying how many states it found; is the jar a release of TLC?")
    generated, distinct, left = (_number(part) for part in counts.groups())
    starts = _STARTS.search("".join(texts.get(number, "") for number in STARTED))
    if starts is None:
        raise TlcError("TLC finished without saying how many initial states it found; is the jar a release of TLC?")
    if left:
        raise TlcError(f"TLC says that it finished, and that {left} states are left; {REPORT}")
    # TLC's depth counts the states of a run, not its steps, and its generated states include the initial ones.
    return TlcAnswer("exhausted", distinct, generated - _number(starts[1]), _number(depth[1]) - 1)


def _violation(said: TlcOutput, answer: Message) -> TlcAnswer:
    verdict = _ANSWERS[answer.number]
    name = _VIOLATED.search(answer.text)
    if answer.number == ALWAYS_FALSE:
        return TlcAnswer(verdict, name=name[1] if name else verdict)
    try:
        run = tlc_run(said.text, Path("TLC"))
    except UsageError as error:
        raise TlcError(f"TLC's counterexample cannot be read: {error}; {REPORT}") from None
    return TlcAnswer(verdict, name=name[1] if name else verdict, run=run)


def _ending(said: TlcOutput) -> str:
    if said.signal is not None:
        return f"signal {said.signal} ended Java"
    lines = [line.strip() for line in said.text.splitlines() if line.strip() and not line.startswith("@!@!@")]
    return f"exit code {said.code}{f', last line {lines[-1][:100]!r}' if lines else ''}"


def _parsing(text: str) -> str:
    """The error of the parser, which does not come as a marked message."""
    found = re.search(r"^\*\*\*+ ?(?:Parse Error|Errors: \d+)[\s*]*(.*(?:\n.+)*)", text, re.MULTILINE)
    return "" if found is None else f" {_line(found[1])}"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


_ANSWERS: dict[int, Verdict] = {
    SUCCESS: "exhausted",
    INVARIANT: "violated",
    INITIALLY: "violated",
    ALWAYS_FALSE: "violated",
    STEP: "step",
    STEP_INITIALLY: "step",
    TEMPORAL: "liveness",
    DEADLOCK: "deadlock",
}

_CODES = {
    SUCCESS: {0},
    INVARIANT: {12},
    INITIALLY: {12},
    STEP: {12, 13},
    STEP_INITIALLY: {12, 13},
    TEMPORAL: {13},
    DEADLOCK: {11},
}
"""The exit codes that fit an answer. For step formulas, versions of TLC use different codes."""

_ANY_ERROR = range(1, 256)
