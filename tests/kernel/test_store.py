"""How the states of a level are dealt to the cores."""

from __future__ import annotations

import pytest

from holdfast.lower.kernel.store import CHUNK, PARTITIONS, Level, _chunks

LEVELS: list[Level] = [
    [],
    [(7, 7)],
    [(0, 1), (5, 5), (3, 4)],
    [(2, 2 + CHUNK)],
    [(2, 3 + CHUNK)],
    [(10, 10 + 5 * CHUNK - 1), (0, 3 * CHUNK + 1)],
]


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: str(len(level)))
def test_every_state_of_a_level_is_in_one_chunk(level: Level) -> None:
    """The chunks hold each state of the level once, none is empty, and none is larger than a chunk may be."""
    chunks = _chunks(level, CHUNK).tolist()
    held = [(part, index) for part, first, last in chunks for index in range(first, last)]
    assert held == [(part, index) for part, (first, last) in enumerate(level) for index in range(first, last)]
    assert all(0 < last - first <= CHUNK for _, first, last in chunks)


@pytest.mark.parametrize("size", [CHUNK // 2, CHUNK + 100, 2 * CHUNK + 1, 7 * CHUNK])
@pytest.mark.parametrize("cores", [2, 3, 4])
def test_the_cores_get_equally_many_states(size: int, cores: int) -> None:
    """The cores take the chunks in turn; whatever a partition holds, no core gets 2 % more than its part."""
    chunks = _chunks([(0, size)] * PARTITIONS, CHUNK)
    loads = [int((chunks[core::cores, 2] - chunks[core::cores, 1]).sum()) for core in range(cores)]
    assert sum(loads) == size * PARTITIONS
    assert max(loads) <= 1.02 * size * PARTITIONS / cores
