"""How a state of one scope is packed into machine words.

Each cell takes as many bits as its codes need. The first cell stands in the highest bits of the first word, so the
tuples of words compare as the bytes of the states do. No cell is split between two words.

A word is a signed integer of 64 bits, and the sign bit is unused. So no word is negative, words compare as numbers, and
the kernel's tables can use -1 for "no state".
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.lower.layout import Layout

WORD_BITS = 63
"""The number of bits of a word that hold cells."""

MOST_WORDS = 3
"""The number of words that a state may take in a kernel that stores states."""

MOST_RUN_WORDS = 16
"""The number of words that a state may take in a kernel for random runs, which holds few states at a time."""


@attrs.frozen
class Slot:
    """The bits of a cell: ``width`` bits of word number ``word``, from bit ``shift`` on.

    Bit 0 is the lowest. A cell with a single code has width 0.
    """

    word: int
    shift: int
    width: int

    @property
    def mask(self) -> int:
        """The cell's bits as ones, not shifted: ``code & mask`` is ``code``."""
        return (1 << self.width) - 1


class Packing:
    """The words of a layout's states; raises UsageError for a state that takes more than ``most``."""

    def __init__(self, layout: Layout, most: int = MOST_WORDS) -> None:
        self.layout = layout
        self.slots = self._slots()
        self.words = 1 + max((slot.word for slot in self.slots), default=0)
        if self.words > most:
            wide = ", ".join(f"{name} {bits}" for name, bits in layout.widest())
            raise UsageError(
                f"scope {layout.scope.name}: a state takes {layout.bits} bits, more than {most} words; "
                f"the widest fields are {wide}; choose a smaller scope"
            )

    def _slots(self) -> tuple[Slot, ...]:
        slots: list[Slot] = []
        word, free = 0, WORD_BITS
        for field in self.layout.fields:
            width = (field.codes - 1).bit_length()
            # From the highest bit down: earlier cells weigh more when words are compared.
            for _ in range(field.count):
                if width > free:
                    # The bits left over stay 0 in every state, so they do not disturb the order.
                    word, free = word + 1, WORD_BITS
                free -= width
                slots.append(Slot(word, free, width))
        return tuple(slots)

    def pack(self, state: bytes) -> tuple[int, ...]:
        """The words of a state, given as one byte a cell."""
        words = [0] * self.words
        for slot, code in zip(self.slots, state, strict=True):
            assert code <= slot.mask, "a code without room would change the cell beside it"
            words[slot.word] |= code << slot.shift
        return tuple(words)

    def unpack(self, words: Sequence[int] | NDArray[np.int64]) -> bytes:
        """The state, as one byte a cell, that the words stand for."""
        return bytes((int(words[slot.word]) >> slot.shift) & slot.mask for slot in self.slots)
