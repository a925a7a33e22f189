"""The worlds of one initial state: each of them judges its part of a log, and all of them have to allow it.

The worlds of a log share its start. So a log is possible if it is for the worlds of one and the same initial state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from holdfast.check.conform.judge.facts import Facts
from holdfast.check.conform.judge.ground import Ground, Unjudged
from holdfast.check.conform.judge.trial import JudgeTally
from holdfast.check.conform.judge.world import World

WORLDS = 4_000
"""The most worlds."""

MOST_STARTS = 8
"""Up to how many initial states are told apart; more are judged as one branch, where each world chooses its own."""


class Branch:
    """The worlds that begin in one of the states ``start``.

    ``slots``: how many streams a world has; ``streams``: how many the log names; ``wanted``: those to be judged, None
    for all.
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
        # A log that names no stream is judged with one that nobody names.
        self._expected = max(1, streams if wanted is None else len(wanted))
        self.tally = JudgeTally()
        self.refusing: World | None = None
        """The world that did not allow the last event."""
        self.template: World | None = None
        """The world of a stream that no event has named so far; None if all worlds are there from the start."""
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
                raise Unjudged(f"{streams} streams make more than {WORLDS:,} groups of {slots}")
            self.worlds = [
                world.copy({stream: slot for slot, stream in enumerate(group)})
                for group in groups
                if wanted is None or wanted & set(group)
            ]

    def complete(self, streams: int) -> list[World]:
        """All worlds, made before the first event: for sources whose events each world puts in order on its own."""
        if self.template is not None:
            chosen = range(streams) if self.wanted is None else sorted(self.wanted)
            self.worlds = [self.template.copy({stream: 0}) for stream in chosen] or [self.template]
            self.template = None
        return self.worlds

    def take(self, facts: Facts) -> bool:
        """Go through an event. False if one world does not allow it: then ``refusing`` is that world."""
        unjudged: Unjudged | None = None
        for world in self._concerned(facts):
            try:
                if not world.take(facts):
                    self.refusing = world
                    return False
            except Unjudged as error:
                # Another world may know that the event is impossible.
                unjudged = unjudged or error
        if unjudged is not None:
            raise unjudged
        return True

    def _concerned(self, facts: Facts) -> Iterator[World]:
        """The worlds that an event may concern; makes those of streams that it names first."""
        if self.template is None:
            yield from self.worlds
            return
        streams = set(facts.streams)
        for told in (*facts.pre, *facts.post):
            streams.update(told.streams)
        for stream in sorted(streams):
            if stream not in self._by_stream and (self.wanted is None or stream in self.wanted):
                if len(self.worlds) >= WORLDS:
                    raise Unjudged(f"the log has more than {WORLDS:,} streams; choose some with --stream")
                world = self._by_stream[stream] = self.template.copy({stream: 0})
                self.worlds.append(world)
        if len(facts.streams) == 1 and facts.action.name not in self._elsewhere:
            yield from [self._by_stream[stream] for stream in sorted(streams) if stream in self._by_stream]
        else:
            # The log's streams are all that there are. So nobody asks the template once each of them has its world.
            if len(self.worlds) < self._expected:
                yield self.template
            yield from self.worlds

    def is_as(self, other: Branch) -> bool:
        """Whether two branches that went through the same events will agree from now on."""
        mine, others = ([*each.worlds, *([each.template] if each.template else [])] for each in (self, other))
        return len(mine) == len(others) and all(
            one.states == two.states and one.windows.values == two.windows.values and one.guess == two.guess
            for one, two in zip(mine, others, strict=True)
        )
