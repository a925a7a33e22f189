"""The text of the function to canonical states of a large group of renamings: see ``lower/canonical_form.py``.

The loops are the same for all models: ``canonical_driver.py``. The functions here know where a state has its elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.lower.canonical_form import ElementCell, Elements
from holdfast.lower.kernel.packing import Packing


class CanonicalSource:
    """Writes the functions of one layout. Arrays of elements are described in ``canonical_driver.py``."""

    def __init__(self, packing: Packing, elements: Elements) -> None:
        self.packing = packing
        self.elements = elements

    def constants(self) -> dict[str, int]:
        """The constants that the template needs."""
        return {"ELEMENTS": self.elements.count, "CELLS": len(self.packing.slots)}

    def functions(self) -> Iterator[str]:
        """The functions that the template needs."""
        yield self._begin_colours()
        yield self._name_by_colour()
        yield self._renamed()
        yield self._add_signatures()

    def _words(self) -> str:
        return "    " + "".join(f"s{word}, " for word in range(self.packing.words)).rstrip() + " = s"

    def _code(self, cell: int) -> str:
        """The code of a cell."""
        slot = self.packing.slots[cell]
        return f"(s{slot.word} >> {slot.shift}) & {slot.mask}"

    def _begin_colours(self) -> str:
        """A function that writes the colours before refinement: those of the classes."""
        lines = [f"    poke(colours, {element}, {colour})" for element, colour in enumerate(self.elements.colours)]
        return "\n".join(["def begin_colours(colours):", *lines, ""])

    def _name_by_colour(self) -> str:
        """A function that writes the new name of each element, if each has a colour of its own."""
        names = ", ".join(map(str, self.elements.names))
        return (
            "def name_by_colour(colours, names):\n"
            "    for e in range(ELEMENTS):\n"
            f"        poke(names, e, ({names},)[peek(colours, e)])\n"
        )

    def _renamed(self) -> str:
        """A function to the state with other names. ``codes`` has room for the code of each cell."""
        lines = ["def renamed(s, names, codes):", self._words()]
        moved: set[int] = set()
        for each in self.elements.cells:
            # A cell without bits has one code, wherever it moves.
            if self.packing.slots[each.cell].width:
                moved.add(each.cell)
                lines += self._moved(each)
        for word in range(self.packing.words):
            kept = sum(
                slot.mask << slot.shift
                for cell, slot in enumerate(self.packing.slots)
                if slot.word == word and cell not in moved
            )
            terms = [f"s{word} & {kept}"] if kept else []
            for cell in sorted(moved):
                slot = self.packing.slots[cell]
                if slot.word == word:
                    terms.append(f"(peek(codes, {cell}) << {slot.shift})")
            lines.append(f"    t{word} = {' | '.join(terms) or '0'}")
        result = "".join(f"t{word}, " for word in range(self.packing.words)).rstrip()
        return "\n".join([*lines, f"    return ({result})", ""])

    def _moved(self, each: ElementCell) -> list[str]:
        """Lines that write a cell's code, renamed, to the place of the cell with renamed keys."""
        lines = [f"    code = {self._code(each.cell)}"]
        if each.first is not None:
            name = f"peek(names, {each.first - each.none} + code) - {each.first - each.none}"
            lines.append(f"    {f'if code >= {each.none}: ' if each.none else ''}code = {name}")
        # The place is the same as the sum of the cell's own place and of the distances that its keys move.
        terms = [
            f"(peek(names, {element}) - {element}) * {stride}"
            for element, stride in zip(each.keys, each.strides, strict=True)
        ]
        return [*lines, f"    poke(codes, {' + '.join([str(each.cell), *terms])}, code)"]

    def _add_signatures(self) -> str:
        """A function that adds to each element's signature the hash of each cell that mentions it."""
        lines = ["def add_signatures(s, colours, signatures):", self._words()]
        for each in self.elements.cells:
            lines += self._hashed(each)
        return "\n".join([*lines, ""])

    def _hashed(self, each: ElementCell) -> list[str]:
        """Lines that hash one cell, and add the hash to what it mentions."""
        label, code = each.label << 8, self._code(each.cell) if self.packing.slots[each.cell].width else "0"
        keys = list(map(str, each.keys))
        if each.first is None:
            return [f"    h = mixed({label} + ({code}))", *_added("    ", keys)]
        lines = [f"    code = {code}"]
        element = [
            f"    e = {each.first - each.none} + code",
            f"    h = mixed({label + 1})",
            *_added("    ", [*keys, "e"]),
        ]
        if not each.none:
            return [*lines, *element]
        nothing = [f"h = mixed({label})", *_added("", keys)]
        lines += ["    if code == 0:", *(f"        {line}" for line in nothing), "    else:"]
        return [*lines, *(f"    {line}" for line in element)]


def _added(indent: str, mentioned: list[str]) -> list[str]:
    """Lines that hash the colours of elements, and add the hash to the signature of each, with its role."""
    return [
        *(f"{indent}h = mixed(h + peek(colours, {element}))" for element in mentioned),
        *(f"{indent}add_hash(signatures, {element}, h, {role})" for role, element in enumerate(mentioned, start=1)),
    ]
