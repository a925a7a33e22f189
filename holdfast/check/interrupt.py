"""Ctrl-C and SIGTERM as KeyboardInterrupt, also where Python would swallow the exception.

Python prints an exception of a destructor, or of a callback from a library, and drops it. An interrupt that comes
there is raised again a moment later, and nothing is printed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)

AGAIN = 0.02
"""Seconds until a swallowed interrupt is raised again: by then the destructor has ended."""


def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """The handler of a signal that ends the work in order."""
    raise KeyboardInterrupt


def raise_swallowed_again() -> None:
    """Raise each interrupt again that Python swallows in this process. Only the main thread may call this."""
    signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = _unraisable


def _unraisable(swallowed: sys.UnraisableHookArgs) -> None:
    if isinstance(swallowed.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    elif os.environ.get("HOLDFAST_DEBUG") == "1":
        sys.__unraisablehook__(swallowed)


@contextmanager
def deferred() -> Iterator[None]:
    """A block in which SIGINT and SIGTERM wait for its end, so that no process is started by half.

    A process that is started in the block begins with SIGINT blocked. Otherwise Ctrl-C in a terminal would end it in
    the middle of its imports, with a traceback.
    """
    # Python starts this process for the first semaphore, and unblocks SIGINT then.
    resource_tracker.ensure_running()
    received: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            handlers[number] = signal.signal(number, lambda number, _: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in received:
            signal.raise_signal(each)
