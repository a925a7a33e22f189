"""The guard around a command: what its signals do, and what closed streams are.

- SIGINT and SIGTERM raise KeyboardInterrupt, until an engine handles them itself (``interruptible``).
- An interrupt that Python swallows is raised again (``holdfast/check/interrupt.py``).
- During a call that no signal interrupts, a thread says so. A second signal then ends the process at once.
- When the command has ended, a signal only ends the rest of the process, with the exit code of the command.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from holdfast.check.interrupt import SIGNALS, interrupt, raise_swallowed_again
from holdfast.cli.output import discard, note, note_warnings
from holdfast.ir.long_call import present_call

if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 20
"""The exit code of a command that a signal ends."""

PATIENCE = 0.5
"""Seconds that a call may go on after a signal before the thread says what goes on."""


def guarded(main: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Run a command with its arguments, and return its exit code. From then on a signal ends the process with it."""
    raise_swallowed_again()
    note_warnings()
    logging.getLogger("holdfast").addHandler(_Notes())
    _watch_signals()
    for number in SIGNALS:
        # A shell starts background jobs with SIGINT ignored. A user who sends one still wants the command to end.
        signal.signal(number, interrupt)
    try:
        code = main(argv)
    except KeyboardInterrupt:
        # It came while an earlier one, or an error, was reported.
        code = INTERRUPTED
    _end_with(code)
    return code


class _Notes(logging.Handler):
    """Shows what the modules of the package log as the notes of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        note(f"holdfast: {record.getMessage()}")


def _end_with(code: int) -> None:
    def leave(_number: int, _frame: FrameType | None) -> NoReturn:
        os._exit(code)

    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in SIGNALS:
        signal.signal(number, leave)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            discard(stream)


# Signals during long calls ----------------------------------------------------------------------------------------


def _watch_signals() -> None:
    """Start the thread that hears of each signal at once, also while a library is at work."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_hear, args=(reader,), daemon=True, name="holdfast-signals").start()


def _hear(reader: int) -> None:
    waited = None
    while True:
        received = os.read(reader, 64)
        call = present_call()
        if call is None or not any(number in received for number in SIGNALS):
            continue
        if call is waited:
            _leave_at_once(call.name)
        # The call may be about to end. What the handler does then is enough.
        threading.Event().wait(PATIENCE)
        if present_call() is not call:
            continue
        waited = call
        if call.stop is not None:
            call.stop()
        else:
            note(f"holdfast: interrupted; stopping after {call.name}, or at once with another Ctrl-C")


def _leave_at_once(name: str) -> NoReturn:
    note(f"holdfast: interrupted during {name}; nothing is reported")
    os._exit(INTERRUPTED)
