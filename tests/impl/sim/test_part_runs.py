"""What holds of the runs of every part: with all rules they are sound, and a seed makes one run."""

from __future__ import annotations

import pytest

from impl.rules import decided
from impl.sim.part_cases.registry import PARTS, judged_run
from impl.sim.tape import stream
from impl.sim.violation import PartViolation

LONG = {"object-clock": 3, "large-request": 3}
"""The parts whose runs take long."""
SEEDS = dict.fromkeys(PARTS, 400) | {"controller": 1_000, "stream-handle": 1_000} | LONG
"""By part: how many runs are made."""


@pytest.mark.parametrize("part", PARTS)
def test_random_runs_are_sound(part: str) -> None:
    """With all rules no run violates anything."""
    seeds = range(SEEDS[part])
    assert {seed: found for seed in seeds if (found := judged_run(part, seed)) is not None} == {}


@pytest.mark.parametrize("part", PARTS)
def test_a_seed_makes_one_run(part: str) -> None:
    """Made again, a run draws the same numbers, as many of them, and each rule decides as often."""
    seeds = range(min(20, SEEDS[part]))
    assert [_noted(part, seed) for seed in seeds] == [_noted(part, seed) for seed in seeds]


def _noted(part: str, seed: int) -> tuple[PartViolation | None, list[float], dict[str, int]]:
    draw, drawn, before = stream(seed, part), list[float](), decided.copy()

    def noted() -> float:
        drawn.append(draw())
        return drawn[-1]

    found = PARTS[part].judge(noted)
    return found, drawn, dict(decided - before)
