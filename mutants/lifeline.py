"""A process ends when the one that started it is gone, however that ended: both hold an end of a pipe."""

from __future__ import annotations

import os
import signal
import threading

LIFELINE = "MUTANTS_LIFELINE"
"""The environment variable with the file descriptor of the pipe."""


def hold_on() -> None:
    """End this process, and all in its process group, as soon as the other end of the pipe is closed."""
    if LIFELINE in os.environ:
        threading.Thread(target=_wait, args=(int(os.environ[LIFELINE]),), daemon=True).start()


def _wait(end: int) -> None:
    os.read(end, 1)
    os.killpg(0, signal.SIGKILL)
