"""Whether the models allow the event log of a cluster, simulated or real."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import call
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.judge import judge_in
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_file import read_mapping
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import UsageError
from holdfast.ir.variants import load_variant
from impl.bridge.log_models import OF_PARTITIONS, OF_STREAMS
from impl.sim.conformance.log import conform_log
from impl.sim.conformance.partitions import partition_logs
from impl.sim.conformance.routes import HEADER as ROUTES_HEADER
from impl.sim.conformance.routes import route_log
from impl.sim.conformance.shown_logs import HEADER as READS_HEADER
from impl.sim.conformance.shown_logs import shown_logs
from impl.sim.event_log import EventLog

HEADERS: dict[str, dict[str, Any]] = {"route_epoch": ROUTES_HEADER, "snapshot_read": READS_HEADER}
"""The headers of the logs of zones. Their lines are steps of a model, and need no mapping."""
UNREADABLE = "unreadable"


class LogJudgement(msgspec.Struct, frozen=True):
    """What a model says of a log. ``partition``: -1 for the log of all streams. ``kind``: as ``Judgement`` has it.

    A log that the mapping of the model cannot read is UNREADABLE. ``said``: the impossible event, or the reason;
    "" for none. ``events``: the number of events that were judged.
    """

    model: str
    partition: int
    kind: str
    said: str
    events: int


def judgements(
    log: EventLog, version: str, generation: str, *, has_partitions: bool, meter: Meter | None = None
) -> Iterator[LogJudgement]:
    """What each model says of the log of a cluster, in turn. ``version`` and ``generation``: as in ``Question``.

    A spent meter ends the judgement under way, which is ``unknown`` then.
    """
    meter = meter or Meter(Budget())
    text = conform_log(log)
    for name in OF_STREAMS[version]:
        yield _judged(name, (), -1, text, meter)
    if has_partitions:
        variants = ("G1",) if generation == "G1" else ()
        for number, of_partition in partition_logs(log, elects=generation == "G1").items():
            for name in OF_PARTITIONS:
                yield _judged(name, variants, number, of_partition, meter)


def zone_judgements(log: EventLog) -> Iterator[LogJudgement]:
    """What the models of zone routing say of the log of a simulated cluster with zones, in turn."""
    meter = Meter(Budget())
    yield _judgement("route_epoch", _frame("route_epoch"), -1, route_log(log), meter)
    for (_, number), text in shown_logs(log).items():
        yield _judgement("snapshot_read", _frame("snapshot_read"), number, text, meter)


@cache
def _model(name: str, variants: tuple[str, ...]) -> tuple[Mapping, Frame]:
    """The mapping of a model, and a frame for all logs: the model with the mapping's variants and further ones."""
    mapping = read_mapping(Path(name))
    return mapping, Frame.of(load_variant(name, (*mapping.about.variants, *variants)), mapping.about.literals)


@cache
def _frame(name: str) -> Frame:
    """A frame for all logs with the header of a model of zone routing."""
    header = HEADERS[name]
    literals = {nat: {int(number): value for number, value in of.items()} for nat, of in header["literals"].items()}
    return Frame.of(load_variant(name, tuple(header["variants"])), literals)


def _judged(name: str, variants: tuple[str, ...], partition: int, text: bytes, meter: Meter) -> LogJudgement:
    mapping, frame = _model(name, variants)
    return _judgement(name, frame, partition, text, meter, mapping)


def _judgement(
    name: str, frame: Frame, partition: int, text: bytes, meter: Meter, mapping: Mapping | None = None
) -> LogJudgement:
    with TemporaryFolder("log") as folder:
        path = folder / "events.ndjson"
        path.write_bytes(text)
        try:
            with Log([str(path)], mapping) as log:
                options = JudgeOptions(hidden=() if mapping is None else tuple(mapping.hidden))
                found = judge_in(frame, log, options, meter)
        except UsageError as error:
            return LogJudgement(name, partition, UNREADABLE, str(error).replace(str(path), "events"), 0)
    said = call(found.facts) if found.kind == "impossible" and found.facts is not None else ""
    return LogJudgement(name, partition, found.kind, said, found.judged)
