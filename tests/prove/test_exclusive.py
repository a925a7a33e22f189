"""Which literals never hold together in what was explored: against all sets of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from holdfast.check.proof import suggest
from holdfast.check.proof.suggest import exclusive


def by_hand(
    true: Sequence[int], pictures: Sequence[set[int]], relevant: Sequence[int], longest: int
) -> set[frozenset[int]]:
    """The sets of which no picture has all, though for each one left out some picture has the rest."""

    def met(parts: frozenset[int]) -> bool:
        return any(parts <= picture for picture in pictures)

    every = (
        frozenset(parts)
        for size in range(1, longest + 1)
        for parts in itertools.combinations(true if size <= 2 else relevant, size)
    )
    return {
        parts for parts in every if not met(parts) and (len(parts) == 1 or all(met(parts - {part}) for part in parts))
    }


@pytest.mark.parametrize("seed", range(12))
def test_exclusive_sets_are_those_found_by_hand(seed: int) -> None:
    """All minimal sets of one and two of the literals that are true here, and larger ones of the relevant ones."""
    chance = random.Random(seed)
    literals, count = 14, chance.choice((5, 20, 60))
    pictures = [
        {index for index in range(literals) if chance.random() < chance.choice((0.3, 0.6))} for _ in range(count)
    ]
    grid = np.packbits([[index in picture for picture in pictures] for index in range(literals)], axis=1)
    true = sorted(chance.sample(range(literals), 8))
    relevant = [index for index in true if chance.random() < 0.7]
    found = exclusive(true, grid, relevant)
    assert len(found) == len(set(found))
    assert set(found) == by_hand(true, pictures, relevant, suggest.LONGEST)
