"""GitHub's workflow commands: each finding becomes an annotation at the line of the model that it violates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.records.record import Case, Record

LEVELS = {"failed": "error", "unanswered": "warning"}


def render(records: Sequence[Record]) -> str:
    """A line for each finding, each with its replay line; nothing where there is none."""
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
    """As GitHub reads it: percent signs and ends of lines by their codes, in an option also what separates options."""
    found = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return found.replace(":", "%3A").replace(",", "%2C") if option else found
