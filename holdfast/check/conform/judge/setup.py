"""What is decided before the first event of a log is judged: which streams a world has, and how a world begins."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from holdfast.check.conform.judge.branch import MOST_STARTS, Branch
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.ground import Ground
from holdfast.check.conform.judge.projection import Projection
from holdfast.check.conform.judge.survey import Survey
from holdfast.ir.errors import UsageError

SMALL = 8
"""The limit of streams that are judged together if a model cannot be judged one stream at a time."""


@attrs.frozen
class JudgeOptions:
    """The options of the command line. ``joint``: streams in a world, 0 for all, None to decide by the model."""

    joint: int | None = None
    project: str | None = None
    windows: Mapping[str, int] = attrs.field(factory=dict)
    streams: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class JudgeSetup:
    """The ground of a log, and its branches.

    ``survey``: has read the whole log. ``sort``: the sort to project, None if the model has none. ``slots``: the number
    of streams in a world. ``together``: why all streams are judged together; None if they are not, or by the user's
    wish. Raises UsageError for options that do not fit the log, and UnjudgedError if the log is too large.
    """

    def __init__(self, frame: Frame, survey: Survey, sort: str | None, options: JudgeOptions) -> None:
        self._options, self._names = options, survey.names
        self.streams = list(self._names.elements[sort]) if sort is not None else []
        self.projection, self.slots, self.together = self._divide(frame, sort)
        self.reader = survey.reader
        if self.projection is None:
            self.reader.project(None)
        self.ground = Ground(frame, self._names, self.projection, self.slots, options.windows, options.hidden)
        for name in options.hidden:
            if self.projection is not None and name in self.projection.elsewhere:
                raise UsageError(f"the hidden action {name} concerns all streams; use --joint all")
        self._wanted = self._wanted_streams(sort)
        starts = [{state} for state in self.ground.start()[1]]
        if len(starts) > MOST_STARTS:
            # Too many initial states to tell apart: one branch starts in all of them.
            starts = [set().union(*starts)]
        self._starts = starts
        self.joined = len(starts) == 1 and bool(self.ground.system.init.params)
        """Whether the worlds of the only branch choose their initial states on their own."""

    def _divide(self, frame: Frame, sort: str | None) -> tuple[Projection | None, int, str | None]:
        """The projection, the number of streams in a world, and the reason if all streams are judged together."""
        joint, count = self._options.joint, len(self.streams)
        if sort is None or joint == 0 or (joint is not None and joint >= count):
            return None, 0, None
        projection = frame.projection(sort)
        if projection.problem is None:
            return projection, joint or 1, None
        if joint is None and count <= SMALL:
            return None, 0, projection.problem
        raise UsageError(
            f"{projection.problem}, so {frame.system.name} cannot be judged by parts of its {count} {sort}s; "
            "use --joint all"
        )

    def _wanted_streams(self, sort: str | None) -> frozenset[int] | None:
        """The streams to judge; None for all."""
        if not self._options.streams:
            return None
        if self.projection is None:
            raise UsageError(
                f"--stream {self._options.streams[0]}: all streams are judged together here, so none can be chosen; "
                "leave it out"
            )
        called = self._names.called(str(sort))
        for name in self._options.streams:
            if name not in called:
                raise UsageError(f"the log names no {sort} {name}; it names {', '.join(called[:8])}")
        return frozenset(called.index(name) for name in self._options.streams)

    def branches(self) -> list[Branch]:
        """A branch for each initial state, or one for all of them; no event is judged yet."""
        return [
            Branch(self.ground, start, slots=self.slots, streams=len(self.streams), wanted=self._wanted)
            for start in self._starts
        ]
