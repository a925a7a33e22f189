"""The numbers in a walk's log: growing random functions of the model's numbers."""

from __future__ import annotations

import random


class Numbers:
    """Maps the model's numbers of each Nat to the log's numbers: unchanged, or by a growing random function."""

    def __init__(self, seed: int, *, stretched: bool) -> None:
        self.stretched = stretched
        self._chance = random.Random(f"{seed} numbers")  # noqa: S311 - it hides nothing
        self._tables: dict[str, list[int]] = {}

    def of(self, nat: str, number: int) -> int:
        """The log's number for a number of the model."""
        if not self.stretched:
            return number
        table = self._tables.setdefault(nat, [0])
        while len(table) <= number:
            gap = self._chance.randint(500, 1500) if self.is_offset(nat) else self._chance.randint(1, 9)
            table.append(table[-1] + gap)
        return table[number]

    def is_offset(self, nat: str) -> bool:
        """Whether the Nat counts offsets, judged by its name. Offsets get large gaps: most of them do not matter."""
        return "ffset" in nat
