"""The clock: measuring is what a benchmark is for, so it may look at one."""

from __future__ import annotations

import time
from collections.abc import Callable

now: Callable[[], float] = time.perf_counter  # noqa: TID251 - measured, never part of a result of a check
"""Seconds that passed; also while others had the processor."""

own: Callable[[], float] = time.thread_time
"""Seconds that this thread had a processor."""
