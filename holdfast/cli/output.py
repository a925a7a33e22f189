"""Where the command line writes: results to standard output, everything about the run to standard error.

No other module writes there. So one filter (``holdfast/ir/printable.py``) sees all text that leaves.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import IO, Self, TextIO

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments

from holdfast.ir.errors import UsageError
from holdfast.ir.printable import printable, without_commands

PLAIN_WIDTH = 140
"""Columns of a table if standard output is no terminal: wide enough that a log shows every cell in full."""

CLEAR_LINE = "\r\x1b[2K"
"""Return to the first column and erase the line."""

_said = 0
"""The number of times that something was written to standard output."""


def note_warnings() -> None:
    """Let the warnings of Python pass through this module."""
    warnings.showwarning = _note_warning


def say(text: str, *, commands: bool = False) -> None:
    """Write a result to standard output. ``commands``: lines of the text are commands of GitHub, and remain so.

    If the reader closes the pipe early (``| head``), the rest of the output is dropped and the exit code stays the
    same. Raises UsageError if standard output cannot be written for another reason.
    """
    _write_result(printable(text) if commands else without_commands(printable(text)))


def show(renderable: RenderableType) -> None:
    """Write a table to standard output, in colour on a terminal."""
    terminal = _is_terminal(sys.stdout)
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
    global _said  # noqa: PLW0603 - a count of the process, as the stream is the stream of the process
    _said += 1
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except (OSError, ValueError) as error:
        # A ValueError: a model's file has closed the stream.
        discard(sys.stdout)
        reason = error.strerror if isinstance(error, OSError) else "it is closed"
        raise UsageError(
            f"standard output cannot be written: {reason}; give it a file, a pipe or a terminal"
        ) from error


def times_said() -> int:
    """How often something was written to standard output since the process began."""
    return _said


def note(text: str) -> None:
    """Write a line about the command's run to standard error: times, errors, files that were not written."""
    _write_stderr(f"{without_commands(printable(text))}\n")


def _write_stderr(text: str) -> None:
    """Write to standard error. Where that fails, there is no place left to say so."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        discard(sys.stderr)


def _is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()


def help_console() -> Console:
    """The console for help and version: its text goes to standard output as all other text does."""
    return Console(file=_Said())


class _Said(io.StringIO):
    """A file whose text is written to standard output by ``say`` when it is flushed."""

    def isatty(self) -> bool:
        return sys.stdout is not None and _is_terminal(sys.stdout)

    def flush(self) -> None:
        text = self.getvalue()
        if text:
            self.seek(0)
            self.truncate()
            say(text.removesuffix("\n"))


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
        self.terminal = _is_terminal(sys.stderr)

    def __enter__(self) -> Self:
        return self

    def show(self, text: str) -> None:
        """Replace the previous text by this one."""
        if self.terminal:
            _write_stderr(f"{CLEAR_LINE}{printable(' '.join(text.splitlines()))}")

    def __exit__(self, *_: object) -> None:
        self.show("")


def check_writable(path: Path) -> None:
    """Raise UsageError unless the file can be written. Call this before a long search, not after it.

    An existing file stays as it was; a file that the check makes is removed again.
    """
    try:
        new = not os.path.lexists(path)
        try:
            with _opened(path, os.O_APPEND) as file:
                _try(file, b"\n" if new else b"")
        finally:
            if new:
                with suppress(OSError, ValueError):
                    path.unlink()
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def _try(file: IO[bytes], data: bytes) -> None:
    """Write to a file to see whether that works. Raises OSError if it does not."""
    kind = os.fstat(file.fileno()).st_mode
    if stat.S_ISFIFO(kind):
        # The reader of a pipe takes the end of its last writer for the end of the text, so one writer stays.
        os.dup(file.fileno())
    elif data or stat.S_ISCHR(kind):
        # On a full disk the first byte of a new file fails; on a device that is full even no byte at all.
        os.write(file.fileno(), data)


def write(path: Path, text: str, *, exact: bool = False) -> None:
    """Write a text to an output file, filtered as all text. Raises UsageError if the file cannot be written.

    ``exact``: do not filter a text that the user has written by hand.
    """
    try:
        with _opened(path, os.O_TRUNC) as file:
            file.write((text if exact else printable(text)).encode())
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def _opened(path: Path, how: int) -> IO[bytes]:
    """The file, opened for writing. A pipe that nobody reads is an OSError, and not a wait for its reader."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | how, 0o666)
    os.set_blocking(number, True)
    return os.fdopen(number, "wb")


def cannot_write(path: Path, error: OSError | ValueError) -> UsageError:
    """The error for an output file that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    if isinstance(error, OSError) and error.errno == errno.ENXIO:
        reason = "it is a pipe or a socket that nobody reads"
    return UsageError(f"{path}: cannot be written: {reason}; choose another file")


def discard(stream: TextIO) -> None:
    """Redirect a standard stream that cannot be written to the null device."""
    # The interpreter flushes its buffer at exit. With the descriptor still on the broken pipe, that would raise again.
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        # A stream of a test, which has no descriptor.
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
