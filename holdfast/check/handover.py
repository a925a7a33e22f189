"""When a check hands over from the interpreter to the kernel: as soon as the kernel would have been ready.

The interpreter starts at once; the kernel must first be compiled, or loaded. If the interpreter gives up after the time
that the kernel needs to be ready, the whole never takes more than twice the time of the better choice. The cost of a
state is estimated, not measured, so every run takes the same course, whatever else the machine does.
"""

from __future__ import annotations

from holdfast.lower.layout import Layout
from holdfast.lower.random_runs.plan import instances

LOADING = 60_000
"""Microseconds to generate a kernel's text, and to load its machine code from the cache."""

COMPILING = 250_000
"""Microseconds to compile a kernel to quick code: the smallest take so long, a large one five times as long."""

BASE, INSTANCE, RENAMING = 25.0, 0.1, 2.5
"""Microseconds of the interpreter for a state: for each one, for each instance, and for each renaming of its elements.

Fitted to the scopes of ``models/``: there a state takes from half the estimate to twice as long.
"""


def states_within(microseconds: float, layout: Layout, renamings: int) -> int:
    """The number of states that the interpreter explores in about this time; ``renamings`` is 1 without symmetry."""
    tried = sum(instances(layout, action) for action in layout.system.actions)
    return int(microseconds / (BASE + INSTANCE * tried + RENAMING * renamings))
