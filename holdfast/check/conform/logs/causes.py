"""The causes that a log names: each must name an event of the log, and some order of all events must respect them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import LogEvent
from holdfast.ir.errors import Place


class SourceIndex:
    """The positions and begins of the events of a source, with four integers for each event.

    ``lines`` counts the lines of the source so far, including lines that a mapping ignores. ``numbers`` holds, for each
    event, its number among these lines. ``offsets`` (bytes), ``line_numbers`` and ``begins`` are parallel to it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = 0
        self.numbers = array("q")
        self.offsets = array("q")
        self.line_numbers = array("q")
        self.begins = array("q")


class Causes:
    """The causes of a log. They are checked when all events are known, since a cause may stand later in the files.

    Each cause takes five integers: source, number and end of the event, and source and number of the cause. A source
    is stored as its index among the names. Numbers count the lines of a source here, including ignored lines.
    """

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._rows = array("q")

    def add(self, event: LogEvent) -> None:
        """Note the cause of an event. Raises UsageError if it is the event itself or a later one of its source."""
        if event.cause is None:
            return
        source, number = event.cause
        if source == event.source and number >= event.number:
            problem = "the event itself" if number == event.number else "a later event of the same source"
            damaged(event.at, f"cause is {shown(event.cause)}, {problem}", "a cause takes effect before its event")
        place = self._names.setdefault
        own, other = place(event.source, len(self._names)), place(source, len(self._names))
        self._rows.extend((own, event.number, event.end, other, number))

    def check(self, sources: dict[str, SourceIndex], place: Callable[[str, int], Place]) -> None:
        """Check all causes; raises UsageError at the first event whose cause is impossible.

        ``place``: gives the place of an event, from its source and its index among the events of the source.
        """
        names = list(self._names)
        rows = [array("q") for _ in names]
        for start in range(0, len(self._rows), 5):
            own, number, end, other, wanted = self._rows[start : start + 5]
            index = sources[names[own]]
            event = _count(index.numbers, number) - 1
            found = sources.get(names[other])
            if found is None or wanted > found.lines:
                known = f"{names[other]} has {found.lines}" if found else "there is no such source"
                cause = shown([names[other], wanted])
                damaged(place(index.name, event), f"cause {cause} names no event ({known})", "give the whole log")
            # The cause may be an ignored line: then the last event up to it has to come first.
            reached = _count(found.numbers, wanted)
            if reached and found.begins[reached - 1] > end:
                cause, begin = shown([names[other], wanted]), found.begins[reached - 1]
                at = place(index.name, event)
                damaged(at, f"cause {cause} begins at {begin}, after its event ends", "the sources need one clock")
            rows[own].extend((event, other, reached))
        stuck = _stuck(rows, [len(sources[name].numbers) for name in names])
        if stuck:
            own, event, other, reached = stuck[0]
            around = ", ".join(
                f"{names[source]} {sources[names[source]].numbers[at]} after "
                f"{names[target]} {sources[names[target]].numbers[last - 1]}"
                for source, at, target, last in stuck[:4]
            )
            damaged(
                place(names[own], event),
                f"the causes go round: {around}{', …' if len(stuck) > 4 else ''}",
                "a cause takes effect before its event, and the events of a source in their order",
            )


def _count(numbers: Sequence[int], number: int) -> int:
    """The number of ascending numbers that are at most ``number``."""
    return bisect_right(numbers, number)


def _stuck(rows: list[array[int]], totals: list[int]) -> list[tuple[int, int, int, int]]:
    """A cycle of events that wait for each other; empty if some order respects all causes.

    ``rows``: for each source its events with a cause, in order. Each takes three integers: the event, the source of the
    cause, and the number of events of that source that have to come before.

    Each source advances until one of its events waits for another source. A heap for each source holds the sources that
    wait for it, so each cause is looked at twice at most.
    """
    done = [0] * len(rows)
    next_row = [0] * len(rows)
    waiting: list[list[tuple[int, int]]] = [[] for _ in rows]
    ready = list(range(len(rows)))
    while ready:
        source = ready.pop()
        own = rows[source]
        at = next_row[source]
        # Go past the events whose causes have taken effect.
        while at < len(own) and done[own[at + 1]] >= own[at + 2]:
            at += 3
        next_row[source] = at
        if at < len(own):
            event, target, reached = own[at : at + 3]
            done[source] = event
            heappush(waiting[target], (reached, source))
        else:
            done[source] = totals[source]
        # Wake the sources that have waited for the events done now.
        while waiting[source] and waiting[source][0][0] <= done[source]:
            ready.append(heappop(waiting[source])[1])
    left = [each for each, own in enumerate(rows) if next_row[each] < len(own)]
    if not left:
        return []
    # Each remaining source waits for another remaining source, so following the waits ends in a cycle.
    way = [left[0]]
    while (after := rows[way[-1]][next_row[way[-1]] + 1]) not in way:
        way.append(after)
    places = [(each, next_row[each]) for each in way[way.index(after) :]]
    return [(each, rows[each][at], rows[each][at + 1], rows[each][at + 2]) for each, at in places]
