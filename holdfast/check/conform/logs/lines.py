"""Files with one JSON object a line: each line as a dict, with its place.

A line has to be strict JSON (RFC 8259), without half of a surrogate pair.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from holdfast.check.conform.logs.copied_input import MOST_COPIED, copied
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.strict_json import DEEPEST, STRICT, Raw, StrictError, quick
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.input_file import open_input

LONGEST = 1 << 20
"""The limit of bytes in a line. A longer line means that the file is no log, or a log without line ends."""

STDIN = "-"
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


class Lines:
    """A file of JSON lines that can be read more than once. ``path``: ``-`` stands for standard input.

    Standard input, and any file that cannot be read a second time, is copied to a temporary file first, if it has at
    most ``copy_limit`` bytes. Raises UsageError if it has more, and if it cannot be read.
    """

    def __init__(self, path: str, copy_limit: int = MOST_COPIED) -> None:
        self.name = "<stdin>" if path == STDIN else path
        self._file = _opened(path, self.name, copy_limit)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self._file.seek(0, 2)

    def __iter__(self) -> Iterator[tuple[int, Place, Raw]]:
        """The byte offset, place and object of each line that is not blank. Raises UsageError for other lines."""
        file, name = self._file, self.name
        offset = number = 0
        while True:
            # Seek for each line: the caller may read other lines of the file in between.
            file.seek(offset)
            # Five bytes more than LONGEST leave room for a byte order mark and a line end.
            data = file.readline(LONGEST + 5)
            if not data:
                return
            number += 1
            start, offset = offset, offset + len(data)
            if number == 1 and data.startswith(BOM):
                start, data = start + len(BOM), data[len(BOM) :]
            if data and not (data.isspace() and len(data) <= LONGEST):
                at = Place(name, number)
                yield start, at, parse(data, at)

    def read(self, offset: int, at: Place) -> Raw:
        """The object of the line that begins at a byte offset."""
        self._file.seek(offset)
        return parse(self._file.readline(LONGEST + 5), at)


def parse(data: bytes, at: Place) -> Raw:
    """The object of a line; raises UsageError if the line is damaged."""
    raw = quick(data) if len(data) <= LONGEST else None
    return raw if raw is not None else _parse_strictly(data, at)


def _parse_strictly(data: bytes, at: Place) -> Raw:
    """The object of a line; raises UsageError that names the error in the line."""
    if len(data) > LONGEST and len(data.rstrip(b"\r\n")) > LONGEST:
        damaged(at, "the line has more than 1 MiB", "a log has one event a line; check that the file is a log")
    try:
        text = data.decode()
        raw = STRICT.decode(text)
    except UnicodeDecodeError as error:
        if data.startswith(GZIP):
            damaged(at, "the file is compressed", "unpack it (zcat FILE | holdfast conform … -)")
        damaged(at, f"the line is not UTF-8 (byte {error.start + 1})", "write the log in UTF-8")
    except RecursionError:
        damaged(at, "the line is nested too deeply", f"an event has at most {DEEPEST} levels")
    except StrictError as error:
        damaged(at, str(error), error.remedy)
    except ValueError as error:
        if not data.endswith(b"\n"):
            damaged(at, "the line is cut off at the end of the file", "take the log again, whole, or delete the line")
        column = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number has too many digits"
        damaged(at, f"the line is no JSON{column} ({reason})", "every line of a log is one JSON object")
    if type(raw) is not dict:
        damaged(at, f"the line is no JSON object: {shown(raw)}", "every line of a log is one JSON object")
    if "\\u" in text:
        _check_surrogates(raw, at)
    if text.count("{") + text.count("[") > DEEPEST and _depth(raw) > DEEPEST:
        damaged(at, "the line is nested too deeply", f"an event has at most {DEEPEST} levels")
    return raw


def _check_surrogates(raw: Raw, at: Place) -> None:
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        damaged(at, "a text holds half of a surrogate pair", "write the log in UTF-8")


def _depth(value: Any) -> int:
    """The number of levels in a value. It needs no recursion, so a deep value cannot exhaust Python's stack."""
    level, depth = [value], 0
    while level:
        nested = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in nested for inner in (each.values() if isinstance(each, dict) else each)]
        depth += bool(nested)
    return depth


def _opened(path: str, name: str, copy_limit: int) -> IO[bytes]:
    if path == STDIN:
        return copied(sys.stdin.buffer, name, copy_limit)
    try:
        file = open_input(Path(path))
    except IsADirectoryError:
        raise UsageError(f"{name}: is a folder; name a log in it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{name}: cannot be read: {reason}; a log is a file of one JSON object a line") from None
    if stat.S_ISREG(Path(path).stat().st_mode):
        return file
    with file:
        return copied(file, name, copy_limit)
