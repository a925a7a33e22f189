"""Judges of the liveness engine: its differences from the oracle, on puzzles and on their models."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np

from holdfast.check.live.components import part, reached
from holdfast.check.live.engine import live
from holdfast.check.live.fair import FairComponents
from holdfast.check.live.lasso import Lasso, find_lasso, find_relapse
from holdfast.lower.graph.fairness import FREE
from holdfast.lower.graph.state_graph import GraphArrays
from holdfast.trace.trace import Trace
from tests.live.arrays import PuzzleDemands, as_arrays
from tests.live.oracle import KINDS, Puzzle, is_violation, puzzles, shortest_stem, violated
from tests.live.written import as_model


def differs_on_arrays(puzzle: Puzzle, *, cautious: bool = True) -> str | None:
    """The first error of the search in arrays for a puzzle, or None."""
    arrays, order = as_arrays(puzzle)
    fairness = FairComponents(arrays, PuzzleDemands(puzzle), cautious=cautious)
    lasso = _lasso(puzzle, arrays, order, fairness)
    if (lasso is not None) != violated(puzzle, cautious=cautious):
        return f"the answer is {lasso}"
    if lasso is None or not cautious:
        return None
    stem = tuple(order[number] for number in lasso.stem)
    turn = tuple((None if label == FREE else label, order[number]) for label, number in lasso.round)
    if not is_violation(puzzle, stem, turn):
        return f"no violation: {stem} {turn}"
    if len(stem) - 1 != shortest_stem(puzzle):
        return f"a shorter way there takes {shortest_stem(puzzle)} steps: {stem}"
    return None


def _lasso(puzzle: Puzzle, arrays: GraphArrays, order: list[int], fairness: FairComponents) -> Lasso | None:
    """The lasso that the engine's parts find."""
    unmet = np.array([state not in puzzle.goal for state in order])
    if puzzle.kind == "eventually_always":
        return find_relapse(arrays, fairness, fairness.of_whole(arrays), unmet)
    premise = [puzzle.kind == "always_eventually" or state in puzzle.premise for state in order]
    owed = np.array(premise) & unmet
    pending = reached(arrays, owed, unmet)
    fair = fairness.of(part(arrays, pending)) if pending.any() else None
    if fair is None or not len(fair.states):
        return None
    return find_lasso(arrays, fairness, fair, owed, pending)


def differs_on_model(puzzle: Puzzle, path: Path) -> str | None:
    """The first error of the whole engine for the model of a puzzle, which has a property of each kind, or None."""
    system = as_model(puzzle, path)
    result = live(system, system.scopes["tiny"])
    answers = [attrs.evolve(puzzle, kind=kind) for kind in KINDS]
    wrong = [each.kind for each in answers if violated(each)]
    either_way = [each.kind for each in answers if violated(each, cautious=False)]
    wanted = "violated" if wrong else "inconclusive" if either_way else "exhausted"
    if result.verdict != wanted:
        return f"the verdict is {result.verdict}, and should be {wanted}"
    if [trace.shown.kind for trace in result.findings] != wrong:
        return f"violated are {[trace.shown.name for trace in result.findings]}, and should be {wrong}"
    only_if_cut = [each.claim.kind for each in result.figures.owed if each.only_if_cut is not None]
    if only_if_cut != [kind for kind in either_way if kind not in wrong]:
        return f"violated only if steps are cut are {only_if_cut}"
    runs = zip(wrong, result.findings, strict=True)
    found = (_differs_on_run(attrs.evolve(puzzle, kind=kind), trace) for kind, trace in runs)
    return next((problem for problem in found if problem is not None), None)


def _differs_on_run(puzzle: Puzzle, trace: Trace) -> str | None:
    """An error if the run does not violate the puzzle's property."""
    states = [int(str(step.values[0])) for step in trace.steps]
    labels = [int(step.action[4:]) if step.action.startswith("fair") else None for step in trace.steps]
    assert trace.loop is not None
    stem, turn = tuple(states[: trace.loop + 1]), tuple(zip(labels, states, strict=True))[trace.loop + 1 :]
    return None if is_violation(puzzle, stem, turn) else f"no violation of {puzzle.kind}: {stem} {turn}"


def differences(folder: Path, *, seed: int, arrays: int, models: int) -> Iterator[str]:
    """The errors found in N puzzles of each sort, for every kind of property."""
    for number, puzzle in enumerate(puzzles(seed, arrays)):
        for kind, cautious in itertools.product(KINDS, (True, False)):
            asked = attrs.evolve(puzzle, kind=kind)
            found = differs_on_arrays(asked, cautious=cautious)
            if found is not None:
                yield f"puzzle {number}: {found}: {asked}"
    for number, puzzle in enumerate(puzzles(seed + 1, models)):
        found = differs_on_model(puzzle, folder / f"puzzle{seed}_{number}.py")
        if found is not None:
            yield f"model {number}: {found}: {puzzle}"
