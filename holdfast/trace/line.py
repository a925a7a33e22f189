"""A run on one line, to be pasted into a shell, a chat or a test. The line holds only what is needed to replay it.

    ownership tiny -ST-14 #9a1c3d5e7f901234 one_owner: open(p1,s1,1,True) open(p3,s1,2,True)

The parts of a line, in their order:

- the target, which is the command line's name for the model, and the scope;
- ``+`` and each variant, ``-`` and each removed rule, ``#`` and the fingerprint of the model in its scope;
- the name of the claim, or ``-`` if the run shows nothing in particular;
- the actions with their arguments; ``init(...)`` comes first if the initial condition has parameters.

The repetition that shows that an action is not idempotent is implied. A lasso has ``loop:`` before the steps that
repeat for ever; no steps follow ``loop:`` if nothing happens any more. Characters of the target that a shell would
change, and blanks, are percent-encoded (``%20``). Nothing else in a line needs quoting, except the single quotes
around the whole line.
"""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import unquote

import attrs

from holdfast.ir.errors import UsageError
from holdfast.trace.trace import Step, Trace

COMMAND = "holdfast replay"
SHAPE = "TARGET SCOPE [+VARIANT…] [-LABEL…] #FINGERPRINT CLAIM: ACTION(ARGUMENT,…) … [loop: ACTION(ARGUMENT,…) …]"
NOTHING = "-"
"""Stands for the claim of a run that shows nothing in particular."""

LOOP = "loop:"
"""Stands before the steps of a lasso that repeat for ever."""

LONGEST = 1 << 20
"""Characters; a run of a million steps belongs in a file."""

_TOKEN = re.compile(r"\S+")
_FINGERPRINT = re.compile(r"#[0-9a-f]{16}")
_CLAIM = re.compile(r"(-|@?\w+):")
_CALL = re.compile(r"(\w+)\(([^()]*)\)")
_PREFIX = re.compile(r"\s*(?:(?:replay:\s*)?holdfast\s+replay\s+|replay:\s+)?")
_UNSAFE = re.compile(r"[\s%'\"\\`$!\x00-\x1f\x7f]|^[-@]")


@attrs.frozen
class Call:
    """An action with the texts of its arguments, and the column in which it begins, counted from 1."""

    action: str
    args: tuple[str, ...]
    column: int

    def __str__(self) -> str:
        return f"{self.action}({','.join(self.args)})"


@attrs.frozen
class Line:
    """The parts of a line. ``claim`` is None for a run that shows nothing in particular; ``start`` is None if ``@init``
    has no parameters. ``loop`` is the number of steps before the steps that repeat for ever; None if none do.
    """

    target: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    fingerprint: str
    claim: str | None
    start: Call | None
    steps: tuple[Call, ...]
    loop: int | None = None


def replay_command(trace: Trace) -> str | None:
    """The whole command that replays a run, quoted for a shell.

    None for a foreign run, which has no model, and for a run in a scope that the model does not declare.
    """
    return None if trace.is_foreign or not trace.scope else f"{COMMAND} '{to_line(trace)}'"


def to_line(trace: Trace) -> str:
    """The line of a run; raises UsageError for a foreign run, which has no model."""
    if trace.is_foreign:
        raise UsageError(f"the run of {trace.target} has no model behind it, and so no line; name one with --model")
    words = [
        _UNSAFE.sub(_percent, trace.target),
        trace.scope,
        *(f"+{name}" for name in trace.variants),
        *(f"-{label}" for label in trace.removed),
        f"#{trace.fingerprint}",
        f"{NOTHING if trace.claim is None else trace.claim.name}:",
    ]
    first, *others = trace.steps
    words += [_call(first)] if first.args else []
    done = [_call(step) for step in others if not step.repeat]
    words += done if trace.loop is None else [*done[: trace.loop], LOOP, *done[trace.loop :]]
    return " ".join(words)


def _call(step: Step) -> str:
    return f"{step.action}({','.join(str(value) for _, value in step.args)})"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def parse_line(text: str) -> Line:
    """The parts of a line. The command before it and the quotes around it may be left in place.

    Raises UsageError with the column of the error. It does not check whether the model has such actions.
    """
    return _Parser(text).line()


def looks_like_line(text: str) -> bool:
    """Whether a text is meant to be a replay line: it is one line and contains a fingerprint."""
    return "\n" not in text.strip() and re.search(r"\s#[0-9a-f]{16}\s", text) is not None


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise UsageError(
                f"a line has at most {LONGEST:,} characters, and this one {len(text):,}; write an ITF file"
            )
        begin = _PREFIX.match(text)
        start = begin.end() if begin is not None else 0
        end = len(text.rstrip())
        # Drop one pair of quotes around the line.
        if end - start >= 2 and text[start] == text[end - 1] and text[start] in "'\"":
            start, end = start + 1, end - 1
        self.tokens = [(found[0], found.start() + 1) for found in _TOKEN.finditer(text, start, end)]
        self.end = end + 1
        self.at = 0

    def line(self) -> Line:
        target = self._target()
        scope, column = self._next("the scope")
        if not scope.isidentifier():
            self._refuse(column, f"{scope!r} is no name of a scope", "write the scope after the target, such as tiny")
        variants = self._marked("+")
        removed = self._marked("-")
        fingerprint, column = self._next("the fingerprint")
        if not _FINGERPRINT.fullmatch(fingerprint):
            self._refuse(column, f"{fingerprint!r} is no fingerprint", "write # and sixteen hexadecimal digits")
        claim, column = self._next("the claim")
        shown = _CLAIM.fullmatch(claim)
        if shown is None:
            self._refuse(column, f"{claim!r} is no claim", "write the property's name and a colon, or -: for none")
        calls = [self._call(*token) for token in self.tokens[self.at :] if token[0] != LOOP]
        start = calls.pop(0) if calls and calls[0].action == "init" else None
        return Line(
            target=target,
            scope=scope,
            variants=variants,
            removed=removed,
            fingerprint=fingerprint[1:],
            claim=None if shown[1] == NOTHING else shown[1],
            start=start,
            steps=tuple(calls),
            loop=self._loop(start is not None),
        )

    def _loop(self, started: bool) -> int | None:
        """The number of steps before ``loop:``; None without ``loop:``. ``started``: the line begins with ``init``."""
        marks = [place for place, (text, _) in enumerate(self.tokens[self.at :]) if text == LOOP]
        if len(marks) > 1 or (marks and started and marks[0] == 0):
            column = self.tokens[self.at + marks[-1]][1]
            where = "a run ends in one loop" if len(marks) > 1 else "a loop has steps, and how a run starts is none"
            self._refuse(column, f"{LOOP} cannot stand here", where)
        # ``init`` comes before the mark, but is no step.
        return marks[0] - started if marks else None

    def _target(self) -> str:
        text, column = self._next("the target")
        try:
            return unquote(text, errors="strict")
        except UnicodeDecodeError:
            self._refuse(column, f"{text!r} is no text once its % signs are read", "write UTF-8, byte by byte")

    def _marked(self, mark: str) -> tuple[str, ...]:
        """The following words that begin with ``mark``, each without it."""
        found: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at][0].startswith(mark):
            text, column = self.tokens[self.at]
            # A lone mark, or one before a colon, is the claim ``-:``, which must not come before the fingerprint.
            if len(text) == 1 or text.endswith(":"):
                self._refuse(column, f"{text!r} names nothing", "the fingerprint, # and sixteen digits, comes before")
            found.append(text[1:])
            self.at += 1
        return tuple(found)

    def _call(self, text: str, column: int) -> Call:
        found = _CALL.fullmatch(text)
        if found is None:
            self._refuse(column, f"{text!r} is no step", "write ACTION(ARGUMENT,…) without blanks within it")
        args = tuple(found[2].split(",")) if found[2] else ()
        if not all(args):
            self._refuse(column, f"{text!r} has an empty argument", "write ACTION(ARGUMENT,…)")
        return Call(found[1], args, column)

    def _next(self, what: str) -> tuple[str, int]:
        if self.at == len(self.tokens):
            self._refuse(self.end, f"{what} is missing", f"a line is {SHAPE}")
        self.at += 1
        return self.tokens[self.at - 1]

    def _refuse(self, column: int, problem: str, remedy: str) -> NoReturn:
        raise UsageError(f"the line, column {column}: {problem}; {remedy}")
