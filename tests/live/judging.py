"""Judges of the liveness engine: its differences from the oracle, on puzzles and on their models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from holdfast.check.live.components import part, reached
from holdfast.check.live.engine import live
from holdfast.check.live.fair import FairComponents
from holdfast.check.live.lasso import find_lasso
from holdfast.lower.graph.fairness import FREE
from tests.live.arrays import PuzzleDemands, as_arrays
from tests.live.oracle import Puzzle, is_violation, puzzles, shortest_stem, violated
from tests.live.written import as_model


def differs_on_arrays(puzzle: Puzzle, *, cautious: bool = True) -> str | None:
    """The first error of the search in arrays for a puzzle, or None."""
    arrays, order = as_arrays(puzzle)
    fairness = FairComponents(arrays, PuzzleDemands(puzzle), cautious=cautious)  # type: ignore[arg-type]
    unmet = np.array([state not in puzzle.goal for state in order])
    owed = np.array([state in puzzle.premise for state in order]) & unmet
    pending = reached(arrays, owed, unmet)
    fair = fairness.of(part(arrays, pending)) if pending.any() else None
    found = fair is not None and bool(len(fair.states))
    if found != violated(puzzle, cautious=cautious):
        return f"the answer is {found}"
    if not found or not cautious:
        return None
    assert fair is not None
    lasso = find_lasso(arrays, fairness, fair, owed, pending)
    stem = tuple(order[number] for number in lasso.stem)
    turn = tuple((None if label == FREE else label, order[number]) for label, number in lasso.round)
    if not is_violation(puzzle, stem, turn):
        return f"no violation: {stem} {turn}"
    if len(stem) - 1 != shortest_stem(puzzle):
        return f"a shorter way there takes {shortest_stem(puzzle)} steps: {stem}"
    return None


def differs_on_model(puzzle: Puzzle, path: Path) -> str | None:
    """The first error of the whole engine for the model of a puzzle, or None."""
    system = as_model(puzzle, path)
    result = live(system, system.scopes["tiny"])
    if_impossible = violated(puzzle, cautious=False)
    wanted = "violated" if violated(puzzle) else "inconclusive" if if_impossible else "exhausted"
    if result.verdict != wanted:
        return f"the verdict is {result.verdict}, and should be {wanted}"
    only_if_cut = result.figures.owed[0].only_if_cut is not None
    if wanted != "violated" and only_if_cut != if_impossible:
        return f"only_if_cut is {only_if_cut}"
    if wanted != "violated":
        return None
    trace = result.findings[0]
    states = [int(str(step.values[0])) for step in trace.steps]
    labels = [int(step.action[4:]) if step.action.startswith("fair") else None for step in trace.steps]
    assert trace.loop is not None
    stem, turn = tuple(states[: trace.loop + 1]), tuple(zip(labels, states, strict=True))[trace.loop + 1 :]
    return None if is_violation(puzzle, stem, turn) else f"no violation: {stem} {turn}"


def differences(folder: Path, *, seed: int, arrays: int, models: int) -> Iterator[str]:
    """The errors found in N puzzles of each kind."""
    for number, puzzle in enumerate(puzzles(seed, arrays)):
        for cautious in (True, False):
            found = differs_on_arrays(puzzle, cautious=cautious)
            if found is not None:
                yield f"puzzle {number}: {found}: {puzzle}"
    for number, puzzle in enumerate(puzzles(seed + 1, models)):
        found = differs_on_model(puzzle, folder / f"puzzle{seed}_{number}.py")
        if found is not None:
            yield f"model {number}: {found}: {puzzle}"
