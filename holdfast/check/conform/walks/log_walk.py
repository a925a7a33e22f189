"""Logs of random runs of a model, as a system could have written them: what ``holdfast walk --log`` writes.

A random run soon comes to where little can happen: all processes have crashed, or all streams are deleted. So
rehearsals show first which actions use elements up, and of which sorts. The walk then has more elements of these sorts,
which appear one after another, and it seldom takes the actions that use them up.
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
"""An element is used up if that many events with an effect have gone by without it."""

LONELY = 1200
"""After how many events without an effect of its processes a node gets a new one."""

REVIEW = 16
"""A walk looks every N events for elements that are used up."""

CYCLE = 3
"""An element serves long if some action had that often an effect on it."""

USES_UP = 0.6
"""An action uses elements up if for that share of its effects no other action on the same element alone came later."""

SPARED = 4
"""How much more seldom an action is taken that uses elements up than new ones appear."""

FAVOUR = 64
"""How much more often, at most, an action is drawn that had an effect less often than the others."""

SINK, RISE, LEAST = 0.3, 2, 1 / 2048
"""The factors by which an action's weight sinks when it fails and rises after each effect; the least such weight."""

EVEN = 100
"""After how many requests in a row without an effect all actions that are due are drawn alike."""

QUIET, LAST, END = 1500, 4500, 6000
"""After how many requests in a row without an effect more elements appear, after how many a walk takes any action that
there is, and after how many it ends."""

PAUSE = 500
"""After how many such requests still more elements appear."""


class LogWalk:
    """A random run of a model in the sizes of a scope, without bounds on its Nats. The seed decides all.

    ``streams``: how many streams are at work at a time.
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
    """Which actions use elements up, as several runs have shown."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        """How often each action had an effect."""
        self.last: Counter[tuple[str, str]] = Counter()
        """How often an effect of an action was the last one on an element of a sort."""
        self.gone: Counter[str] = Counter()
        """How many elements of each sort were used up."""
        self.lasting: set[str] = set()
        """The sorts whose elements serve long."""
        self.rehearsed = False

    def cost(self, action: str) -> dict[str, float]:
        """By sort: the share of the action's effects that were the last one on an element, if it is large.

        After the rehearsals, sorts whose elements serve once are left out.
        """
        found = {
            sort: last / (self.taken[action] + 2)
            for (name, sort), last in self.last.items()
            if name == action and (sort in self.lasting or not self.rehearsed)
        }
        return {sort: cost for sort, cost in found.items() if cost >= USES_UP}

    def most(self) -> dict[str, int]:
        """How many elements a sort can have, of the sorts whose elements are used up."""
        return {sort: MOST if sort in self.lasting else MOST_SHORT for sort, gone in self.gone.items() if gone}


class _Elements:
    """Which elements of a run are at work, and which are used up."""

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
        """The parameters of each action that are elements of a sort."""
        self.touched: dict[tuple[str, int], int] = {}
        """When each element last took part in a step with an effect, or appeared."""
        self.used: set[tuple[str, int]] = set()
        """The elements that took part in any such step."""
        self.last: dict[tuple[str, int], str] = {}
        """The last action with an effect that had this element alone."""
        self.gone: set[tuple[str, int]] = set()
        """The elements that are used up."""
        self.served: Counter[tuple[str, int, str]] = Counter()

    def note(self, step: LogStep, made: int) -> None:
        """Take note of a step with an effect."""
        name = step.action.name
        self.wear.taken[name] += 1
        for place, sort in self.places[name]:
            element = sort, step.args[place]
            if element in self.gone:
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
        """Find the elements at work; the others have been without an effect for a while."""
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
        """Whether no process has been at work for long in some place, such as a node whose processes have crashed."""
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
        """How often each action had an effect."""
        self.elements = _Elements(steps, wear)
        self.hope = [1.0 for _ in self.actions]
        """By how much the weight of each action has sunk since it failed."""
        self.due = [0.0 for _ in self.actions]
        """From which event on each action may be taken."""

    def rehearse(self) -> None:
        """Run, to see which elements are used up. All are if the model comes to an end."""
        made = sum(1 for _ in self.runs())
        if made < self.count:
            self.elements.review(made, -1)

    def runs(self) -> Iterator[list[LogStep]]:
        """The steps of each event; fewer events if the model comes to an end."""
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
        """How often each action is drawn: a rare one more often, one that has just failed less."""
        # The only action with an effect may be a frequent one, with arguments that are hard to find.
        if idle >= EVEN:
            return [1.0 if due <= made or idle >= LAST else 1e-9 for due in self.due]
        taken, most = self.taken, FAVOUR
        mean = taken.total() / len(self.actions) + 1
        return [
            hope * min(max((mean / (taken[action.name] + 1)) ** 2, 1 / most), most) if due <= made else 1e-9
            for action, hope, due in zip(self.actions, self.hope, self.due, strict=True)
        ]

    def _rest(self, action: Action) -> float:
        """The number of events for which an action rests after it was taken."""
        sizes = self.steps.sizes
        return max(
            (
                cost * SPARED * self.count / (1 + sizes.count(sort) - sizes.first[sort])
                for sort, cost in self.wear.cost(action.name).items()
            ),
            default=0,
        )

    def _event(self, step: LogStep) -> list[LogStep]:
        """The step; for a span, the same step sometimes more than once."""
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
        """Let elements appear at a steady pace; sooner where none is at work, or nothing else is left."""
        sizes, appeared = self.steps.sizes, self.steps.appeared
        for name in sizes.appearing():
            first, count = sizes.first[name], sizes.count(name)
            pace = first + (count - first) * made // self.count
            lasting, at_work = name in self.wear.lasting, self.steps.at_work.get(name, ())
            wanted = appeared[name] < pace and not (lasting and len(at_work) >= first)
            missed = lasting and (not at_work or self.elements.lonely(name, made))
            if appeared[name] < count and (wanted or idle >= QUIET or missed):
                appeared[name] += 1
