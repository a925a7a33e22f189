"""The text of the functions between states and rows: see ``packing.py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from holdfast.lower.kernel.packing import MemberList, Packing, Slot

_HELPERS = (
    """def ones(bits):
    x = bits - ((bits >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    return (x + (x >> 32)) & 127
""",
    """def highest(bits):
    place = 0
    if bits >> 32: place = 32
    if bits >> (place + 16): place += 16
    if bits >> (place + 8): place += 8
    if bits >> (place + 4): place += 4
    if bits >> (place + 2): place += 2
    if bits >> (place + 1): place += 1
    return place
""",
)
"""The number of ones in a word that is not negative, and the place of the highest one in a word above 0."""


@attrs.frozen
class _Piece:
    """The cells of a pool that lie in one word: those of the members ``least`` to ``most``.

    Member m is bit ``m + by`` of the word.
    """

    word: int
    least: int
    most: int
    by: int

    @property
    def mask(self) -> int:
        """The bits of the cells."""
        return ((1 << (self.most - self.least + 1)) - 1) << (self.least + self.by)


class RowSource:
    """Writes the functions of one packing."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing

    def functions(self) -> Iterator[str]:
        """``load`` and ``put`` a state, and ``holds``: whether a row is that of a state."""
        if any(field.most is not None for field in self.packing.layout.fields):
            yield from _HELPERS
        count, listed = self.packing.row_words, bool(self.packing.lists)
        if listed:
            yield self._row_of()
            yield self._state_of()
        words = range(count)
        read = " ".join(f"peek(rows, i * {count} + {word})," for word in words)
        yield f"def load(rows, i):\n    return {f'state_of(({read}))' if listed else f'({read})'}\n"
        row = "    r = row_of(s)\n" if listed else "    r = s\n"
        puts = "".join(f"    poke(rows, i * {count} + {word}, r[{word}])\n" for word in words)
        yield f"def put(rows, i, s):\n{row}{puts}"
        same = " and ".join(f"peek(rows, i * {count} + {word}) == r[{word}]" for word in words)
        yield f"def holds(rows, i, s):\n{row}    return {same}\n"

    def _row_of(self) -> str:
        """A function to the row of a state."""
        packing = self.packing
        lines = ["def row_of(s):", _unpacked("s", packing.words)]
        lines += _moved("s", "r", packing.row_words, [(packing.slots[cell], to) for cell, to in packing.kept.items()])
        for each in packing.lists:
            pieces = self._pieces(each)
            lines += [f"    p{number} = s{piece.word} & {piece.mask}" for number, piece in enumerate(pieces)]
            for slot in each.slots:
                # The highest bit of the first word that has one is the next member.
                for number, piece in enumerate(pieces):
                    lines += [
                        f"    {'if' if number == 0 else 'elif'} p{number}:",
                        f"        place = highest(p{number})",
                        f"        p{number} = p{number} ^ (1 << place)",
                        f"        r{slot.word} |= ({_plus('place', -piece.by)}) << {slot.shift}",
                    ]
        return "\n".join([*lines, f"    return {_tuple('r', packing.row_words)}", ""])

    def _state_of(self) -> str:
        """A function to the state of a row."""
        packing = self.packing
        lines = ["def state_of(r):", _unpacked("r", packing.row_words)]
        lines += _moved("r", "s", packing.words, [(of, packing.slots[cell]) for cell, of in packing.kept.items()])
        for each in packing.lists:
            for slot in each.slots:
                lines.append(f"    member = (r{slot.word} >> {slot.shift}) & {slot.mask}")
                for number, piece in enumerate(self._pieces(each)):
                    lines += [
                        f"    {'if' if number == 0 else 'elif'} member >= {piece.least}:",
                        f"        s{piece.word} |= 1 << ({_plus('member', piece.by)})",
                    ]
        return "\n".join([*lines, f"    return {_tuple('s', packing.words)}", ""])

    def _pieces(self, each: MemberList) -> list[_Piece]:
        """The pieces of a pool. The first one has the first cells, and so the greatest members."""
        cells: dict[int, list[tuple[int, int]]] = {}
        for index in range(each.pool.count):
            slot = self.packing.slots[each.pool.offset + index]
            cells.setdefault(slot.word, []).append((each.member(index), slot.shift))
        return [_Piece(word, held[-1][0], held[0][0], held[0][1] - held[0][0]) for word, held in cells.items()]


def _plus(name: str, number: int) -> str:
    return f"{name} {'+' if number >= 0 else '-'} {abs(number)}"


def _unpacked(state: str, words: int) -> str:
    return f"    {''.join(f'{state}{word}, ' for word in range(words)).rstrip()} = {state}"


def _tuple(state: str, words: int) -> str:
    return f"({''.join(f'{state}{word}, ' for word in range(words)).rstrip()})"


def _moved(of: str, to: str, words: int, moves: Iterable[tuple[Slot, Slot]]) -> list[str]:
    """Lines that write cells to the words ``to``. Those that move equally far share one mask and one shift."""
    together: dict[tuple[int, int, int], int] = {}
    for source, target in moves:
        group = (target.word, source.word, target.shift - source.shift)
        together[group] = together.get(group, 0) | (source.mask << source.shift)
    terms: list[list[str]] = [[] for _ in range(words)]
    for (word, source_word, by), mask in together.items():
        shift = f" << {by}" if by > 0 else f" >> {-by}" if by < 0 else ""
        terms[word].append(f"(({of}{source_word} & {mask}){shift})")
    return [f"    {to}{word} = {' | '.join(parts) or '0'}" for word, parts in enumerate(terms)]
