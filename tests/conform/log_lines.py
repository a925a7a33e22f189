"""Helpers that write lines of logs in our own format and read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.check.conform.logs.events import LogEvent
from holdfast.check.conform.logs.log import Log
from holdfast.ir.errors import UsageError

MIB = 1 << 20
HEADER = '{"holdfast": "log", "version": 1}'


def line(source: Any = "a", seq: Any = 1, t: Any = 10, **more: Any) -> str:
    """A line in our own format."""
    return json.dumps({"source": source, "seq": seq, "t": t, "action": "open", **more})


def raw(text: str) -> str:
    """A line in our own format with extra text in its object."""
    return line()[:-1] + f", {text}}}"


def survey(*paths: str) -> list[LogEvent]:
    """The events of a log, in the order of its files."""
    found: list[LogEvent] = []
    with Log(paths) as log:
        log.survey(found.append)
    return found


def problem(*paths: str) -> str:
    """The error message for a damaged log."""
    with pytest.raises(UsageError) as caught:
        survey(*paths)
    return str(caught.value)


def lines(*texts: str) -> str:
    """A file with these lines."""
    return "".join(f"{each}\n" for each in texts)


def cause(*rows: tuple[str, int, Any, Any]) -> str:
    """A log made from tuples (source, seq, t, cause)."""
    return lines(*(line(source, seq, t, cause=of) for source, seq, t, of in rows))
