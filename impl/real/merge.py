"""One log of a whole cluster, made of the files of its processes and of what the proxy of the object store saw.

All times are of one clock, so the events of all processes are ordered by their times. What is left to find out is done
here: which call of the store an effect belongs to; and what became of a request whose controller was killed before it
answered. The result has the form of the simulator's event log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from impl.broker.messages import StoreRequest
from impl.errors import E
from impl.real.event_file import (
    BatchAppend,
    EventLine,
    ObjectAnswer,
    ProcessNote,
    RequestAnswer,
    RequestExecution,
    read_events,
)
from impl.real.problems import ClusterError
from impl.real.store_effects import StoreOutcome
from impl.sim.event_log import AppendedBatch, EventLog, ExecutedRequest, StoreEffect
from impl.store.interface import (
    Answer,
    Conflict,
    Delete,
    DeleteResult,
    Get,
    List,
    Missing,
    ObjectData,
    ObjectPage,
    Put,
    PutResult,
)
from impl.wire import ItemAnswer

NEVER = 1 << 62
UNSURE = "Unsure"
"""The kind of an answer after which a call may still take effect."""


class MergedLog(msgspec.Struct, frozen=True):
    """``torn``: the files whose last line was torn by a kill. ``lines``: the number of lines of all files."""

    log: EventLog
    files: int
    lines: int
    torn: tuple[str, ...]


Placed = tuple[tuple[int, str, int], tuple[int, str, str, Any]]
"""An event with its place in the order: time in microseconds, file, and number in the file."""


def merge(folder: Path, outcomes: Iterable[StoreOutcome]) -> MergedLog:
    """Merge all files of events in a folder. Raises ClusterError and DamagedLineError."""
    by_file: dict[str, list[EventLine]] = {}
    torn: list[str] = []
    for path in sorted(folder.glob("*.events")):
        by_file[path.stem], is_torn = read_events(path)
        torn += [path.name] * is_torn
    placed: list[Placed] = []
    kept = _kept(by_file)
    for file, lines in by_file.items():
        placed += _controller(file, lines, kept[file]) if file in kept else _others(file, lines)
    placed += _effects(by_file, outcomes)
    placed.sort(key=lambda each: each[0])
    log = EventLog()
    log.events = [event for _, event in placed]
    return MergedLog(log, len(by_file), sum(map(len, by_file.values())), tuple(torn))


# Controllers --------------------------------------------------------------------------------------------------------


def _kept(by_file: dict[str, list[EventLine]]) -> dict[str, int]:
    """For each life of the controller: the number of batches that its successor found. The last one keeps all."""
    begun: list[tuple[int, str, int]] = sorted(
        (line.at, file, line.subject.fields["batches"])
        for file, lines in by_file.items()
        for line in lines[:1]
        if line.kind == "elected" and isinstance(line.subject, ProcessNote)
    )
    found = {file: after[2] for (_, file, _), after in pairwise(begun)}
    return found | {file: NEVER for _, file, _ in begun[-1:]}


def _controller(file: str, lines: Sequence[EventLine], kept: int) -> list[Placed]:
    """The events of one life of the controller, of which the first ``kept`` batches of the log are left."""
    answers = {each.subject.delivery: each.subject.errors for each in lines if isinstance(each.subject, RequestAnswer)}
    written = {each.at: each.subject.index < kept for each in lines if isinstance(each.subject, BatchAppend)}
    """By time of a step: whether its last batch is left."""
    found: list[Placed] = []
    for line in lines:
        subject: Any
        match line.subject:
            case RequestExecution() as execution:
                subject = _executed(execution, answers.get(execution.delivery), is_kept=written.get(line.at, False))
            case BatchAppend(index, batch):
                subject = AppendedBatch(index, batch)
                subject.lost = index >= kept
            case ProcessNote(fields):
                subject = fields
            case _:
                continue
        found.append(((line.at, file, line.number), (line.at // 1_000, line.process, line.kind, subject)))
    return found


def _executed(execution: RequestExecution, errors: tuple[E, ...] | None, *, is_kept: bool) -> ExecutedRequest:
    """A request as the simulator notes it. Without an answer its batches decide: it happened if they are left."""
    executed = ExecutedRequest(execution.sender, execution.request, stale=False)
    executed.post, executed.stored = execution.post, execution.stored
    if errors is not None:
        executed.answers = tuple(map(ItemAnswer, errors))
    else:
        executed.unknown, executed.lost = is_kept, not is_kept
        executed.answers = (ItemAnswer(E.NOT_CONTROLLER),) * max(1, len(execution.post))
    return executed


# Brokers and the driver -------------------------------------------------------------------------------------------


def _others(file: str, lines: Sequence[EventLine]) -> list[Placed]:
    found: list[Placed] = []
    for line in lines:
        subject: Any = line.subject
        if isinstance(subject, ObjectAnswer):
            subject = {"await": subject.id}
        elif isinstance(subject, ProcessNote):
            subject = subject.fields
        found.append(((line.at, file, line.number), (line.at // 1_000, line.process, line.kind, subject)))
    return found


# The object store ---------------------------------------------------------------------------------------------------


class SentCall(msgspec.Struct):
    """A call that a process has sent. ``until``: when it had a certain answer, which its effect precedes."""

    request: StoreRequest
    sent: int
    until: int
    answer: str
    etag: str
    found: bool = False


def _effects(by_file: dict[str, list[EventLine]], outcomes: Iterable[StoreOutcome]) -> list[Placed]:
    """The events of the calls that took effect. Raises ClusterError if an effect has no call."""
    calls = {file: _calls(lines) for file, lines in by_file.items()}
    found: list[Placed] = []
    for number, outcome in enumerate(outcomes):
        if outcome.call.kind == "other" or outcome.process not in calls:
            continue
        call = _call_of(calls[outcome.process][outcome.call.kind, outcome.call.key], outcome)
        if call is None:
            if outcome.call.kind in ("get", "delete"):
                continue  # The process was killed before it had written its line; a read has no effect.
            raise ClusterError(
                f"{outcome.process}: the store has a {outcome.call.kind} of {outcome.call.key} that no line of its "
                "log asks for; keep the folder, and report this"
            )
        call.found = True
        answer = _answer(call.request, outcome)
        if answer is not None:
            event = (outcome.at // 1_000, outcome.process, "effect", StoreEffect(call.request, answer))
            found.append(((outcome.at, f"{outcome.process}~", number), event))
    return found


def _calls(lines: Iterable[EventLine]) -> defaultdict[tuple[str, str], list[SentCall]]:
    """The calls of a process by kind and key, in their order."""
    found: defaultdict[tuple[str, str], list[SentCall]] = defaultdict(list)
    by_id: dict[int, SentCall] = {}
    for line in lines:
        match line.subject:
            case StoreRequest(number, operation) as request:
                match operation:
                    case Put(key):
                        place = "put", key
                    case Get(key):
                        place = "get", key
                    case List(folder):
                        place = "list", folder
                    case Delete():
                        place = "delete", ""
                call = by_id[number] = SentCall(request, line.at, NEVER, "", "")
                found[place].append(call)
            case ObjectAnswer(number, answer, etag):
                call = by_id[number]
                call.answer, call.etag = answer, etag
                call.until = NEVER if answer == UNSURE else line.at
    return found


def _call_of(calls: Sequence[SentCall], outcome: StoreOutcome) -> SentCall | None:
    """The call that an effect belongs to: among those under way that fit, the one that was answered first.

    Several calls about an object may be under way at once. Their answers tell them apart as far as it matters.
    """
    fit = [each for each in calls if not each.found and each.sent <= outcome.at <= each.until]
    return min((each for each in fit if _agrees(each, outcome)), key=lambda each: each.until, default=None)


def _agrees(call: SentCall, outcome: StoreOutcome) -> bool:
    """Whether a call may have had an effect: its answer, if it has a certain one, was that of the store."""
    if call.answer in ("", UNSURE):
        return True
    same = not call.etag or not outcome.etag or call.etag.strip('"') == outcome.etag.strip('"')
    return same and call.answer == type(_answer(call.request, outcome)).__name__


def _answer(request: StoreRequest, outcome: StoreOutcome) -> Answer | None:
    """The store's answer, without its data; None for a refusal, which had no effect."""
    operation, status = request.operation, outcome.status
    match operation:
        case Put():
            if status in (409, 412) or status == 404:
                return Conflict()
            return PutResult(outcome.etag) if status == 200 else None
        case Get():
            if status == 404:
                return Missing()
            return ObjectData(b"", outcome.etag) if status in (200, 206) else None
        case List():
            return ObjectPage((), more=False) if status == 200 else None
        case Delete():
            return DeleteResult() if status in (200, 204) else None
