"""``holdfast walk --log FILE``: write one random run in the format of a system's log."""

from __future__ import annotations

import json
from typing import Annotated

import attrs
from cyclopts import Parameter, validators

from holdfast.check.conform.walks.log_lines import Gaps
from holdfast.check.conform.walks.log_walk import LogWalk
from holdfast.cli.options import Switch
from holdfast.cli.output import Ticker, cannot_write, note
from holdfast.cli.output_files import LogFile
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System

SHOWN_EVERY = 500
"""The progress line is updated after every N events."""

Few = Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=8))]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class LogOptions:
    """The log that a random run writes.

    Parameters
    ----------
    log
        Write one run to this file as the log of a system, for `holdfast conform`, and do nothing else.
    events
        With --log: how many events the log has (1000).
    stretch
        With --log: write offsets a thousand apart, and epochs with gaps.
    streams
        With --log: how many streams are active at a time, if the model has a sort Stream (3).
    sources
        With --log: how many sources write the log (1). Several sources write overlapping intervals, and some causes.
    unknown
        With --log: the share of requests whose answer is lost, such as 1%. Their outcome is "?".
    omit
        With --log: the share of events that leave out an argument, such as 5%. Streams and numbers of a window are
        never left out.
    spans
        With --log: write steps that advance an offset as spans, each of one or several steps.
    """

    log: LogFile = None
    events: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None
    stretch: Switch = False
    streams: Few = None
    sources: Few = None
    unknown: str | None = None
    omit: str | None = None
    spans: Switch = False

    def check_alone(self) -> None:
        """Raise UsageError for an option that has no effect without ``--log``."""
        for name, value in attrs.asdict(self).items():
            if value not in (None, False):
                raise UsageError(f"--{name} belongs to a log; name its file with --log, or leave it out")

    def write(self, system: System, scope: Scope, seed: int) -> None:
        """Write the log. If the run is interrupted, the file is removed. Raises UsageError if it cannot be written."""
        assert self.log is not None, "it was asked for"
        gaps = Gaps(share("--unknown", self.unknown or "0%"), share("--omit", self.omit or "0%"), self.spans)
        walk = LogWalk(
            system,
            scope,
            seed=seed,
            stretched=self.stretch,
            streams=self.streams or 3,
            sources=self.sources or 1,
            gaps=gaps,
        )
        wanted = self.events or 1000
        try:
            with self.log.open("w", encoding="utf-8") as file, Ticker() as ticker:
                written = -1  # the first line is the header, which is no event
                for line in walk.lines(wanted):
                    file.write(f"{json.dumps(line, separators=(',', ':'))}\n")
                    written += 1
                    if not written % SHOWN_EVERY:
                        ticker.show(f"{written:,} of {wanted:,} events")
        except OSError as error:
            raise cannot_write(self.log, error) from error
        except BaseException:
            if self.log.is_file():
                self.log.unlink()
            raise
        if written < wanted:
            note(f"holdfast: {system.name} has no step any more, so {self.log} has {written:,} events")


NO_LOG = LogOptions()


def share(option: str, text: str) -> float:
    """A percentage such as ``1%`` as a fraction from 0 to 1. Raises UsageError if the text is no percentage."""
    number = text.removesuffix("%")
    if number == text or not number.replace(".", "", 1).isdecimal() or not 0 <= float(number) <= 100:
        raise UsageError(f"{option} {text}: it is no percentage; write one from 0% to 100%, such as 1%")
    return float(number) / 100
