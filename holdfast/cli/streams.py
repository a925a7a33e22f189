"""Standard streams of a command that were closed before it began, as ``>&-`` in a shell does."""

from __future__ import annotations

import io
import os
import sys

NARROWEST, WIDEST = 20, 1_000
"""Bounds for the width of a terminal in columns. A line of help is filled with blanks up to the width."""


def repair() -> None:
    """Give the process three streams that can be used, whatever it was started with.

    A closed descriptor is opened on the null device: otherwise the next file that is opened would get its number, and
    what is written for the terminal would go into that file. Standard output is opened for reading, so that writing to
    it fails as it should; what goes to a closed standard error is lost.
    """
    # In this order: the system gives a new file the lowest number that is free.
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", write_through=True)
    for stream in (sys.stdout, sys.stderr):
        # A terminal whose encoding lacks a character shows the character's code; the command does not fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    columns = os.environ.get("COLUMNS", "")
    # rich pads each line of help up to the width, and hangs at 99,999,999 columns.
    if columns and not (columns.isascii() and columns.isdecimal() and len(columns) < 5 and _fits(int(columns))):
        del os.environ["COLUMNS"]


def _fits(columns: int) -> bool:
    return NARROWEST <= columns <= WIDEST
