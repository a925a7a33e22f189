"""Judges the result of a hostile case."""

from __future__ import annotations

import re
import signal

from tests.hostile.case import CaseResult, HostileCase

VERDICTS = ("clear", "internal", "traceback", "hang", "killed", "raw", "unclear", "left")
"""What a result is: a clear answer; an internal error; a traceback; no end within the limit; an end by a signal; raw
control characters; an error without a line that says so; processes or folders that were left behind."""

CODES = {0, 1, 2, 10, 11, 12, 13, 20, 150}
"""The documented exit codes. 1 also stands for differences, which no internal error is."""

INTERRUPTED = 20

_TRACEBACK = re.compile(rb"Traceback \(most recent call last\)|^Exception ignored in|^Fatal Python error", re.MULTILINE)
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\udcff")
_LINE = re.compile(rb"^holdfast: \S.*", re.MULTILINE)


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
    return "clear" if _says(case, result) else "unclear"


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
