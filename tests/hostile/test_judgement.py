"""The judge of hostile cases: each bad end has its verdict."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.hostile.case import CaseResult, HostileCase
from tests.hostile.judgement import judged

LINE = b"holdfast: x.py: is no model; mend it\n"


@pytest.mark.parametrize(
    ("case", "result", "verdict"),
    [
        ({}, {"code": 0}, "clear"),
        ({}, {"code": 2, "err": LINE}, "clear"),
        ({}, {"code": 12, "out": b"violated\n"}, "clear"),
        ({}, {"code": 2}, "unclear"),
        ({}, {"code": 150, "err": b"some words\n"}, "unclear"),
        ({}, {"code": 20}, "unclear"),
        ({}, {"code": 2, "err": b"holdfast: mine.yaml:1: the file is not UTF-8\n"}, "no remedy"),
        ({}, {"code": 2, "err": b"holdfast: a.yaml:1: no YAML\n" + LINE}, "no remedy"),
        ({}, {"code": 150, "err": b"holdfast: x.py:3:1: enter: reads a file (see line 4) twice\n"}, "no remedy"),
        ({}, {"code": 20, "err": b"holdfast: Spark did not start\n"}, "no remedy"),
        ({}, {"code": 20, "out": b"3 states\n", "err": b"holdfast: nothing is stored\n"}, "clear"),
        ({}, {"code": 2, "err": b"holdfast: unexpected argument 'a' (see `holdfast check --help`)\n"}, "clear"),
        ({}, {"code": 2, "err": b"holdfast: there is no scope tny: did you mean tiny?\n"}, "clear"),
        ({"streams": {2: "full"}}, {"code": 2}, "clear"),
        ({}, {"code": 1, "err": b"holdfast: internal error: KeyError: 'a'\n"}, "internal"),
        ({}, {"code": 1, "err": b"Traceback (most recent call last):\n"}, "traceback"),
        ({}, {"code": 0, "err": b"Exception ignored in: <function f>\n"}, "traceback"),
        ({}, {"code": 2, "err": b"holdfast: \x1b[31m: no; x\n"}, "raw"),
        ({}, {"code": 0, "out": "a\u202eb".encode()}, "raw"),
        ({}, {"code": 0, "out": b"\xff"}, "raw"),
        ({}, {"code": None}, "hang"),
        ({}, {"code": -11}, "killed"),
        ({}, {"code": 120}, "killed"),
        ({"signal": signal.SIGINT}, {"code": -2}, "killed"),
        ({"signal": signal.SIGINT}, {"code": 20, "err": LINE}, "clear"),
        ({"signal": signal.SIGINT}, {"code": 20, "err": b"holdfast: interrupted\n"}, "clear"),
        ({"signal": signal.SIGINT}, {"code": 20, "err": LINE, "left": ("process x",)}, "left"),
        ({"signal": signal.SIGKILL}, {"code": -9}, "clear"),
        ({"signal": signal.SIGKILL}, {"code": -9, "left": ("process x",)}, "left"),
    ],
)
def test_each_end_has_its_verdict(case: dict[str, Any], result: dict[str, Any], verdict: str) -> None:
    """A result is judged by its exit code, its output and what it leaves behind."""
    found = CaseResult(**{"out": b"", "err": b"", "seconds": 0.1, **result})
    assert judged(HostileCase(number=0, kind="options", argv=(), **case), found) == verdict
