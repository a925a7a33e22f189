"""Judge a log of several sources: it is possible if some order of its events is a run.

An order keeps the order of each source. It puts an event after its cause, and after every event that ended before the
event began. The search follows all such orders at once, one event at a time. A *node* is a pair: how many events of
each source have taken effect, and the states in which the model may be then. All nodes of one round share the windows.
Only overlapping events are held in memory.

An event that does not concern the world takes effect as soon as it may: that only frees other events.

A request with an unknown outcome takes effect at its place in its source and within its interval, or never. So the
writer of the log must end the interval at the time after which the request cannot take effect any more. If that is
after later lines of the source, the request needs a source of its own.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import attrs

from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.event_trial import EventTrial
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.window import FullError
from holdfast.check.conform.judge.world import MOST_STATES, World
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.names import Number

MOST_NODES = 5_000
"""The limit of nodes in a round."""

MOST_HELD = 10_000
"""The limit of events of a source that are held at once."""

LAST = 5
"""The number of accepted events that a verdict shows."""

Positions = tuple[int, ...]
"""For each source, the number of its events that have taken effect."""


@attrs.define
class _Source:
    """The events of a source that at least one node has not taken yet.

    ``base``: the number of events that every node has taken. ``past``: the last of these. ``held``: the events read
    after them, each with its trial, which is None for an event that does not concern the world.
    """

    name: str
    count: int
    events: Iterator[Facts]
    base: int = 0
    held: deque[tuple[Facts, EventTrial | None]] = attrs.field(factory=deque)
    past: deque[Facts] = attrs.field(factory=lambda: deque(maxlen=LAST))

    def last(self, position: int) -> list[Facts]:
        """The last events before a position, at most LAST."""
        held = itertools.islice(self.held, position - self.base)
        return [*self.past, *(facts for facts, _ in held)][-LAST:]


class Orders:
    """The orders of a log's events in one world. ``sources``: for each, its name, its number of events, its events.

    ``check_limits`` is called with the number of events of the longest order so far; it raises Unjudged at a limit.
    """

    def __init__(
        self,
        world: World,
        sources: Sequence[tuple[str, int, Iterator[Facts]]],
        check_limits: Callable[[int], None],
    ) -> None:
        self.world = world
        self.check_limits = check_limits
        self.sources = [_Source(name, count, events) for name, count, events in sources]
        self.places = {source.name: place for place, source in enumerate(self.sources)}
        self.stuck: Facts | None = None
        """The event that no order allows: among all that may come next, the one that begins first."""
        self.also: tuple[Facts, ...] = ()
        """The other events that may come next; no state allows them either."""
        self.consumed = 0
        self.furthest: Positions = tuple(0 for _ in sources)
        """The node at which all events were taken, or at which no event was possible any more."""

    def judge(self) -> bool:
        """Whether some order is a run. Raises Unjudged if that is not known."""
        end = tuple(source.count for source in self.sources)
        nodes = self._settled({tuple(0 for _ in self.sources): self.world.states})
        while end not in nodes:
            self.check_limits(self.consumed)
            # No node is at the end, so every order has to take one more event.
            following = self._round(nodes)
            if not following:
                self._blame(nodes)
                self.world.refuse_guesses(self.stuck)
                return False
            if len(following) > MOST_NODES:
                raise UnjudgedError(
                    f"the intervals overlap in more than {MOST_NODES:,} ways at once; log shorter intervals"
                )
            states = sum(map(len, following.values()))
            if states > MOST_STATES:
                raise UnjudgedError(f"more than {MOST_STATES:,} states agree with the log here; log more cells in post")
            self.world.tally.peak = max(self.world.tally.peak, states)
            nodes = self._settled(following)
            self._forget(nodes)
            self.consumed = max(map(sum, nodes))
        self.world.states = nodes[end]
        self.furthest, self.consumed = end, sum(end)
        return True

    def _round(self, nodes: dict[Positions, set[bytes]]) -> dict[Positions, set[bytes]]:
        """The nodes after one more event."""
        tries = [
            (positions, place, trial)
            for positions in nodes
            for place, trial in self._next(positions)
            if trial is not None
        ]
        trials = [trial for *_, trial in tries]
        # One call for all trials: the nodes share the windows, so their states must move together.
        try:
            self.refer(trials, nodes)
        except FullError as error:
            raise self.world.full(error) from None
        found: dict[Positions, set[bytes]] = {}
        for positions, place, trial in tries:
            moved = (*positions[:place], positions[place] + 1, *positions[place + 1 :])
            after = self.after(trial, positions, moved, nodes[positions])
            if after:
                found.setdefault(moved, set()).update(after)
            elif trial.counted:
                self._note_overlap(trial, nodes[positions])
        return found

    def refer(self, trials: Sequence[EventTrial], nodes: dict[Positions, set[bytes]]) -> None:
        """Add the numbers of events to the windows, and move the nodes' states to the new codes. Raises FullError."""
        groups = self.world.windows.refer_groups(*numbers_of_all(trials, list(nodes.values())))
        nodes.update(zip(nodes, groups, strict=True))

    def _note_overlap(self, trial: EventTrial, states: set[bytes]) -> None:
        """Set a guess if the event is possible when the windows lack the numbers of overlapping events."""
        world, windows = self.world, self.world.windows
        world.windows = windows.copy()
        try:
            (alone,) = world.windows.refer_groups(trial.wanted, [states], trial.counted)
            possible = alone != states and bool(world.after(trial, alone))
        finally:
            world.windows = windows
        if possible:
            at = trial.facts.event.at
            world.guess = world.guess or f"{at.file}:{at.line} may count on over the numbers of an overlapping event"

    def after(self, trial: EventTrial, positions: Positions, moved: Positions, states: set[bytes]) -> set[bytes]:  # noqa: ARG002
        """The states after an event that leads from a node with these states to the node ``moved``; see NotedOrders."""
        return self.world.after(trial, states)

    def settle(self, positions: Positions, at: Positions, states: set[bytes]) -> None:
        """Called when free events lead from a node with these states to the node ``at``; for subclasses."""

    def _settled(self, nodes: dict[Positions, set[bytes]]) -> dict[Positions, set[bytes]]:
        """The nodes after all events that do not concern the world and may take effect now."""
        found: dict[Positions, set[bytes]] = {}
        for positions, states in nodes.items():
            at = positions
            while True:
                # An event that takes effect may free others that had to wait for it, so repeat.
                free = [place for place, trial in self._next(at) if trial is None]
                if not free:
                    break
                at = tuple(count + (place in free) for place, count in enumerate(at))
            self.settle(positions, at, states)
            found.setdefault(at, set()).update(states)
        return found

    def _next(self, positions: Positions) -> list[tuple[int, EventTrial | None]]:
        """The sources whose next event may take effect, each with the event's trial in this world."""
        found = []
        for place, source in enumerate(self.sources):
            entry = self._entry(source, positions[place])
            if entry is None:
                continue
            facts, trial = entry
            cause = facts.event.cause
            if cause is not None and positions[self.places[cause[0]]] < cause[1]:
                continue
            if not any(
                self._ends_before(other, positions[number], facts.event.begin)
                for number, other in enumerate(self.sources)
                if number != place
            ):
                found.append((place, trial))
        return found

    def _ends_before(self, source: _Source, position: int, begin: int) -> bool:
        """Whether a source has an event left that ended before ``begin``. In a source begins ascend, ends need not."""
        while (entry := self._entry(source, position)) is not None:
            event = entry[0].event
            if event.end < begin:
                return True
            if event.begin >= begin:
                return False
            position += 1
        return False

    def _entry(self, source: _Source, position: int) -> tuple[Facts, EventTrial | None] | None:
        while source.base + len(source.held) <= position:
            facts = next(source.events, None)
            if facts is None:
                return None
            if len(source.held) >= MOST_HELD:
                raise UnjudgedError(
                    f"more than {MOST_HELD:,} events of {source.name} overlap with one of another source"
                )
            source.held.append((facts, self.world.trial(facts)))
        return source.held[position - source.base]

    def _forget(self, nodes: dict[Positions, set[bytes]]) -> None:
        for place, source in enumerate(self.sources):
            least = min(positions[place] for positions in nodes)
            # Events that every node has taken are no longer needed.
            while source.base < least:
                source.past.append(source.held.popleft()[0])
                source.base += 1

    def _blame(self, nodes: dict[Positions, set[bytes]]) -> None:
        furthest = max(nodes, key=lambda positions: (sum(positions), positions))
        following = [trial.facts for _, trial in self._next(furthest) if trial is not None]
        if not following:
            self._contradiction(furthest)
        self.furthest = furthest
        self.world.before = nodes[furthest]
        self.consumed = sum(furthest)
        self.stuck, *also = sorted(following, key=lambda facts: (facts.event.begin, facts.event.source))
        self.also = tuple(also)

    def last(self) -> list[Facts]:
        """The last events, by their begins, of an order that leads to the furthest node."""
        found = [facts for place, source in enumerate(self.sources) for facts in source.last(self.furthest[place])]
        return sorted(found, key=lambda facts: (facts.event.begin, facts.event.source, facts.event.number))[-LAST:]

    def _contradiction(self, positions: Positions) -> NoReturn:
        """Raise UsageError: each of the next events has to wait for another event, so no order exists."""
        entries = [self._entry(source, positions[place]) for place, source in enumerate(self.sources)]
        events = [entry[0].event for entry in entries if entry is not None]
        # Times alone never contradict each other: the remaining event that begins first waits for no other. So a cause
        # is part of the contradiction.
        waiting = [each for each in events if each.cause and positions[self.places[each.cause[0]]] < each.cause[1]]
        event = min(waiting, key=lambda event: (event.begin, event.source))
        damaged(
            event.at,
            f"no order of the events fits both the times and the causes (cause {shown(event.cause)})",
            "the sources need one clock",
        )


def numbers_of_all(
    trials: Sequence[EventTrial], groups: Sequence[set[bytes]]
) -> tuple[list[Number], Sequence[set[bytes]], list[Number]]:
    """The arguments of ``Windows.refer_groups`` for some events at once."""
    wanted = dict.fromkeys(number for trial in trials for number in trial.wanted)
    return list(wanted), groups, [number for trial in trials for number in trial.counted]
