"""What some runs of a part violate, in words."""

from __future__ import annotations

from impl.sim.part_cases.registry import judged_run


def findings(part: str, seeds: int = 200) -> set[str]:
    """The labels and messages of the violations of the runs with the first seeds."""
    runs = (judged_run(part, seed) for seed in range(seeds))
    return {f"{each.label}: {each.message}" for each in runs if each is not None}
