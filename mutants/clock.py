"""The clock, used only for limits and progress."""

from __future__ import annotations

import time
from collections.abc import Callable

now: Callable[[], float] = time.monotonic  # noqa: TID251 - the clock of the engine may be what is faulty
"""Seconds since an arbitrary moment."""
