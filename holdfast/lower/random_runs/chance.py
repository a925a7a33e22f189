"""Random numbers for random runs: a seed and a run's number give the same numbers on any machine, in any language.

Each run has a stream of its own (SplitMix: Steele, Lea and Flood, OOPSLA 2014). The seed and the run's number determine
the stream's start and its stride. So a run can be repeated without the runs before it, and two streams overlap only by
accident. ``kernel/walk_draws.py`` computes the same numbers in machine code.
"""

from __future__ import annotations

ALL = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: odd, and its multiples lie far apart."""

MOST_SEED = ALL
"""The greatest seed."""
MOST_CHOICES = 1 << 31
"""The greatest argument of ``Chance.below``."""


class Chance:
    """The stream of one run; ``seed`` and ``run`` are less than 2^64."""

    def __init__(self, seed: int, run: int) -> None:
        base = mixed(seed)
        self._state = mixed(base + (2 * run + 1) * GOLDEN)
        # An odd stride visits every number below 2^64.
        stride = mixed(base + (2 * run + 2) * GOLDEN) | 1
        # A stride with few changes between neighbouring bits would give numbers that resemble one another.
        self._stride = stride if (stride ^ stride >> 1).bit_count() >= 24 else stride ^ 0xAAAAAAAAAAAAAAAA

    def below(self, choices: int) -> int:
        """Draw a number from 0 to ``choices`` - 1; ``choices`` is at most ``MOST_CHOICES``.

        The probabilities of two numbers differ by 2^-32 at most.
        """
        # The upper 32 bits are a fraction of 2^32, and ``choices`` times that is the number: no remainder is needed.
        self._state = (self._state + self._stride) & ALL
        return (mixed(self._state) >> 32) * choices >> 32


def mixed(number: int) -> int:
    """Mix a number of 64 bits: each bit of the result depends on all its bits. No two numbers give the same result."""
    number &= ALL
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & ALL
    number = (number ^ number >> 27) * 0x94D049BB133111EB & ALL
    return number ^ number >> 31
