"""The clock: limits and progress look at it, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable

now: Callable[[], float] = time.monotonic  # noqa: TID251 - the clock of the engine may be what is faulty
"""Seconds since some moment."""
