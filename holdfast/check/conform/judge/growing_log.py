"""Judges a log that grows, such as the log of a simulated run: only its new lines, as long as the old ones stay.

The verdict on the lines so far is that of ``judge`` on a log of just these lines. The branches after earlier lines are
kept. They are of use again until the log names a new element, because the size of a state depends on the elements. Then
all lines are judged anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.judge.branch import Branch
from holdfast.check.conform.judge.event_facts import Facts, Reader
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.setup import JudgeOptions, JudgeSetup
from holdfast.check.conform.judge.survey import Survey
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.events import LogEvent
from holdfast.check.conform.logs.log import Format
from holdfast.check.conform.logs.names import LogNames
from holdfast.check.conform.logs.strict_json import Raw
from holdfast.ir.errors import Place


class ImpossibleEventError(Exception):
    """No run of the model allows the log. ``facts``: the first impossible event. ``world``: the one that refuses it."""

    def __init__(self, facts: Facts, world: World | None) -> None:
        event = facts.event
        super().__init__(f"{event.at.file}:{event.at.line}: {event.action} is impossible")
        self.facts, self.world = facts, world


@attrs.frozen
class Waypoint:
    """The branches after a number of events. ``reason``: why a branch was not judged to the end; None if all were."""

    events: int
    branches: tuple[Branch, ...]
    reason: str | None


class GrowingLog:
    """A log of one source, read with a mapping. ``name``: stands for its file in messages.

    ``frame``: the model; logs that share it share the compiled model, too.

    ``judged``: the number of events that were judged, with those that were judged again.
    """

    def __init__(
        self,
        frame: Frame,
        mapping: Format,
        hidden: Iterable[str] = (),
        name: str = "log",
    ) -> None:
        self.name = name
        self.judged = 0
        self._frame = frame
        self._sort = self._frame.sort(None)
        self._mapping = mapping
        self._options = JudgeOptions(hidden=tuple(hidden))
        self._lines: list[Raw] = []
        self._events: list[LogEvent] = []
        self._counts: list[int] = []
        """For each line, the number of events up to and with it."""
        self._survey = self._new_survey()
        self._setup: JudgeSetup | None = None
        self._known: object = None
        """What the setup depends on."""
        self._waypoints: list[Waypoint] = []

    def judge(self, lines: Sequence[Raw]) -> None:
        """Judge the log, which has these lines now.

        Raises ImpossibleEventError if no run of the model allows it, UnjudgedError if nobody knows, UsageError for a
        line that the mapping or the model does not have.
        """
        self._read(lines)
        if not self._events:
            return
        known = self._elements()
        if self._setup is None or known != self._known:
            self._survey.reader.project(self._sort)
            self._setup = JudgeSetup(self._frame, self._survey, self._sort, self._options)
            self._known = known
            self._waypoints = [Waypoint(0, tuple(self._setup.branches()), None)]
        self._continue(self._setup)

    # Lines ------------------------------------------------------------------------------------------------------

    def _read(self, lines: Sequence[Raw]) -> None:
        """Replace the lines from the first one on that differs."""
        same = _in_common(self._lines, lines)
        if same < len(self._lines):
            # The names of a line that is gone may be gone, too: count the names anew.
            events = self._counts[same - 1] if same else 0
            del self._lines[same:], self._counts[same:], self._events[events:]
            self._waypoints = [each for each in self._waypoints if each.events <= events]
            self._survey = self._new_survey()
            for event in self._events:
                self._survey.visit(event)
        self._survey.names.adding = True
        for number, line in enumerate(lines[same:], same + 1):
            found = self._mapping.event(line, Place(self.name, number))
            if found is not None:
                self._survey.visit(found)
                self._events.append(found)
            self._lines.append(line)
            self._counts.append(len(self._events))
        self._survey.names.adding = False

    def _new_survey(self) -> Survey:
        names = LogNames(self._frame.system)
        reader = Reader(self._frame.system, names, self._sort)
        return Survey(names, reader, self._frame, Meter(Budget(), lambda _: None))

    def _elements(self) -> object:
        """All that the sizes and the codes of states depend on."""
        names, plain = self._survey.names, self._frame.uses.plain
        greatest = {nat: names.greatest.get(nat, 0) for nat in plain}
        constants = {sort: list(found) for sort, found in names.constants.items()}
        return {sort: list(found) for sort, found in names.elements.items()}, constants, greatest

    # Events -----------------------------------------------------------------------------------------------------

    def _continue(self, setup: JudgeSetup) -> None:
        """Judge the events after the last waypoint, and add another."""
        last = self._waypoints[-1]
        branches, reason = [each.copy() for each in last.branches], last.reason
        # The reader of the survey, since a line that is gone may have replaced the one of the setup.
        self._survey.reader.project(setup.reader.projected)
        for event in self._events[last.events :]:
            facts = self._survey.reader.facts(event)
            self.judged += 1
            left: list[Branch] = []
            refusing: World | None = None
            for branch in branches:
                try:
                    if branch.take(facts):
                        left.append(branch)
                    else:
                        refusing = branch.refusing
                except UnjudgedError as error:
                    reason = reason or str(error)
            if not left:
                if reason is not None:
                    raise UnjudgedError(reason)
                raise ImpossibleEventError(facts, refusing)
            branches = left
        if len(self._events) > last.events:
            self._waypoints.append(Waypoint(len(self._events), tuple(branches), reason))


def _in_common(old: Sequence[Raw], new: Sequence[Raw]) -> int:
    """The number of equal lines at the beginning of both."""
    for number, (one, two) in enumerate(zip(old, new, strict=False)):
        if one != two:
            return number
    return min(len(old), len(new))
