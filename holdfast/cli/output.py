"""Where the command line writes: results to standard output, everything about the run to standard error."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Self

from rich.console import Console, RenderableType

from holdfast.ir.errors import UsageError

PLAIN_WIDTH = 140
"""Columns for tables where there is no terminal to measure, so that a log shows every cell in full."""

CLEAR_LINE = "\r\x1b[2K"
"""Return to the first column and erase the line."""


def say(text: str) -> None:
    """Write a result to standard output.

    A reader that has seen enough (``| head``) changes nothing about the verdict: the rest goes nowhere.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _close_stdout()
    except OSError as error:
        _close_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def show(renderable: RenderableType) -> None:
    """Write a table to standard output, in colour on a terminal."""
    terminal = sys.stdout.isatty()
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=None if terminal else PLAIN_WIDTH, highlight=False)
    console.print(renderable)
    say("\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n")))


def note(text: str) -> None:
    """Write a line about the run itself to standard error: times, errors, what was not written."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class Ticker:
    """A line on standard error that is written over as a run goes on; silent where that is no terminal."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def show(self, text: str) -> None:
        """Put the text in the place of the last one."""
        if self.terminal:
            sys.stderr.write(f"{CLEAR_LINE}{text}")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        self.show("")


def check_writable(path: Path) -> None:
    """Raise UsageError unless a file can be written there: to be asked before the long search, not after."""
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def write(path: Path, text: str) -> None:
    """Write an output file whole."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError | ValueError) -> UsageError:
    """The one line for an output file that fails."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(f"{path}: cannot be written: {reason}; choose another file")


def _close_stdout() -> None:
    """Let whatever is still buffered for standard output go nowhere, also when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
