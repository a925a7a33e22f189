"""Liveness by trying everything: the oracle of the tests. It uses no components, no arrays and no search.

An infinite run of a finite graph visits some set of states infinitely often. Either every state of this set is
reachable from every other one within the set, or the set is one state at which the run stays. So the oracle tries every
set of states: either a run can stay in it for ever, using all edges within it, or it cannot.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Literal

import attrs

Strength = Literal["weak", "strong"]
Kind = Literal["leads_to", "always_eventually", "eventually_always"]
KINDS: tuple[Kind, ...] = ("leads_to", "always_eventually", "eventually_always")
Edge = tuple[int, int, int | None]
"""Source, target, and the index of the fairness demand that the step serves."""


@attrs.frozen
class Puzzle:
    """A graph of ``states`` states, with fairness demands and one liveness property.

    ``cuts`` holds pairs of a state and a demand: a bound cut a step of that demand in that state. The property is a
    leads-to from ``premise`` to ``goal``, or it demands ``goal`` again and again, or from some state on.
    """

    states: int
    starts: frozenset[int]
    edges: frozenset[Edge]
    demands: tuple[Strength, ...]
    cuts: frozenset[tuple[int, int]]
    premise: frozenset[int]
    goal: frozenset[int]
    kind: Kind = "leads_to"

    @property
    def sorted_edges(self) -> list[Edge]:
        """The edges in a fixed order, so that a seed gives the same puzzle everywhere."""
        return sorted(self.edges, key=lambda edge: (edge[0], edge[1], -1 if edge[2] is None else edge[2]))

    def reachable(self) -> frozenset[int]:
        """The states that a run can reach."""
        return closure(self.starts, self.edges, frozenset(range(self.states)))


def closure(start: Iterable[int], edges: Iterable[Edge], within: frozenset[int]) -> frozenset[int]:
    """The states that are reachable from these without leaving ``within``."""
    found = frozenset(start) & within
    while True:
        more = found | {to for of, to, _ in edges if of in found and to in within}
        if more == found:
            return found
        found = more


def violated(puzzle: Puzzle, *, cautious: bool = True) -> bool:
    """Whether a fair run violates the property. If ``cautious``, cut steps count as enabled."""
    unmet = frozenset(range(puzzle.states)) - puzzle.goal
    if puzzle.kind == "eventually_always":
        return any(can_stay(puzzle, kept, cautious=cautious) for kept in subsets(puzzle.reachable()) if kept & unmet)
    if puzzle.kind == "always_eventually":
        return any(can_stay(puzzle, kept, cautious=cautious) for kept in subsets(puzzle.reachable() & unmet))
    owing = closure(puzzle.reachable() & puzzle.premise & unmet, puzzle.edges, unmet)
    return any(can_stay(puzzle, kept, cautious=cautious) for kept in subsets(owing))


def subsets(states: frozenset[int]) -> Iterator[frozenset[int]]:
    """Every nonempty subset of the states."""
    for size in range(1, len(states) + 1):
        yield from map(frozenset, itertools.combinations(sorted(states), size))


def can_stay(puzzle: Puzzle, kept: frozenset[int], *, cautious: bool) -> bool:
    """Whether a fair run can visit exactly these states for ever, using every edge among them."""
    among = [edge for edge in puzzle.edges if edge[0] in kept and edge[1] in kept]
    if any(closure([state], among, kept) != kept for state in kept):
        return False
    return all(
        meets(puzzle, demand, kept, {label for *_, label in among}, cautious) for demand in range(len(puzzle.demands))
    )


def meets(puzzle: Puzzle, demand: int, visited: Iterable[int], served: set[int | None], cautious: bool) -> bool:
    """Whether a run meets a demand if it visits these states, and serves these demands, infinitely often."""
    possible = {of for of, _, label in puzzle.edges if label == demand}
    if cautious:
        possible |= {state for state, label in puzzle.cuts if label == demand}
    if demand in served:
        return True
    if puzzle.demands[demand] == "weak":
        return any(state not in possible for state in visited)
    return not any(state in possible for state in visited)


def is_violation(puzzle: Puzzle, stem: tuple[int, ...], turn: tuple[tuple[int | None, int], ...]) -> bool:
    """Whether this lasso is a violation: every step exists, the loop closes and is fair, and the property fails."""
    run = [*stem, *(state for _, state in turn)]
    steps = [(of, to) for of, to, _ in puzzle.edges]
    if run[0] not in puzzle.starts or any(pair not in steps for pair in itertools.pairwise(stem)):
        return False
    if any((of, to, label) not in puzzle.edges for of, (label, to) in zip(run[len(stem) - 1 :], turn, strict=False)):
        return False
    if turn and run[-1] != stem[-1]:
        return False
    owed = False
    for state in run:
        owed = (owed or state in puzzle.premise) and state not in puzzle.goal
    visited, served = {stem[-1], *(state for _, state in turn)}, {label for label, _ in turn}
    fair = all(meets(puzzle, demand, visited, served, True) for demand in range(len(puzzle.demands)))
    if puzzle.kind == "eventually_always":
        return fair and not visited <= puzzle.goal
    return (owed or puzzle.kind == "always_eventually") and fair and not visited & puzzle.goal


def shortest_stem(puzzle: Puzzle) -> int:
    """The least number of steps of a violating run before it enters a set of states in which a fair run can stay.

    For ``eventually_always`` it enters such a set in a state without the goal.
    """
    unmet = frozenset(range(puzzle.states)) - puzzle.goal
    if puzzle.kind == "eventually_always":
        sets = [kept for kept in subsets(puzzle.reachable()) if can_stay(puzzle, kept, cautious=True)]
        return _distance(puzzle, frozenset().union(*sets) & unmet)
    if puzzle.kind == "always_eventually":
        sets = [kept for kept in subsets(puzzle.reachable() & unmet) if can_stay(puzzle, kept, cautious=True)]
        return _distance(puzzle, frozenset().union(*sets))
    settled = frozenset[int]().union(*(kept for kept in subsets(unmet) if can_stay(puzzle, kept, cautious=True)))
    now = {(state, state in puzzle.premise and state in unmet) for state in puzzle.starts}
    for length in itertools.count():
        if any(owed and state in settled for state, owed in now):
            return length
        now |= {
            (to, (owed or to in puzzle.premise) and to in unmet)
            for state, owed in now
            for of, to, _ in puzzle.edges
            if of == state
        }
    raise AssertionError


def _distance(puzzle: Puzzle, wanted: frozenset[int]) -> int:
    """The least number of steps from a start to one of these states."""
    now = puzzle.starts
    for length in itertools.count():
        if now & wanted:
            return length
        now |= {to for of, to, _ in puzzle.edges if of in now}
    raise AssertionError


def puzzles(seed: int, count: int, *, cuts: bool = True) -> Iterator[Puzzle]:
    """Random puzzles with weak and strong demands, few edges and many goals, so that both answers are frequent."""
    chance = random.Random(seed)
    for _ in range(count):
        states = chance.randint(1, 6)
        demands = tuple(chance.choice(("weak", "strong")) for _ in range(chance.randint(0, 3)))
        labels = [None, *range(len(demands))]
        edges = {
            (of, to, chance.choice(labels))
            for _ in range(chance.randint(0, 12))
            if (of := chance.randrange(states)) != (to := chance.randrange(states))
        }
        cut = {
            (chance.randrange(states), chance.randrange(len(demands)))
            for _ in range(chance.choice([0, 0, 2]) if cuts and demands else 0)
        }
        goal = {state for state in range(states) if chance.random() < 0.25}
        premise = {state for state in range(states) if chance.random() < 0.5}
        starts = {0, *(state for state in range(states) if chance.random() < 0.1)}
        rest = frozenset(cut), frozenset(premise), frozenset(goal)
        yield Puzzle(states, frozenset(starts), frozenset(edges), demands, *rest)
