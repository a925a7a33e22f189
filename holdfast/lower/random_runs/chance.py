"""Chance for random runs: from a seed and the number of a run, the same numbers on any machine and in any language.

Each run has a stream of its own (SplitMix: Steele, Lea and Flood, OOPSLA 2014), which begins at a place and goes on in
strides that both follow from seed and run alone. So a run can be repeated without those before it, and no two streams
overlap but by accident. ``kernel/walk_driver.py`` says the same in machine code.
"""

from __future__ import annotations

ALL = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: odd, and its multiples lie far apart."""

MOST_SEED = ALL
MOST_CHOICES = 1 << 31


class Chance:
    """The stream of one run; ``seed`` and ``run`` are less than 2^64."""

    def __init__(self, seed: int, run: int) -> None:
        base = mixed(seed)
        self._state = mixed(base + (2 * run + 1) * GOLDEN)
        stride = mixed(base + (2 * run + 2) * GOLDEN) | 1
        # A stride of long equal stretches of bits would give numbers that resemble one another.
        self._stride = stride if (stride ^ stride >> 1).bit_count() >= 24 else stride ^ 0xAAAAAAAAAAAAAAAA

    def below(self, choices: int) -> int:
        """A number from 0 to one less than ``choices``, which is at most 2^31; each as likely, up to one in 2^32."""
        self._state = (self._state + self._stride) & ALL
        return (mixed(self._state) >> 32) * choices >> 32


def mixed(number: int) -> int:
    """Sixty-four bits of which each depends on each of the number's; equal for no two numbers below 2^64."""
    number &= ALL
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & ALL
    number = (number ^ number >> 27) * 0x94D049BB133111EB & ALL
    return number ^ number >> 31
