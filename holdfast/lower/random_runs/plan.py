"""What a campaign of random runs is, and what is counted on the way; the same for the kernel and the interpreter.

A run is drawn in this order, all from its own stream:

1. a share, 0 to 99 percent; each action is omitted with that probability (swarm testing: what is left goes deeper);
   if none is left, one drawn action stays;
2. a weight, 1 to 100, for each action; without the swarm nothing is drawn so far, and all actions weigh the same;
3. with priorities (PCT): a permutation of the processes, from the highest priority to the lowest, then the change
   points, each one step of the prioritised part;
4. the initial state;
5. for each step an action by weight, then one of its steps, in the order of their arguments, all equally likely.

An action that has no step, or whose step changed nothing, is not drawn again before the state changes; for most
requests that arrive change nothing, and a run that repeats them goes nowhere. When all have been drawn, and any still
has a step that leads elsewhere, all may be drawn again; if none has, the run stays where it is, and ends.

With priorities a step is drawn among those of the process with the highest priority that has one. At a change point
that process first falls to the lowest priority; so does one whose step changed nothing, or it would keep all others
from running. The last quarter of a run ignores priorities: they alone would starve whoever is low.
"""

from __future__ import annotations

from math import prod

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, System
from holdfast.ir.types import SortType
from holdfast.lower.layout import Layout
from holdfast.lower.statistics import Statistics

DEPTH, STILL, FINAL, CUT, STUCK, MASKED, VIOLATED = range(7)
"""Why a run ended: it took all its steps; no step of its actions changes anything; no action has a step, in a state
that a @final names, or because a bound of the scope cut one, or for no such reason; only omitted actions have a step;
something is violated."""

STATE_BITS = 16
"""How many bits the signature of a state has: a sample tells so many states apart, whose numbers do not count."""

STOPS = ("depth", "still", "final", "cut", "stuck", "masked", "violated")


@attrs.frozen
class Schedule:
    """Which process runs: ``points`` change points among the first ``prioritised`` steps; none without priorities.

    ``processes`` are the elements of a sort, and the environment, which comes last. ``strides`` tell for each action
    which process an instance belongs to: that of element ``(number // stride) % elements``, or for 0 the environment.
    """

    strides: tuple[int, ...]
    processes: int = 0
    points: int = 0
    prioritised: int = 0

    @property
    def elements(self) -> int:
        """How many processes are elements of the sort."""
        return self.processes - 1

    def process(self, action: int, number: int) -> int:
        """Whose instance of the action that is."""
        stride = self.strides[action]
        return number // stride % self.elements if stride else self.elements


@attrs.frozen
class WalkPlan:
    """A campaign: ``seed`` and ``depth``, the initial states to draw from, in order, and who runs when.

    Without ``swarm`` no action is omitted, and all weigh the same.
    """

    seed: int
    depth: int
    starts: tuple[bytes, ...]
    schedule: Schedule
    swarm: bool = True


def instances(layout: Layout, action: Action) -> int:
    """How many combinations of arguments an action has."""
    return prod(layout.codes(param.type) for param in action.params)


def strides(layout: Layout, action: Action) -> tuple[int, ...]:
    """By what each argument's code counts in the number of an instance; numbers are in the order of arguments."""
    codes = [layout.codes(param.type) for param in action.params]
    return tuple(prod(codes[place + 1 :]) for place in range(len(codes)))


def no_schedule(system: System) -> Schedule:
    """Every step is drawn from all."""
    return Schedule((0,) * len(system.actions))


def by_priority(layout: Layout, sort: str | None, changes: int, depth: int) -> Schedule:
    """Priorities for bugs that need ``changes`` ordered steps of different processes (PCT's depth).

    A process is an element of the sort; otherwise of that which most actions have a parameter of. An action belongs
    to its first such parameter. Raises UsageError for a sort that no action has a parameter of.
    """
    system = layout.system
    chosen = _sort_of_processes(system, sort)
    found = []
    for action in system.actions:
        places = [place for place, param in enumerate(action.params) if param.type == chosen]
        found.append(strides(layout, action)[places[0]] if places else 0)
    return Schedule(tuple(found), layout.codes(chosen) + 1, changes - 1, max(1, depth * 3 // 4))


def _sort_of_processes(system: System, name: str | None) -> SortType:
    uses = {
        sort: sum(any(param.type == sort for param in action.params) for action in system.actions)
        for sort in system.sorts
    }
    usable = [sort for sort, times in uses.items() if times and name in (None, sort.name)]
    if not usable:
        known = ", ".join(sort.name for sort, times in uses.items() if times) or "none"
        wanted = "of a sort" if name is None else f"of sort {name!r}"
        raise UsageError(
            f"no action of {system.name} has a parameter {wanted}, so there are no processes to give priorities; "
            f"sorts of parameters: {known}"
        )
    # Of sorts that serve equally often the first of the model counts.
    return max(usable, key=lambda sort: uses[sort])


@attrs.define
class Stops:
    """The runs that ended for one reason: how many, their steps together, the shortest and the longest of them."""

    runs: int = 0
    steps: int = 0
    shortest: int = 0
    longest: int = 0

    def add(self, other: Stops) -> None:
        """Count more runs."""
        if other.runs:
            self.shortest = min(self.shortest, other.shortest) if self.runs else other.shortest
            self.longest = max(self.longest, other.longest)
            self.runs += other.runs
            self.steps += other.steps


@attrs.define
class WalkTally:
    """What was counted over consecutive runs; nothing in it depends on how the runs were divided.

    ``taken`` and ``repeats`` are by action, ``unshown_repeats`` the repetitions that a bound cut. ``silent_steps`` and
    ``silent_states`` are the step properties, and the invariants and lemmas, that said nothing yet, as bits.
    ``reached`` has for each witness the run and the number of steps that first reached it. ``violation`` is the run
    that ended all, if one did.
    """

    taken: list[int]
    repeats: list[int]
    silent_steps: int
    silent_states: int
    reached: list[tuple[int, int] | None]
    statistics: Statistics = attrs.field(factory=Statistics, eq=False)
    stops: list[Stops] = attrs.field(factory=lambda: [Stops() for _ in STOPS])
    unshown_repeats: int = 0
    violation: int | None = None

    @classmethod
    def empty(cls, actions: int, steps: int, states: int, witnesses: int) -> WalkTally:
        """Nothing counted, of so many actions, step properties, invariants and lemmas, and witnesses."""
        return cls([0] * actions, [0] * actions, (1 << steps) - 1, (1 << states) - 1, [None] * witnesses)

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(stop.runs for stop in self.stops)

    @property
    def steps(self) -> int:
        """How many steps they took."""
        return sum(stop.steps for stop in self.stops)

    def add(self, later: WalkTally) -> None:
        """Add the runs that follow."""
        assert self.violation is None, "nothing follows a violation"
        self.taken = [one + two for one, two in zip(self.taken, later.taken, strict=True)]
        self.repeats = [one + two for one, two in zip(self.repeats, later.repeats, strict=True)]
        self.silent_steps &= later.silent_steps
        self.silent_states &= later.silent_states
        self.reached = [one or two for one, two in zip(self.reached, later.reached, strict=True)]
        self.statistics.add(later.statistics)
        for stop, more in zip(self.stops, later.stops, strict=True):
            stop.add(more)
        self.unshown_repeats += later.unshown_repeats
        self.violation = later.violation
