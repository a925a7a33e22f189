"""How a state of one scope is packed into machine words.

Each cell takes as many bits as its codes need. The first cell stands in the highest bits of the first word, so the
tuples of words compare as the bytes of the states do. No cell is split between two words.

A word is a signed integer of 64 bits, and the sign bit is unused. So no word is negative, words compare as numbers, and
the kernel's tables can use -1 for "no state".

A kernel stores a state as a row: its words, except that a row lists the members of a pool where the list takes fewer
bits than all cells of the pool. The list is in descending order, and ends with zeros. A member is the number of its
cell, counted from 1 at the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.lower.layout import Field, Layout

WORD_BITS = 63
"""The number of bits of a word that hold cells."""

MOST_WORDS = 3
"""The number of words that a row may take in a kernel that stores states."""

MOST_RUN_WORDS = 24
"""The number of words that a state may take while a kernel computes with it, and in a kernel for random runs."""


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


@attrs.frozen
class MemberList:
    """A pool whose members a row lists. ``slots`` are the bits of each member in the row."""

    pool: Field
    slots: tuple[Slot, ...]

    def member(self, index: int) -> int:
        """The number that stands for the pool's cell of this index."""
        return self.pool.count - index


class Packing:
    """The words and rows of a layout's states; raises UsageError for a row of more than ``most`` words."""

    def __init__(self, layout: Layout, most: int = MOST_WORDS) -> None:
        self.layout = layout
        widths = [(field.codes - 1).bit_length() for field in layout.fields for _ in range(field.count)]
        self.slots = self._slots(widths)
        self.words = _count(self.slots)
        self.kept, self.lists = self._row(widths)
        self.row_words = _count((*self.kept.values(), *(slot for pool in self.lists for slot in pool.slots)))
        if self.row_words > most or self.words > MOST_RUN_WORDS:
            wide = ", ".join(f"{name} {bits}" for name, bits in layout.widest())
            limit = f"{most} words" if self.row_words > most else f"{MOST_RUN_WORDS} words while it is computed with"
            raise UsageError(
                f"scope {layout.scope.name}: a state takes {layout.bits} bits, more than {limit}; "
                f"the widest fields are {wide}; choose a smaller scope"
            )

    def _slots(self, widths: Sequence[int]) -> tuple[Slot, ...]:
        """The slots of the cells in the words of a state."""
        return _placed(widths)

    def _row(self, widths: Sequence[int]) -> tuple[dict[int, Slot], tuple[MemberList, ...]]:
        """The slots of the cells that stand in a row as they are, and the pools that it lists."""
        row: list[int] = []
        for field in self.layout.fields:
            cells = widths[field.offset : field.offset + field.count]
            row += cells if field.member_bits is None else [field.member_bits] * (field.most or 0)
        slots = iter(_placed(row))
        kept: dict[int, Slot] = {}
        listed: list[MemberList] = []
        for field in self.layout.fields:
            if field.member_bits is None:
                kept |= {cell: next(slots) for cell in range(field.offset, field.offset + field.count)}
            else:
                listed.append(MemberList(field, tuple(next(slots) for _ in range(field.most or 0))))
        return kept, tuple(listed)

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

    def row(self, state: bytes) -> tuple[int, ...]:
        """The row of a state, given as one byte a cell."""
        words = [0] * self.row_words
        for cell, slot in self.kept.items():
            assert state[cell] <= slot.mask, "a code without room would change the cell beside it"
            words[slot.word] |= state[cell] << slot.shift
        for each in self.lists:
            cells = state[each.pool.offset : each.pool.offset + each.pool.count]
            members = [each.member(index) for index, held in enumerate(cells) if held]
            assert len(members) <= len(each.slots), "a step that fills a pool beyond its bound is cut"
            for slot, member in zip(each.slots, members, strict=False):
                words[slot.word] |= member << slot.shift
        return tuple(words)

    def state(self, row: Sequence[int] | NDArray[np.int64]) -> bytes:
        """The state, as one byte a cell, of a row."""
        cells = bytearray(len(self.slots))
        for cell, slot in self.kept.items():
            cells[cell] = (int(row[slot.word]) >> slot.shift) & slot.mask
        for each in self.lists:
            for slot in each.slots:
                member = (int(row[slot.word]) >> slot.shift) & slot.mask
                if member:
                    cells[each.pool.offset + each.pool.count - member] = 1
        return bytes(cells)


def _placed(widths: Iterable[int]) -> tuple[Slot, ...]:
    """Slots of these widths, from the highest bit of the first word down."""
    slots: list[Slot] = []
    word, free = 0, WORD_BITS
    for width in widths:
        if width > free:
            # The bits left over stay 0 in every state, so they do not disturb the order.
            word, free = word + 1, WORD_BITS
        free -= width
        slots.append(Slot(word, free, width))
    return tuple(slots)


def _count(slots: Iterable[Slot]) -> int:
    """The number of words that have these slots; 1 if there are none."""
    return 1 + max((slot.word for slot in slots), default=0)
