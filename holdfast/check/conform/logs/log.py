"""Logs: one JSON object a line, in one file or several. Each event has a source and a number within it.

A log is read twice. The first reading, the survey, reads the files from begin to end, makes all checks that need no
model, and notes the position of each event. Then the events of each source are read on their own, so that the search
can take the sources in any order. Four integers are kept for each event and five for each cause. Events themselves are
kept only of a short log, if its reader asks for that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, Protocol, Self

import attrs
import msgspec

from holdfast.check.conform.logs.causes import Causes, SourceIndex
from holdfast.check.conform.logs.copied_input import MOST_COPIED
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import LogEvent
from holdfast.check.conform.logs.lines import STDIN, Lines
from holdfast.check.conform.logs.own_format import Header, OwnFormat
from holdfast.check.conform.logs.strict_json import Raw
from holdfast.ir.errors import Place, UsageError


class Format(Protocol):
    """Reads lines as events: ``OwnFormat`` and ``Mapping`` are the two formats."""

    def header(self, raw: Raw, at: Place) -> Header | None:
        """The header in a file's first line; None if the line is an event."""

    def event(self, raw: Raw, at: Place) -> LogEvent | None:
        """The event of a line; None if the line says nothing about the model. Its ``number`` is the line's ``seq``."""

    def position(self, raw: Raw, at: Place) -> tuple[str, int] | None:
        """Source and number of a line that is no event; None if the line does not count in its source."""


class Log:
    """A log. ``paths``: its files in order, ``-`` for standard input. ``mapping``: the format of a foreign log.

    ``keep``: a log of at most this many events stays in memory, and is read once. Then it does not notice that a file
    changes after the survey. ``copy_limit``: the bytes that may be copied of standard input or of a pipe.

    The files stay open until ``close``; use a log in a ``with`` statement. Raises UsageError for a file that cannot be
    read, for a damaged first line, and for a log without any line.
    """

    def __init__(
        self, paths: Sequence[str], mapping: Format | None = None, keep: int = 0, copy_limit: int = MOST_COPIED
    ) -> None:
        if not paths:
            raise UsageError("no log is given; name a file, or - for standard input")
        if list(paths).count(STDIN) > 1:
            raise UsageError("- is given twice, and standard input can be read once; leave one out")
        self._format: Format = OwnFormat() if mapping is None else mapping
        self._keep = keep
        self._kept: dict[str, list[LogEvent]] | None = None
        """The events of each source; None if they are read again."""
        self._sources: dict[str, SourceIndex] = {}
        self._bases: list[int] = []
        self._files: list[Lines] = []
        try:
            self._files.extend(Lines(path, copy_limit) for path in paths)
            self.header = self._header(self._files[0])
            self._check_first_line()
        except UsageError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources that have events, in order of first appearance; known after the survey."""
        return tuple(name for name, index in self._sources.items() if index.numbers)

    def count(self, source: str) -> int:
        """The number of events of a source; known after the survey."""
        return len(self._sources[source].numbers)

    def survey(self, visit: Callable[[LogEvent], object]) -> None:
        """Read the whole log and call ``visit`` for each event, in the order of the files.

        Raises UsageError if the log is damaged; ``visit`` has seen the events before the damage. If a mapping ignores
        lines, the number in a cause counts them here too, whereas ``events_of`` counts only events. The cause may stand
        later in the log, so its number among the events is known only at the end.
        """
        self._sources, self._bases, causes, base = {}, [], Causes(), 0
        self._kept, left = {} if self._keep else None, self._keep
        for file in self._files:
            self._bases.append(base)
            header = self._header(file)
            for offset, at, raw in file:
                if header is not None:
                    self._check_header(header)
                    header = None
                    continue
                event = self._format.event(raw, at)
                if event is None:
                    self._ignore(raw, at)
                    continue
                causes.add(event)
                # Before ``_add`` renumbers the event: a cause counts all lines of its source.
                event = self._add(event, base + offset)
                visit(event)
                if self._kept is not None:
                    left -= 1
                    if left < 0:
                        self._kept = None
                    else:
                        self._kept.setdefault(event.source, []).append(event)
            base += file.size
        if not any(index.numbers for index in self._sources.values()):
            self._no_event("every line is ignored" if self._sources else "the log holds no event")
        causes.check(self._sources, self._place)

    def events_of(self, source: str) -> Iterator[LogEvent]:
        """The events of a source, in order. Call ``survey`` first. Raises UsageError if a file has changed since."""
        index = self._sources[source]
        if self._kept is not None:
            for kept in self._kept[source]:
                yield self._numbered(kept, kept.number)
            return
        for place, number in enumerate(index.numbers):
            offset = index.offsets[place]
            file = bisect_right(self._bases, offset) - 1
            lines = self._files[file]
            at = Place(lines.name, index.line_numbers[place])
            event = self._format.event(lines.read(offset - self._bases[file], at), at)
            if event is None or event.source != source or event.number != number:
                damaged(at, "the file has changed since the survey", "check a log that nobody writes any more")
            yield self._numbered(event, place + 1)

    def _header(self, file: Lines) -> Header | None:
        """The header of a file; None if the file has none."""
        first = next(iter(file), None)
        return self._format.header(first[2], first[1]) if first else None

    def _check_first_line(self) -> None:
        """Raise UsageError for an empty log, and for a file that is no log, before an error about missing literals."""
        first = next((line for file in self._files for line in file), None)
        if first is None:
            self._no_event("the log holds no event")
        _, at, raw = first
        if self._format.header(raw, at) is None:
            self._format.event(raw, at)

    def _no_event(self, problem: str) -> NoReturn:
        damaged(Place(self._files[-1].name, 1), problem, "give a log of at least one event")

    def _check_header(self, header: Header) -> None:
        if self.header is None or attrs.evolve(header, at=self.header.at) != self.header:
            first = self._files[0].name
            damaged(header.at, f"the header differs from that of {first}", "all files of a log have the same header")

    def _add(self, event: LogEvent, offset: int) -> LogEvent:
        """Note the position of an event. Returns the event with its number among the events of its source."""
        index = self._next_line(event.source, event.number, event.at)
        if index.begins and event.begin < index.begins[-1]:
            damaged(
                event.at,
                f"{shown(event.source)} goes back in time: begin is {event.begin} after {index.begins[-1]}",
                "the events of a source have ascending begins, by one clock",
            )
        index.numbers.append(event.number)
        index.offsets.append(offset)
        index.line_numbers.append(event.at.line)
        index.begins.append(event.begin)
        number = len(index.numbers)
        return event if event.number == number else msgspec.structs.replace(event, number=number)

    def _ignore(self, raw: Raw, at: Place) -> None:
        position = self._format.position(raw, at)
        if position is not None:
            self._next_line(*position, at)

    def _next_line(self, source: str, number: int, at: Place) -> SourceIndex:
        """The index of a source, after one more line; raises UsageError if ``number`` is not the next one."""
        index = self._sources.get(source)
        if index is None:
            index = self._sources[source] = SourceIndex(source)
        if number != index.lines + 1:
            _misplaced(index, number, at)
        index.lines = number
        return index

    def _numbered(self, event: LogEvent, number: int) -> LogEvent:
        """The event as ``events_of`` gives it: its number and the number of its cause count only events."""
        cause = event.cause
        if cause is not None:
            numbers = self._sources[cause[0]].numbers
            reached = bisect_right(numbers, cause[1])
            # If all lines of that source up to the cause are ignored, the cause orders nothing.
            cause = (cause[0], reached) if reached else None
        if event.number == number and event.cause == cause:
            return event
        return msgspec.structs.replace(event, number=number, cause=cause)

    def _place(self, source: str, event: int) -> Place:
        index = self._sources[source]
        file = bisect_right(self._bases, index.offsets[event]) - 1
        return Place(self._files[file].name, index.line_numbers[event])


def _misplaced(index: SourceIndex, number: int, at: Place) -> None:
    """Raise UsageError about a line whose number is not the next one of its source."""
    name, last = shown(index.name), index.lines
    if not last:
        damaged(at, f"{name} begins with seq {number}", "a log has all lines of a source, from 1")
    if number == last:
        damaged(at, f"seq {number} of {name} stands here a second time", "a log has each line of a source once")
    if number < last:
        damaged(at, f"seq of {name} goes back from {last} to {number}", "keep the lines of a source in their order")
    lost = f"{number - last - 1} lines are" if number - last > 2 else "a line is"
    damaged(at, f"seq of {name} jumps from {last} to {number}: {lost} missing", "give the whole log")
