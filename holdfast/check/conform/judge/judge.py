"""Judge a log: decide whether its events are a run of the model."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Literal

import attrs

from holdfast.check.budget import Meter
from holdfast.check.conform.judge.branch import Branch
from holdfast.check.conform.judge.event_facts import Facts, Reader
from holdfast.check.conform.judge.event_trial import JudgeTally
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.ground import Ground, UnjudgedError
from holdfast.check.conform.judge.orders import LAST, Orders
from holdfast.check.conform.judge.setup import JudgeOptions, JudgeSetup
from holdfast.check.conform.judge.survey import Survey
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.logs.names import LogNames
from holdfast.ir.system import System

Kind = Literal["conforms", "impossible", "unknown"]

MERGED_EVERY = 64
"""The number of events after which the judge merges branches that agree."""


@attrs.define
class Judgement:
    """The answer about a log.

    ``reason``: why the answer is ``unknown``. ``facts``: the first impossible event. ``also``: the next events of other
    sources, which are impossible there, too. ``world``: the world that refuses them. ``start``: the initial states of
    the worlds. ``parts``: the worlds whose runs explain the log: all worlds, or the one that found it impossible.
    ``together``: why all streams were judged together. ``chosen``: the judged streams, None for all. ``apart``: the
    choices that each world made on its own, if there are several worlds. ``finished``: if worlds are judged one after
    the other, the number of worlds judged to the end; ``judged`` then counts the events of the next world.
    """

    kind: Kind
    ground: Ground | None
    tally: JudgeTally
    events: int = 0
    judged: int = 0
    worlds: int = 0
    finished: int | None = None
    streams: int = 0
    seen: Counter[str] = attrs.field(factory=Counter)
    reason: str | None = None
    facts: Facts | None = None
    also: tuple[Facts, ...] = ()
    world: World | None = None
    start: frozenset[bytes] = frozenset()
    parts: tuple[World, ...] = ()
    last: tuple[Facts, ...] = ()
    together: str | None = None
    chosen: tuple[str, ...] | None = None
    apart: tuple[str, ...] = ()
    notes: list[str] = attrs.field(factory=list)


def judge(
    system: System, log: Log, literals: Mapping[str, Mapping[int, int]], options: JudgeOptions, meter: Meter
) -> Judgement:
    """Read a log twice and judge it. Raises UsageError if the log is damaged or does not fit the model."""
    return judge_in(Frame.of(system, literals), log, options, meter)


def judge_in(frame: Frame, log: Log, options: JudgeOptions, meter: Meter) -> Judgement:
    """Judge a log as ``judge`` does, in a frame that other logs may share. The answer is the same."""
    sort = frame.sort(options.project)
    names = LogNames(frame.system)
    survey = Survey(names, Reader(frame.system, names, sort), frame, meter)
    try:
        log.survey(survey.visit)
        # The survey has seen all elements. From here on, a new name would be a bug.
        names.adding = False
        judging = _Judging(frame, survey, sort, log, options, meter)
    except UnjudgedError as error:
        return Judgement("unknown", None, JudgeTally(), survey.count, reason=str(error), seen=survey.seen)
    return judging.answer()


class _Judging:
    def __init__(
        self, frame: Frame, survey: Survey, sort: str | None, log: Log, options: JudgeOptions, meter: Meter
    ) -> None:
        self.log, self.meter, self.survey = log, meter, survey
        self.setup = setup = JudgeSetup(frame, survey, sort, options)
        self.ground, self.reader = setup.ground, setup.reader
        self.answered = Judgement("unknown", self.ground, JudgeTally(), survey.seen.total(), seen=survey.seen)
        self.answered.notes += self.ground.notes()
        self.answered.together = setup.together
        self.answered.streams = len(setup.streams)
        self.answered.chosen = options.streams or None
        self.last: deque[Facts] = deque(maxlen=LAST)
        self.branches = setup.branches()
        self.reason: str | None = None
        """Why a branch was not judged to the end; None if all were."""

    def answer(self) -> Judgement:
        """Judge all events."""
        self.shown = self.branches[0]
        try:
            if len(self.log.sources) == 1:
                self._one_source()
            else:
                self._several_sources()
        except UnjudgedError as error:
            self.answered.kind, self.answered.reason = "unknown", str(error)
        worlds, tally = self.shown.worlds, self.shown.tally
        self.answered.tally = tally
        self.answered.last = tuple(self.last)
        self.answered.worlds = len(worlds)
        self.answered.apart = self._apart(worlds)
        self.answered.start = self.shown.start
        refusing = self.answered.world
        self.answered.parts = tuple(worlds) if refusing is None else (refusing,)
        for world in (*worlds, *([self.shown.template] if self.shown.template else [])):
            for nat, width in world.windows.widest.items():
                tally.widest[nat] = max(tally.widest.get(nat, 0), width)
        return self.answered

    def _check_limits(self, events: int) -> None:
        """Raise Unjudged if a limit is exceeded. ``events``: the number of events done."""
        steps = sum([branch.tally.steps for branch in self.branches])
        if self.meter.tick(events, steps, steps, self.survey.count - events):
            raise UnjudgedError(f"stopped by a limit ({self.meter.spent})")

    def _apart(self, worlds: list[World]) -> tuple[str, ...]:
        """The choices that each world makes on its own."""
        if len(worlds) < 2:
            return ()
        choices = {
            "the initial state": self.setup.joined,
            "the order of the sources": len(self.log.sources) > 1,
            "unknown outcomes": self.survey.unknown > 0,
            "unknown arguments": self.survey.open > 0,
            "hidden steps": bool(self.ground.hidden.actions),
            "the numbers that a count goes over": bool(self.ground.frame.uses.counted),
        }
        return tuple(text for text, there in choices.items() if there)

    def _one_source(self) -> None:
        facts_of = self.reader.facts
        for event in self.log.events_of(self.log.sources[0]):
            facts = facts_of(event)
            # Each branch judges the event; those that refuse it, or cannot judge it, are dropped.
            self.branches = [branch for branch in self.branches if self._takes(branch, facts)]
            if not self.branches:
                self._fail()
                self.answered.facts, self.answered.world = facts, self.shown.refusing
                return
            self.shown = self.branches[0]
            self.answered.judged += 1
            self.last.append(facts)
            self._check_limits(self.answered.judged)
            if len(self.branches) > 1 and not self.answered.judged % MERGED_EVERY:
                self._merge()
        self.answered.kind = "conforms"

    def _takes(self, branch: Branch, facts: Facts) -> bool:
        try:
            taken = branch.take(facts)
        except UnjudgedError as error:
            self.reason = self.reason or str(error)
            return False
        if not taken:
            self.shown = branch
        return taken

    def _fail(self) -> None:
        """Answer ``impossible``, since no branch is left; raises Unjudged if one was not judged to the end."""
        if self.reason is not None:
            raise UnjudgedError(self.reason)
        self.answered.kind = "impossible"

    def _merge(self) -> None:
        """Drop branches that give the same answers as an earlier one from now on."""
        kept: list[Branch] = []
        for branch in self.branches:
            if not any(branch.is_as(other) for other in kept):
                kept.append(branch)
        self.branches = kept

    def _several_sources(self) -> None:
        """Judge one world after the other, because each may order the events in its own way."""
        furthest: Orders | None = None
        for branch in self.branches:
            try:
                stuck = self._stuck(branch)
            except UnjudgedError as error:
                self.reason = self.reason or str(error)
                continue
            if stuck is None:
                self.shown, self.answered.kind, self.answered.judged = branch, "conforms", self.answered.events
                return
            if furthest is None or stuck.consumed > furthest.consumed:
                self.shown, furthest = branch, stuck
        self._fail()
        assert furthest is not None, "some branch was judged"
        self.answered.judged, self.answered.world = furthest.consumed, furthest.world
        self.answered.facts, self.answered.also = furthest.stuck, furthest.also
        self.last.extend(furthest.last())

    def _stuck(self, branch: Branch) -> Orders | None:
        """The orders of the first world that refuses the log; None if all worlds of the branch allow it."""
        for number, world in enumerate(branch.complete(len(self.setup.streams))):
            orders = self._orders(world)
            try:
                allowed = orders.judge()
            finally:
                self.answered.judged, self.answered.finished = orders.consumed, number
            if not allowed:
                return orders
        return None

    def _orders(self, world: World) -> Orders:
        sources = [
            (source, self.log.count(source), map(self.reader.facts, self.log.events_of(source)))
            for source in self.log.sources
        ]
        return Orders(world, sources, self._check_limits)
