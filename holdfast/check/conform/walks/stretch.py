"""The numbers of a walk's log: growing random functions of the model's numbers."""

from __future__ import annotations

import random


class Numbers:
    """How the log writes the numbers of each Nat: plainly, or as a growing random function of them."""

    def __init__(self, seed: int, *, stretched: bool) -> None:
        self.stretched = stretched
        self._chance = random.Random(f"{seed} numbers")  # noqa: S311 - it hides nothing
        self._tables: dict[str, list[int]] = {}

    def of(self, nat: str, number: int) -> int:
        """The number of the log."""
        if not self.stretched:
            return number
        table = self._tables.setdefault(nat, [0])
        while len(table) <= number:
            gap = self._chance.randint(500, 1500) if self.is_offset(nat) else self._chance.randint(1, 9)
            table.append(table[-1] + gap)
        return table[number]

    def is_offset(self, nat: str) -> bool:
        """Whether the Nat is one of offsets, by its name: there are many between two that matter."""
        return "ffset" in nat
