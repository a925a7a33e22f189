"""Where the command line writes: results to standard output, everything about the run to standard error.

No other module writes there. So one filter (``holdfast/ir/printable.py``) sees all text that leaves.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from pathlib import Path
from typing import Self, TextIO

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments

from holdfast.ir.errors import UsageError
from holdfast.ir.printable import printable, without_commands

PLAIN_WIDTH = 140
"""Columns of a table if standard output is no terminal: wide enough that a log shows every cell in full."""

CLEAR_LINE = "\r\x1b[2K"
"""Return to the first column and erase the line."""


def prepare_streams() -> None:
    """Let Python's own messages pass through this module, and let the streams take any character."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal whose encoding lacks a character shows the character's code; the command does not fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    warnings.showwarning = _note_warning


def say(text: str, *, commands: bool = False) -> None:
    """Write a result to standard output. ``commands``: lines of the text are commands of GitHub, and remain so.

    If the reader closes the pipe early (``| head``), the rest of the output is dropped and the exit code stays the
    same. Raises UsageError if standard output cannot be written for another reason.
    """
    _write_result(printable(text) if commands else without_commands(printable(text)))


def show(renderable: RenderableType) -> None:
    """Write a table to standard output, in colour on a terminal."""
    terminal = sys.stdout.isatty()
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=terminal,
        width=None if terminal else PLAIN_WIDTH,
        highlight=False,
        # Texts of a table are no markup: a rule may be called [bold].
        markup=False,
        emoji=False,
    )
    # The colours are control characters too, so the parts of the table pass the filter before they are coloured.
    console.print(Segments([Segment(printable(each.text), each.style) for each in console.render(renderable)]))
    lines = "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))
    _write_result(without_commands(lines))


def _write_result(text: str) -> None:
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _close_stdout()
    except OSError as error:
        _close_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def note(text: str) -> None:
    """Write a line about the command's run to standard error: times, errors, files that were not written."""
    sys.stderr.write(f"{without_commands(printable(text))}\n")
    sys.stderr.flush()


def _note_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001 - Python names the arguments
    line: str | None = None,  # noqa: ARG001 - as above
) -> None:
    note(" ".join(f"{filename}:{lineno}: {category.__name__}: {message}".split()))


class Ticker:
    """A progress line on standard error, overwritten in place; silent if standard error is no terminal."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def show(self, text: str) -> None:
        """Replace the previous text by this one."""
        if self.terminal:
            sys.stderr.write(f"{CLEAR_LINE}{printable(' '.join(text.splitlines()))}")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        self.show("")


def check_writable(path: Path) -> None:
    """Raise UsageError unless the file can be written. Call this before a long search, not after it."""
    # Opening for append leaves an existing file as it was; a file that the check created is removed again.
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def write(path: Path, text: str, *, exact: bool = False) -> None:
    """Write a text to an output file, filtered as all text. Raises UsageError if the file cannot be written.

    ``exact``: do not filter a text that the user has written by hand.
    """
    try:
        path.write_text(text if exact else printable(text), encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError | ValueError) -> UsageError:
    """The error for an output file that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(f"{path}: cannot be written: {reason}; choose another file")


def _close_stdout() -> None:
    """Redirect standard output to the null device."""
    # The interpreter flushes its buffer at exit. With the descriptor still on the broken pipe, that would raise again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
