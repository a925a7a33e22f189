"""Write logs of random runs of a model, in the way a system could have written them, for ``holdfast walk --log``.

A random run soon reaches states in which little can happen: all processes have crashed, or all streams are deleted. So
rehearsals first show which actions use elements up, and of which sorts. The walk then has more elements of these sorts.
They appear one after another, and the walk seldom takes the actions that use them up.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.check.conform.judge.order import uses
from holdfast.check.conform.logs.names import processes
from holdfast.check.conform.walks.log_lines import Gaps, LogLines, timed
from holdfast.check.conform.walks.log_scope import MOST, MOST_SHORT, LogScope
from holdfast.check.conform.walks.log_steps import LogStep, LogSteps
from holdfast.check.conform.walks.stretch import Numbers
from holdfast.ir.system import Action, Scope, System

REHEARSALS, REHEARSED = 6, 400
"""The number of rehearsals, and the events of each."""

IDLE = 120
"""An element is used up after N events with an effect in which it takes no part."""

LONELY = 1200
"""A node gets a new process after N events without an effect of its processes."""

REVIEW = 16
"""A walk looks for used-up elements every N events."""

CYCLE = 3
"""An element serves for long if some action had an effect on it N times."""

USES_UP = 0.6
"""An action uses elements up if, for this share of its effects, no other action on just that element came later."""

SPARED = 4
"""An action that uses elements up is taken N times more seldom than new elements appear."""

FAVOUR = 64
"""An action with fewer effects than the others is drawn up to N times more often."""

SINK, RISE, LEAST = 0.3, 2, 1 / 2048
"""The factor for an action's weight when it fails, the factor after each effect, and the least weight."""

EVEN = 100
"""After N requests in a row without an effect, all actions that are due are drawn equally often."""

QUIET, LAST, END = 1500, 4500, 6000
"""Numbers of requests in a row without an effect. After QUIET of them more elements appear; after LAST, a walk takes
also actions that are not due; after END it ends."""

PAUSE = 500
"""After QUIET such requests, still more elements appear every N requests."""


class LogWalk:
    """A random run of a model in the sizes of a scope, without bounds on its Nats. The seed decides everything.

    ``streams``: the number of streams that are at work at a time.
    """

    def __init__(
        self,
        system: System,
        scope: Scope,
        *,
        seed: int,
        stretched: bool,
        streams: int = 3,
        sources: int = 1,
        gaps: Gaps | None = None,
    ) -> None:
        self.system, self.scope, self.sources = system, scope, sources
        self.streams = streams
        self.gaps = gaps or Gaps()
        self.chance = random.Random(seed)  # noqa: S311 - it hides nothing
        self.numbers = Numbers(seed, stretched=stretched)
        self.uses = uses(system, frozenset(var.name for var in system.variables if var.ghost))

    def lines(self, events: int) -> Iterator[dict[str, Any]]:
        """The header, and then N events; fewer if the model comes to an end."""
        most = {"Stream": MOST, **dict.fromkeys(processes(self.system), MOST)}
        wear = Wear()
        steps = self._steps(REHEARSED, most)
        for _ in range(REHEARSALS):
            steps.restart()
            self._turns(REHEARSED, steps, wear).rehearse()
        turns = self._turns(events, self._steps(events, wear.most()), wear)
        wear.rehearsed = True
        yield turns.written.header()
        yield from timed((turns.written.event(run) for run in turns.runs()), self.sources, self.chance)

    def _steps(self, events: int, most: Mapping[str, int]) -> LogSteps:
        return LogSteps(LogScope(self.system, self.scope, self.uses, self.streams, events, most), self.chance)

    def _turns(self, events: int, steps: LogSteps, wear: Wear) -> _Turns:
        return _Turns(steps, LogLines(steps, self.numbers, self.chance, self.gaps), wear, self.chance, events)


class Wear:
    """Which actions use elements up, learned from several runs."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        """The number of effects of each action."""
        self.last: Counter[tuple[str, str]] = Counter()
        """By action and sort: how often the action's effect was the last one on an element of the sort."""
        self.gone: Counter[str] = Counter()
        """The number of used-up elements of each sort."""
        self.lasting: set[str] = set()
        """The sorts whose elements serve for long."""
        self.rehearsed = False

    def cost(self, action: str) -> dict[str, float]:
        """By sort: the share of the action's effects that were the last one on an element; only shares from USES_UP on.

        After the rehearsals, sorts whose elements serve once are left out.
        """
        # The 2 in the denominator keeps actions with few effects from looking costly.
        found = {
            sort: last / (self.taken[action] + 2)
            for (name, sort), last in self.last.items()
            if name == action and (sort in self.lasting or not self.rehearsed)
        }
        return {sort: cost for sort, cost in found.items() if cost >= USES_UP}

    def most(self) -> dict[str, int]:
        """The limit of elements, for each sort whose elements get used up."""
        return {sort: MOST if sort in self.lasting else MOST_SHORT for sort, gone in self.gone.items() if gone}


class _Elements:
    """The elements of a run: which are at work, and which are used up."""

    def __init__(self, steps: LogSteps, wear: Wear) -> None:
        self.steps, self.wear = steps, wear
        system = steps.sizes.system
        self.sorts = [sort.name for sort in system.sorts]
        self.places = {
            action.name: [
                (place, str(param.type)) for place, param in enumerate(action.params) if str(param.type) in self.sorts
            ]
            for action in system.actions
        }
        """For each action, its parameters that are elements: their places and sorts."""
        self.touched: dict[tuple[str, int], int] = {}
        """For each element, the event at which it last took part in a step with an effect, or appeared."""
        self.used: set[tuple[str, int]] = set()
        """The elements that took part in at least one such step."""
        self.last: dict[tuple[str, int], str] = {}
        """For each element, the last action with an effect on it and on no other element."""
        self.gone: set[tuple[str, int]] = set()
        """The elements that are used up."""
        self.served: Counter[tuple[str, int, str]] = Counter()

    def note(self, step: LogStep, made: int) -> None:
        """Record a step with an effect. ``made``: the number of events so far."""
        name = step.action.name
        self.wear.taken[name] += 1
        for place, sort in self.places[name]:
            element = sort, step.args[place]
            if element in self.gone:
                # It was not used up after all: take back the count of ``review``.
                self.gone.remove(element)
                self._count(element, -1)
            self.touched[element] = made
            self.used.add(element)
            if len(self.places[name]) == 1:
                self.last[element] = name
            if sort not in self.wear.lasting:
                self.served[*element, name] += 1
                if self.served[*element, name] >= CYCLE:
                    self.wear.lasting.add(sort)

    def review(self, made: int, idle: int = IDLE) -> None:
        """Update the elements at work and the used-up ones: the latter had no effect for more than ``idle`` events."""
        for sort in self.sorts:
            at_work = []
            for code in range(self.steps.appeared[sort]):
                element = sort, code
                if made - self.touched.setdefault(element, made) <= idle:
                    at_work.append(code)
                elif element not in self.gone and element in self.used:
                    self.gone.add(element)
                    self._count(element, 1)
            self.steps.at_work[sort] = at_work

    def lonely(self, sort: str, made: int) -> bool:
        """Whether a home, such as a node whose processes have crashed, has had no process at work for long."""
        if sort not in self.steps.sizes.homes:
            return False
        _, homes = self.steps.sizes.homes[sort]
        busy = {
            home
            for code, home in enumerate(homes[: self.steps.appeared[sort]])
            if made - self.touched.get((sort, code), made) <= LONELY
        }
        return len(busy) < len(set(homes))

    def _count(self, element: tuple[str, int], step: int) -> None:
        self.wear.gone[element[0]] += step
        if element in self.last:
            self.wear.last[self.last[element], element[0]] += step


class _Turns:
    """The steps of a walk, one after another."""

    def __init__(self, steps: LogSteps, written: LogLines, wear: Wear, chance: random.Random, count: int) -> None:
        self.steps, self.written, self.chance, self.count = steps, written, chance, count
        self.actions = steps.sizes.system.actions
        self.wear = wear
        self.taken: Counter[str] = Counter()
        """The number of effects of each action."""
        self.elements = _Elements(steps, wear)
        self.hope = [1.0 for _ in self.actions]
        """For each action, the factor by which its weight has sunk because it failed."""
        self.due = [0.0 for _ in self.actions]
        """For each action, the event from which on it may be taken."""

    def rehearse(self) -> None:
        """Run to learn which elements get used up. If the model comes to an end, all elements are used up."""
        made = sum(1 for _ in self.runs())
        if made < self.count:
            self.elements.review(made, -1)

    def runs(self) -> Iterator[list[LogStep]]:
        """For each event its steps; fewer events if the model comes to an end."""
        self.due = [self.chance.random() * self._rest(action) for action in self.actions]
        made = idle = reviewed = 0
        weights = self._weights(made, idle)
        places = range(len(self.actions))
        while made < self.count and idle < END:
            if made >= reviewed or (idle >= QUIET and idle % PAUSE == 0):
                reviewed = made + REVIEW
                self.elements.review(made)
                self._appear(made, idle)
            (place,) = self.chance.choices(places, weights)
            step = self.steps.step(self.actions[place])
            idle += 1
            if step is None or step.old == step.new:
                if idle < EVEN:
                    # From EVEN on the weights stay equal, so that no action is starved.
                    hope = self.hope[place]
                    self.hope[place] = max(hope * SINK, LEAST)
                    weights[place] *= self.hope[place] / hope
            else:
                self.elements.note(step, made)
                self.taken[step.action.name] += 1
                self.hope = [min(hope * RISE, 1) for hope in self.hope]
                self.due[place] = made + self._rest(step.action)
                idle = 0
            if idle in (0, EVEN, LAST):
                weights = self._weights(made, idle)
            if step is not None:
                yield self._event(step)
                made += 1

    def _weights(self, made: int, idle: int) -> list[float]:
        """The weights for drawing actions: rare actions weigh more, actions that have just failed weigh less."""
        # The only action with an effect may be a frequent one whose arguments are hard to find, so weigh all equally.
        if idle >= EVEN:
            return [1.0 if due <= made or idle >= LAST else 1e-9 for due in self.due]
        taken, most = self.taken, FAVOUR
        mean = taken.total() / len(self.actions) + 1
        return [
            hope * min(max((mean / (taken[action.name] + 1)) ** 2, 1 / most), most) if due <= made else 1e-9
            for action, hope, due in zip(self.actions, self.hope, self.due, strict=True)
        ]

    def _rest(self, action: Action) -> float:
        """The number of events for which an action may not be taken again after it was taken."""
        sizes = self.steps.sizes
        return max(
            (
                cost * SPARED * self.count / (1 + sizes.count(sort) - sizes.first[sort])
                for sort, cost in self.wear.cost(action.name).items()
            ),
            default=0,
        )

    def _event(self, step: LogStep) -> list[LogStep]:
        """The steps of one event: the step, and for a span sometimes the same step repeated."""
        run = [step]
        while self.written.spanned(run[-1]) and self.chance.randrange(2):
            state, windows = self.steps.state, self.steps.windows
            more = self.steps.again(run[-1])
            if more is None or not self.written.spanned(more):
                self.steps.state, self.steps.windows = state, windows
                break
            run.append(more)
        return run

    def _appear(self, made: int, idle: int) -> None:
        """Let elements appear at a steady pace, or sooner if none is at work or nothing else can happen."""
        sizes, appeared = self.steps.sizes, self.steps.appeared
        for name in sizes.appearing():
            first, count = sizes.first[name], sizes.count(name)
            pace = first + (count - first) * made // self.count
            lasting, at_work = name in self.wear.lasting, self.steps.at_work.get(name, ())
            wanted = appeared[name] < pace and not (lasting and len(at_work) >= first)
            missed = lasting and (not at_work or self.elements.lonely(name, made))
            if appeared[name] < count and (wanted or idle >= QUIET or missed):
                appeared[name] += 1
