"""Lets a process end when its parent has ended, in whatever way: each holds one end of a pipe."""

from __future__ import annotations

import os
import signal
import threading

LIFELINE = "MUTANTS_LIFELINE"
"""The environment variable with the file descriptor of the pipe."""


def hold_on() -> None:
    """Start a thread that kills this process and its process group as soon as the other end of the pipe closes."""
    if LIFELINE in os.environ:
        threading.Thread(target=_wait, args=(int(os.environ[LIFELINE]),), daemon=True).start()


def _wait(end: int) -> None:
    os.read(end, 1)
    os.killpg(0, signal.SIGKILL)
