"""The definition of random runs and of their counts, the same for the kernel and the interpreter.

A run is drawn in this order, all from its own stream:

1. With the swarm: a share, 0 to 99 percent. Each action is omitted with that probability (swarm testing: a run with
   fewer actions goes deeper into them). If none is left, one action is drawn, and stays.
2. With the swarm: a weight, 1 to 100, for each action. Without the swarm, all actions stay and weigh the same.
3. With priorities (PCT): a permutation of the processes, from the highest priority to the lowest. Then the change
   points, each one of the prioritised steps.
4. The initial state.
5. For each step an action by weight, then one of its steps, all equally likely. First some of the action's instances
   are tried (``tries`` says how many): each is drawn from all instances, all equally likely. The first that is a step
   is taken. If none is, the steps are listed in the order of their arguments, and one of the list is drawn. Either way
   all steps are equally likely; to try an instance costs far less than to list the steps of thousands.

An action that has no step, or whose step changed nothing, is not drawn again before the state changes: most requests
that arrive change nothing, and a run that repeats them goes nowhere. When no action is left to draw, all may be drawn
again, and only steps that change the state count. If no action of the run has such a step, and an omitted action has
one, one of these actions comes back, all equally likely, with the weight that was drawn for it: a run never ends for
the swarm's sake. If no action of the model has such a step, the run ends.

With priorities, a step is drawn from the steps of one process: the one with the highest priority that has a step. At a
change point that process first falls to the lowest priority. A process whose step changed nothing also falls, because
it would keep all others from running. The last quarter of a run ignores priorities: with them to the end, a process of
low priority might never run.
"""

from __future__ import annotations

from math import prod

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, System
from holdfast.ir.types import SortType
from holdfast.lower.layout import Layout
from holdfast.lower.statistics import Statistics

DEPTH, STILL, FINAL, CUT, STUCK, VIOLATED = range(6)
"""Why a run ended:

- DEPTH: it took all its steps;
- STILL: some action has a step, and no step changes the state;
- FINAL: no action has a step, and a @final holds in the state;
- CUT: no action has a step, and a bound of the scope cut one;
- STUCK: no action has a step, for no such reason;
- VIOLATED: it violates a property or is in a deadlock.
"""

LISTED_FOR_A_TRY, MOST_TRIES = 8, 8
"""There is a try for every so many instances, up to a number of tries: see ``tries``."""

STATE_BITS = 16
"""The bits of a state's signature, a hash of the state without its numbers: a sample tells 2^16 signatures apart."""

STOPS = ("depth", "still", "final", "cut", "stuck", "violated")
"""The names of the reasons, in the order of their numbers."""


@attrs.frozen
class Schedule:
    """Which process runs when. ``points`` change points are drawn from the first ``prioritised`` steps.

    ``processes`` counts the elements of a sort, and the environment, which comes last. ``strides`` has a number for
    each action: its instance ``number`` belongs to process ``(number // stride) % elements``, or to the environment if
    the stride is 0. Without priorities, all numbers are 0.
    """

    strides: tuple[int, ...]
    processes: int = 0
    points: int = 0
    prioritised: int = 0

    @property
    def elements(self) -> int:
        """The number of processes that are elements of the sort."""
        return self.processes - 1

    def process(self, action: int, number: int) -> int:
        """The process of instance ``number`` of an action."""
        stride = self.strides[action]
        return number // stride % self.elements if stride else self.elements

    def own(self, action: int, process: int, place: int) -> int:
        """The number of the instance of a process at this place, from 0, among its instances of an action."""
        stride = self.strides[action]
        if not stride:
            return place
        return (place // stride * self.elements + process) * stride + place % stride


@attrs.frozen
class WalkPlan:
    """The plan of random runs: the seed, the most steps of a run, the initial states to draw from, the schedule.

    Without ``swarm`` no action is omitted, and all weigh the same.
    """

    seed: int
    depth: int
    starts: tuple[bytes, ...]
    schedule: Schedule
    swarm: bool = True


def instances(layout: Layout, action: Action) -> int:
    """The number of instances of an action: of combinations of arguments."""
    return prod(layout.codes(param.type) for param in action.params)


def tries(instances: int) -> int:
    """The number of instances to try before the steps of an action are listed. ``instances``: all that may be drawn."""
    # A list of few instances costs no more than some tries. Many misses in a row mean that hardly any is a step.
    return min(instances // LISTED_FOR_A_TRY, MOST_TRIES)


def strides(layout: Layout, action: Action) -> tuple[int, ...]:
    """The factor of each argument's code in the number of an instance. Numbers are in the order of the arguments."""
    codes = [layout.codes(param.type) for param in action.params]
    return tuple(prod(codes[place + 1 :]) for place in range(len(codes)))


def no_schedule(system: System) -> Schedule:
    """The schedule without priorities: every step is drawn from all processes."""
    return Schedule((0,) * len(system.actions))


def by_priority(layout: Layout, sort: str | None, changes: int, depth: int) -> Schedule:
    """PCT scheduling (Burckhardt et al. 2010), for bugs that need ``changes`` ordered steps of different processes.

    A process is an element of ``sort``, by default of the sort that most actions have a parameter of. An instance
    belongs to the process of the action's first parameter of that sort. ``depth`` is the number of steps of a run.
    Raises UsageError for a sort that no action has a parameter of.
    """
    system = layout.system
    chosen = _sort_of_processes(system, sort)
    found = []
    for action in system.actions:
        places = [place for place, param in enumerate(action.params) if param.type == chosen]
        found.append(strides(layout, action)[places[0]] if places else 0)
    # One process for the environment. PCT draws one change point less than the bug's depth.
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
    # ``max`` returns the first of equals: the first sort of the model.
    return max(usable, key=lambda sort: uses[sort])


@attrs.define
class Stops:
    """The runs that ended for one reason: their number, all their steps, and the steps of the shortest and longest."""

    runs: int = 0
    steps: int = 0
    shortest: int = 0
    longest: int = 0

    def add(self, other: Stops) -> None:
        """Add other runs that ended for the same reason."""
        # ``shortest`` is 0 as long as there are no runs, which is no shortest run.
        if other.runs:
            self.shortest = min(self.shortest, other.shortest) if self.runs else other.shortest
            self.longest = max(self.longest, other.longest)
            self.runs += other.runs
            self.steps += other.steps


@attrs.define
class WalkTally:
    """The counts over consecutive runs. They do not depend on how the runs were divided among workers.

    - ``taken`` and ``repeats`` count steps and repetitions by action; ``unshown_repeats`` counts repetitions that a
      bound cut.
    - ``silent_steps`` and ``silent_states`` are bit masks: the step properties, and the invariants and lemmas, whose
      premise was never true.
    - ``reached`` has for each witness the first run that reached it, and its number of steps then.
    - ``stops`` has the runs by the reason for their end, in the order of ``STOPS``.
    - ``violation`` is the number of the run that violated something; no run follows it.
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
        """A tally of no runs, from the numbers of actions, step properties, invariants with lemmas, and witnesses."""
        return cls([0] * actions, [0] * actions, (1 << steps) - 1, (1 << states) - 1, [None] * witnesses)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(stop.runs for stop in self.stops)

    @property
    def steps(self) -> int:
        """The number of steps of all runs."""
        return sum(stop.steps for stop in self.stops)

    def add(self, later: WalkTally) -> None:
        """Add the tally of the runs that follow these."""
        assert self.violation is None, "nothing follows a violation"
        self.taken = [one + two for one, two in zip(self.taken, later.taken, strict=True)]
        self.repeats = [one + two for one, two in zip(self.repeats, later.repeats, strict=True)]
        self.silent_steps &= later.silent_steps
        self.silent_states &= later.silent_states
        # A pair is never false, so the earlier run stays.
        self.reached = [one or two for one, two in zip(self.reached, later.reached, strict=True)]
        self.statistics.add(later.statistics)
        for stop, more in zip(self.stops, later.stops, strict=True):
            stop.add(more)
        self.unshown_repeats += later.unshown_repeats
        self.violation = later.violation
