"""A run that explains a log, found by judging the log once more and noting the steps.

With several sources, the search for an order of the events runs first, and the run follows the order that it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from holdfast.check.conform.judge.facts import Facts, Reader
from holdfast.check.conform.judge.ground import Ground
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.judge.orders import Orders, Positions, numbers_of_all
from holdfast.check.conform.judge.trial import EventTrial, JudgeTally, StatePath
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.events import STATE
from holdfast.check.conform.logs.log import Log

LONGEST = 5_000
"""The most events of a log of which a run is noted."""

Check = Callable[[int], None]
"""Takes how many events are done, and raises Unjudged if a limit is exceeded."""


class NoRunError(Exception):
    """No run can be written, for this reason."""


@attrs.frozen
class Retrace:
    """The steps of a run, and its world. ``events``: how many events of the log it explains."""

    world: World
    steps: list[StatePath]
    events: int


def check_length(judgement: Judgement) -> None:
    """Raise NoRunError for a log of which no run is noted."""
    if judgement.kind == "unknown":
        raise NoRunError("the answer is unknown")
    if judgement.judged > LONGEST:
        raise NoRunError(f"the log has more than {LONGEST:,} events up to there")


def of_all_streams(log: Log, judgement: Judgement, check: Check) -> Retrace:
    """The run of all streams together that explains a log: up to its end, or up to the first impossible event.

    Raises NoRunError, and Unjudged where that is not known.
    """
    ground = judgement.ground
    assert ground is not None, "a log that was judged has one"
    room = {nat: size + 1 for nat, size in ground.layout.scope.sizes.items() if nat in ground.frame.literals}
    hidden = tuple(action.name for action in ground.hidden.actions)
    joint = Ground(ground.frame, ground.names, None, 0, {}, hidden)
    if any(room[nat] > joint.layout.scope.sizes[nat] + 1 for nat in room):
        joint = Ground(ground.frame, ground.names, None, 0, room, hidden)
    return _retraced(log, judgement, lambda: World(joint, {}, JudgeTally()), check)


def of_part(log: Log, judgement: Judgement, part: World, check: Check) -> Retrace:
    """The same for one world alone."""

    def made() -> World:
        world = World(part.ground, part.slots, JudgeTally())
        world.states = set(judgement.start)
        return world

    return _retraced(log, judgement, made, check)


def _retraced(log: Log, judgement: Judgement, made: Callable[[], World], check: Check) -> Retrace:
    """``made``: makes the world at its start."""
    world = made()
    reader = Reader(world.ground.frame.system, world.ground.names, world.ground.sort)
    order: Iterable[Facts]
    if len(log.sources) == 1:
        order = map(reader.facts, log.events_of(log.sources[0]))
    else:
        order = _order(log, judgement, reader, made(), check)
    world.trace()
    events = 0
    for facts in order:
        if judgement.kind == "impossible" and _is_same(facts, judgement.facts):
            break
        check(events)
        if facts.event.action == STATE:
            raise NoRunError(f"{_place(facts)} sets cells, as a snapshot does, and no step of the model does that")
        if not world.take(facts):
            raise _impossible(facts)
        events += 1
    assert world.paths is not None
    return Retrace(world, world.paths[min(world.paths)].steps(), events)


def _is_same(facts: Facts, other: Facts | None) -> bool:
    return other is not None and (facts.event.source, facts.event.number) == (other.event.source, other.event.number)


def _order(log: Log, judgement: Judgement, reader: Reader, world: World, check: Check) -> Sequence[Facts]:
    """The events in an order that is a run; of an impossible log, in one that is a run for as long as any."""
    sources = [(source, log.count(source), map(reader.facts, log.events_of(source))) for source in log.sources]
    orders = NotedOrders(world, sources, check)
    if not orders.judge() and judgement.kind == "conforms" and orders.stuck is not None:
        raise _impossible(orders.stuck)
    return orders.order()


def _impossible(facts: Facts) -> NoRunError:
    return NoRunError(f"no run explains {_place(facts)}; judge with --joint all")


def _place(facts: Facts) -> str:
    return f"{facts.event.at.file}:{facts.event.at.line}"


@attrs.frozen
class _Link:
    """The events that led to a state, the last one first."""

    facts: Facts
    before: _Link | None


class NotedOrders(Orders):
    """Notes for each state of each node in which order the events led to it."""

    def __init__(self, world: World, sources: Sequence[tuple[str, int, Iterator[Facts]]], check: Check) -> None:
        super().__init__(world, sources, check)
        start = tuple(0 for _ in sources)
        self._links: dict[tuple[Positions, bytes], _Link | None] = {}
        self._unsettled: dict[tuple[Positions, bytes], _Link | None] = {(start, state): None for state in world.states}

    def order(self) -> list[Facts]:
        """The events that lead to the furthest node."""
        state = min(state for positions, state in self._links if positions == self.furthest)
        found, link = [], self._links[self.furthest, state]
        while link is not None:
            found.append(link.facts)
            link = link.before
        return found[::-1]

    def refer(self, trials: Sequence[EventTrial], nodes: dict[Positions, set[bytes]]) -> None:
        """As for orders; the links follow the states."""
        self._unsettled = {}
        keys = sorted((positions, state) for positions, states in nodes.items() for state in states)
        moved = self.world.windows.refer_groups(*numbers_of_all(trials, [{state} for _, state in keys]))
        links: dict[tuple[Positions, bytes], _Link | None] = {}
        for positions in nodes:
            nodes[positions] = set()
        for (positions, old), group in zip(keys, moved, strict=True):
            for state in group:
                nodes[positions].add(state)
                links.setdefault((positions, state), self._links[positions, old])
        self._links = links

    def after(self, trial: EventTrial, positions: Positions, moved: Positions, states: set[bytes]) -> set[bytes]:
        """As for orders, state by state."""
        found: set[bytes] = set()
        for state in sorted(states):
            link = _Link(trial.facts, self._links[positions, state])
            for after in sorted(self.world.after(trial, {state})):
                self._unsettled.setdefault((moved, after), link)
                found.add(after)
        return found

    def settle(self, positions: Positions, at: Positions, states: set[bytes]) -> None:
        """As for orders; free events are no part of the order."""
        for state in states:
            self._links.setdefault((at, state), self._unsettled[positions, state])
