"""A branch: the worlds that begin in one initial state. Each world judges its part of a log; all have to allow it.

All worlds of a log share its start. So a log is possible only if one initial state exists whose worlds all allow it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import copy

from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.event_trial import JudgeTally
from holdfast.check.conform.judge.ground import Ground, UnjudgedError
from holdfast.check.conform.judge.world import World

WORLDS = 4_000
"""The limit of worlds."""

MOST_STARTS = 8
"""The limit of initial states with a branch each. More are judged as one branch, where each world chooses its own."""


class Branch:
    """The worlds that begin in one of the states ``start``.

    ``slots``: the number of streams in a world. ``streams``: the number of streams that the log names. ``wanted``: the
    streams to judge, None for all.
    """

    def __init__(
        self,
        ground: Ground,
        start: set[bytes],
        *,
        slots: int,
        streams: int,
        wanted: frozenset[int] | None,
    ) -> None:
        self.ground, self.wanted, self.start = ground, wanted, frozenset(start)
        # If the log names no stream, one stream without a name is judged.
        self._expected = max(1, streams if wanted is None else len(wanted))
        self.tally = JudgeTally()
        self.refusing: World | None = None
        """The world that refused the last event."""
        self.template: World | None = None
        """The world of a stream that no event has named so far; None if all worlds exist from the start."""
        self.worlds: list[World] = []
        self._by_stream: dict[int, World] = {}
        self._elsewhere = ground.projection.elsewhere if ground.projection is not None else {}
        world = World(ground, {}, self.tally)
        world.states = set(start)
        if ground.projection is None:
            self.worlds = [world]
        elif slots == 1:
            self.template = world
        else:
            groups = list(itertools.islice(itertools.combinations(range(streams), slots), WORLDS + 1))
            if len(groups) > WORLDS:
                raise UnjudgedError(f"{streams} streams make more than {WORLDS:,} groups of {slots}")
            self.worlds = [
                world.copy({stream: slot for slot, stream in enumerate(group)})
                for group in groups
                if wanted is None or wanted & set(group)
            ]

    def copy(self) -> Branch:
        """A copy, which continues independently. Both add to the same tally, and a traced branch has no copy."""
        other = copy(self)
        if self.template is not None:
            other.template = self.template.copy(self.template.slots)
        copies = {id(world): world.copy(world.slots) for world in self.worlds}
        other.worlds = [copies[id(world)] for world in self.worlds]
        other._by_stream = {stream: copies[id(world)] for stream, world in self._by_stream.items()}
        return other

    def complete(self, streams: int) -> list[World]:
        """All worlds, created before the first event. Needed for several sources, which each world orders alone."""
        if self.template is not None:
            chosen = range(streams) if self.wanted is None else sorted(self.wanted)
            self.worlds = [self.template.copy({stream: 0}) for stream in chosen] or [self.template]
            self.template = None
        return self.worlds

    def take(self, facts: Facts) -> bool:
        """Judge an event. Returns False if a world refuses it; ``refusing`` is that world then."""
        unjudged: UnjudgedError | None = None
        for world in self._concerned(facts):
            try:
                if not world.take(facts):
                    self.refusing = world
                    return False
            except UnjudgedError as error:
                # Go on: another world may show that the event is impossible.
                unjudged = unjudged or error
        if unjudged is not None:
            raise unjudged
        return True

    def _concerned(self, facts: Facts) -> Iterator[World]:
        """The worlds that an event may concern. Creates the worlds of streams that it names first."""
        if self.template is None:
            yield from self.worlds
            return
        streams = set(facts.streams)
        for told in (*facts.pre, *facts.post):
            streams.update(told.streams)
        for stream in sorted(streams):
            if stream not in self._by_stream and (self.wanted is None or stream in self.wanted):
                if len(self.worlds) >= WORLDS:
                    raise UnjudgedError(f"the log has more than {WORLDS:,} streams; choose some with --stream")
                world = self._by_stream[stream] = self.template.copy({stream: 0})
                self.worlds.append(world)
        if len(facts.streams) == 1 and facts.action.name not in self._elsewhere:
            yield from [self._by_stream[stream] for stream in sorted(streams) if stream in self._by_stream]
        else:
            # The log names all streams that exist. Once each has its world, the template stands for none.
            if len(self.worlds) < self._expected:
                yield self.template
            yield from self.worlds

    def is_as(self, other: Branch) -> bool:
        """Whether two branches that judged the same events will give the same answers from now on."""
        mine, others = ([*each.worlds, *([each.template] if each.template else [])] for each in (self, other))
        return len(mine) == len(others) and all(
            one.states == two.states and one.windows.values == two.windows.values and one.guess == two.guess
            for one, two in zip(mine, others, strict=True)
        )
