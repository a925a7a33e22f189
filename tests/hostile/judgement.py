"""Judges the result of a hostile case."""

from __future__ import annotations

import re
import signal

from tests.hostile.case import CaseResult, HostileCase

VERDICTS = ("clear", "internal", "traceback", "hang", "killed", "raw", "unclear", "no remedy", "left")
"""What a result is: a clear answer; an internal error; a traceback; no end within the limit; an end by a signal; raw
control characters; an error without a line that says so; a line that does not say what to do; processes or folders that
were left behind."""

CODES = {0, 1, 2, 10, 11, 12, 13, 20, 150}
"""The documented exit codes. 1 also stands for differences, which no internal error is."""

INTERRUPTED = 20

_TRACEBACK = re.compile(rb"Traceback \(most recent call last\)|^Exception ignored in|^Fatal Python error", re.MULTILINE)
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\udcff")
_LINE = re.compile(rb"^holdfast: \S.*", re.MULTILINE)
_REMEDY = re.compile(r"; \S|\(see [^()]+\)$|did you mean .+\?$")


def judged(case: HostileCase, result: CaseResult) -> str:
    """The verdict, one of VERDICTS: the gravest that applies."""
    both = result.out + result.err
    if _TRACEBACK.search(both):
        return "traceback"
    if b"internal error" in result.err:
        return "internal"
    if result.code is None:
        return "hang"
    if case.signal == signal.SIGKILL and result.code == -signal.SIGKILL:
        return "left" if result.left else "clear"
    if result.code < 0 or result.code not in CODES:
        return "killed"
    if result.left:
        return "left"
    if _RAW.search(both.decode(errors="replace")) or not _is_utf8(both):
        return "raw"
    if not _says(case, result):
        return "unclear"
    return "clear" if all(has_remedy(line) for line in errors(result.code, result.out, result.err)) else "no remedy"


def has_remedy(line: str) -> bool:
    """Whether a line of an error says what to do. By the convention of this project the remedy comes last.

    It stands behind a semicolon (``x.yaml: the file is not UTF-8; save it as UTF-8``), in brackets (``(see `holdfast
    check --help`)``), or is a question (``did you mean tiny?``). No rule can tell whether it is a good remedy.
    """
    return _REMEDY.search(line) is not None


def errors(code: int, out: bytes, err: bytes) -> list[str]:
    """The lines of a result that must name a remedy.

    - All lines ``holdfast: …`` of a command that refuses its input.
    - The last one of a command that ends without an answer (1 or 20), and prints nothing else.

    Other lines are notes beside an answer. An interruption needs no remedy: the user wanted it.
    """
    lines = [line.decode(errors="replace") for line in _LINE.findall(err)]
    if code in (2, 150):
        return lines
    if code in (1, INTERRUPTED) and not out.strip():
        return [line for line in lines[-1:] if "interrupted" not in line]
    return []


def _says(case: HostileCase, result: CaseResult) -> bool:
    """Whether the end is explained: an error has a line of its own, an interruption and a violation have some text."""
    if case.streams.get(2):
        # Standard error cannot be written.
        return True
    if result.code in (2, 150):
        return _LINE.search(result.err) is not None
    if result.code == INTERRUPTED:
        return bool(result.out + result.err)
    return True


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
