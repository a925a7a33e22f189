"""Find a run that explains a log: judge the log once more and note the steps.

With several sources, the search for an order of the events runs first. The run follows the order that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from holdfast.check.conform.judge.event_facts import Facts, Reader
from holdfast.check.conform.judge.event_trial import EventTrial, JudgeTally, StatePath
from holdfast.check.conform.judge.ground import Ground
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.judge.orders import Orders, Positions, numbers_of_all
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.events import STATE
from holdfast.check.conform.logs.log import Log

LONGEST = 5_000
"""The limit of events; no run is noted for a longer log."""

Check = Callable[[int], None]
"""Takes the number of events done, and raises Unjudged if a limit is exceeded."""


class NoRunError(Exception):
    """No run can be written, for this reason."""


@attrs.frozen
class Retrace:
    """The steps of a run, and its world. ``events``: the number of events of the log that it explains."""

    world: World
    steps: list[StatePath]
    events: int


def check_length(judgement: Judgement) -> None:
    """Raise NoRunError if the answer is unknown, or the log is too long to note a run."""
    if judgement.kind == "unknown":
        raise NoRunError("the answer is unknown")
    if judgement.judged > LONGEST:
        raise NoRunError(f"the log has more than {LONGEST:,} events up to there")


def of_all_streams(log: Log, judgement: Judgement, check: Check) -> Retrace:
    """The run of all streams together that explains a log, up to its end or to the first impossible event.

    Raises NoRunError if there is no such run, and Unjudged if that is not known.
    """
    ground = judgement.ground
    assert ground is not None, "a log that was judged has one"
    # The judge may have made room for more numbers in its windows than a ground of all streams would have by default.
    room = {nat: size + 1 for nat, size in ground.layout.scope.sizes.items() if nat in ground.frame.literals}
    hidden = tuple(action.name for action in ground.hidden.actions)
    joint = Ground(ground.frame, ground.names, None, 0, {}, hidden)
    if any(room[nat] > joint.layout.scope.sizes[nat] + 1 for nat in room):
        joint = Ground(ground.frame, ground.names, None, 0, room, hidden)
    return _retraced(log, judgement, lambda: World(joint, {}, JudgeTally()), check)


def of_part(log: Log, judgement: Judgement, part: World, check: Check) -> Retrace:
    """Like ``of_all_streams``, for one world alone."""

    def made() -> World:
        world = World(part.ground, part.slots, JudgeTally())
        world.states = set(judgement.start)
        return world

    return _retraced(log, judgement, made, check)


def _retraced(log: Log, judgement: Judgement, made: Callable[[], World], check: Check) -> Retrace:
    """Judge the log again and note its steps. ``made`` makes the world at its start."""
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
    """The events in an order that is a run; for an impossible log, the order that is a run for as long as possible."""
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
    """An event that led to a state, linked to the events before it."""

    facts: Facts
    before: _Link | None


class NotedOrders(Orders):
    """A search for an order that notes, for each state of each node, the order of events that led to it."""

    def __init__(self, world: World, sources: Sequence[tuple[str, int, Iterator[Facts]]], check: Check) -> None:
        super().__init__(world, sources, check)
        start = tuple(0 for _ in sources)
        self._links: dict[tuple[Positions, bytes], _Link | None] = {}
        self._unsettled: dict[tuple[Positions, bytes], _Link | None] = {(start, state): None for state in world.states}

    def order(self) -> list[Facts]:
        """The events that lead to the furthest node."""
        state = min(state for positions, state in self._links if positions == self.furthest)
        found, link = [], self._links[self.furthest, state]
        # The links go from the last event to the first.
        while link is not None:
            found.append(link.facts)
            link = link.before
        return found[::-1]

    def refer(self, trials: Sequence[EventTrial], nodes: dict[Positions, set[bytes]]) -> None:
        """Add the numbers of events to the windows, as in ``Orders``. The links move with the states to their new
        codes.
        """
        self._unsettled = {}
        keys = sorted((positions, state) for positions, states in nodes.items() for state in states)
        # A group of its own for each state, to see which new state belongs to which old one.
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
        """As in ``Orders``, state by state, so that each new state gets the link of its predecessor."""
        found: set[bytes] = set()
        for state in sorted(states):
            link = _Link(trial.facts, self._links[positions, state])
            for after in sorted(self.world.after(trial, {state})):
                self._unsettled.setdefault((moved, after), link)
                found.add(after)
        return found

    def settle(self, positions: Positions, at: Positions, states: set[bytes]) -> None:
        """As in ``Orders``. Free events are not noted in the order."""
        for state in states:
            self._links.setdefault((at, state), self._unsettled[positions, state])
