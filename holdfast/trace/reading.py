"""Read a run from a file: detect its format, or say in one line why the file contains no run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.ir.errors import UsageError
from holdfast.ir.input_file import open_input
from holdfast.trace.foreign import ForeignRun
from holdfast.trace.itf_read import itf_run, read_json
from holdfast.trace.line import Line, looks_like_line, parse_line
from holdfast.trace.tlc import is_tlc_dump, looks_like_tlc, tlc_dump_run, tlc_run

LARGEST = 64 << 20
"""Bytes. A run of a million small states is about this large and takes seconds to read; a larger file is a mistake, or
a dump of all states."""

SMALLER = "cut it, or show a shorter run"
"""The remedy for a file that is too long."""

FORMATS = "give an ITF file (.itf.json), an output of TLC (plain, -tool, or -dumpTrace json), or a line of replay"


def read_file(path: Path) -> ForeignRun | Line:
    """The run in a file, or the replay line if the file holds one. Raises UsageError, in one line, for other files."""
    text = _text(path)
    if not text.strip():
        raise UsageError(f"{path}: is empty; {FORMATS}")
    if text.lstrip()[0] in "{[":
        return _json(read_json(text, path), path)
    if looks_like_tlc(text):
        return tlc_run(text, path)
    if looks_like_line(text):
        return parse_line(text)
    raise UsageError(f"{path}: contains no run; {FORMATS}")


def _json(data: Any, path: Path) -> ForeignRun:
    if isinstance(data, dict):
        if is_tlc_dump(data):
            return tlc_dump_run(data, path)
        if "states" in data:
            return itf_run(data, path)
        if "findings" in data:
            raise UsageError(f"{path}: is a result of --json; give the line that one of its runs has as replay")
    raise UsageError(f"{path}: is JSON, but not a run; an ITF file is an object with vars and states")


def _text(path: Path) -> str:
    """The text of a file. Reads at most LARGEST bytes, also if the file grows after its size was asked."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise UsageError(f"{path}: has {size:,} bytes, and a run at most {LARGEST:,} (64 MiB); {SMALLER}")
        with open_input(path) as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: cannot be read: {reason}; {FORMATS}") from None
    if len(raw) > LARGEST:
        raise UsageError(f"{path}: has more than {LARGEST:,} bytes (64 MiB), the most that a run may have; {SMALLER}")
    at = raw.find(0)
    try:
        if at >= 0:
            raise UsageError(f"{path}: is no text (byte {at} is zero); {FORMATS}")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no text in UTF-8 (byte {error.start}); {FORMATS}") from None
