"""GitHub's workflow commands: each finding becomes an annotation at the violated line of the model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.records.record import Case, Record

LEVELS = {"failed": "error", "unanswered": "warning"}


def render(records: Sequence[Record]) -> str:
    """A workflow command for each failed or unanswered case, with its replay line; empty if there is none."""
    return "".join(
        f"{_command(record, case)}\n" for record in records for case in record.cases if case.status in LEVELS
    )


def _command(record: Record, case: Case) -> str:
    named = {
        "file": os.path.relpath(case.at.file, Path.cwd()),
        "line": str(case.at.line),
        "col": str(case.at.column),
        "title": f"{record.title}: {case.name}",
    }
    options = ",".join(f"{name}={_escaped(value, option=True)}" for name, value in named.items())
    text = "\n".join(part for part in (f"{case.message}. {case.sentence}".rstrip(), case.replay) if part)
    return f"::{LEVELS[case.status]} {options}::{_escaped(text)}"


def _escaped(text: str, *, option: bool = False) -> str:
    """The text with GitHub's escapes: percent signs and line ends as codes, in an option also colons and commas."""
    # Percent signs first: the codes that follow contain one.
    found = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return found.replace(":", "%3A").replace(",", "%2C") if option else found
