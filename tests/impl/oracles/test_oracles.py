"""Oracles accept the histories of a correct service, and each rejects its kind of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from impl.client.history import FINAL, History, HistoryError, Op, read
from impl.oracles.judge import NAMES, judge
from impl.oracles.storage import BucketContents
from tests.impl.oracles.service import Service

Edit = Callable[[list[Op]], None]


def written(*lines: tuple[Any, ...]) -> History:
    """A history from lines of process, function, kind and other fields. Each operation begins and ends at once."""
    history = History()
    for now, (process, f, kind, fields) in enumerate(lines):
        begun = {name: fields[name] for name in ("value", "count", "phase", "begin") if name in fields}
        offset = begun.pop("begin", None)
        value = begun.pop("value", None)
        index = history.invoke(process, f, 0, value, fields.get("at", 10 * now), offset=offset, **begun)
        if kind != "open":
            history.complete(
                index,
                kind,
                fields.get("ended", 10 * now + 5),
                value=fields.get("read"),
                offset=fields.get("offset"),
                broker=fields.get("broker", "b1"),
            )
    history.missing = ""
    return history


def send(value: int, offset: int | None, *, kind: str = "ok", process: str = "c", **fields: Any) -> tuple[Any, ...]:
    """A send of one record."""
    return process, "send", kind, {"value": value, "count": 1, "offset": offset, **fields}


def poll(begin: int, end: int, *read: tuple[int, int, int], **fields: Any) -> tuple[Any, ...]:
    """A poll that ends with the confirm offset ``end``."""
    return "r", "poll", "ok", {"begin": begin, "offset": end, "read": list(read), **fields}


def final(end: int, *read: tuple[int, int, int]) -> tuple[Any, ...]:
    """The final read."""
    return poll(0, end, *read, phase=FINAL)


@pytest.mark.parametrize("seed", range(200))
def test_a_right_service_is_accepted(seed: int) -> None:
    """Unknown outcomes, trims into batches and changes of the owner are accepted."""
    verdict = judge(Service(seed).run(40))
    assert verdict.error is None
    assert verdict.violations == ()
    assert verdict.looked["polls"] > 0


WRONG: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "two acks at one offset": ("log", (send(1, 0), send(2, 0, process="d"), final(1, (0, 1, 1)))),
    "a read of another value": ("log", (send(1, 0), send(2, 1), final(2, (0, 1, 2), (1, 1, 2)))),
    "batches that overlap": (
        "log",
        (send(1, 0, count=2), send(2, 1, process="d"), final(2, (0, 2, 1))),
    ),
    "a value at two offsets": ("exactly once", (send(1, 0), final(2, (0, 1, 1), (1, 1, 1)))),
    "an acked value that a poll misses": ("lost", (send(1, 0), send(2, 1), poll(0, 2, (0, 1, 1)), final(2, (0, 1, 1)))),
    "a log that ends below an ack": ("lost", (send(1, 0), send(2, 1), final(1, (0, 1, 1)))),
    "a loss above a trim": (
        "lost",
        (send(1, 0), send(2, 1), ("t", "trim", "ok", {"value": 1}), final(2, (0, 1, 1))),
    ),
    "a failed trim drops nothing": (
        "lost",
        (send(1, 0), send(2, 1), ("t", "trim", "fail", {"value": 2}), final(2, (1, 1, 2))),
    ),
    "a value that nobody sent": ("aborted", (send(1, 0), final(2, (0, 1, 1), (1, 1, 9)))),
    "a value whose send failed": ("aborted", (send(1, None, kind="fail"), final(1, (0, 1, 1)))),
    "a value with more records": ("aborted", (send(1, 0), send(2, None, kind="info"), final(3, (0, 1, 1), (1, 2, 2)))),
    "a value before its send": ("aborted", (poll(0, 1, (0, 1, 1)), send(1, 0), final(1, (0, 1, 1)))),
    "a gap between batches": (
        "order",
        (send(1, None, kind="info"), send(2, 0, process="d"), send(3, 2, process="d"), final(3, (0, 1, 2), (2, 1, 3))),
    ),
    "a batch that is delivered again": (
        "order",
        (send(1, 0, count=2), send(2, 2, count=2, process="d"), final(4, (0, 2, 1), (2, 2, 2), (0, 2, 1))),
    ),
    "a batch below the range": ("order", (send(1, 0), poll(1, 1, (0, 1, 1)), final(1, (0, 1, 1)))),
    "a second reader whose log ends early": (
        "lost",
        (send(1, 0), send(2, 1), final(2, (0, 1, 1), (1, 1, 2)), ("q", *final(1, (0, 1, 1))[1:])),
    ),
    "acks of a process out of order": ("order", (send(1, 1), send(2, 0), final(2, (0, 1, 2), (1, 1, 1)))),
    "a read beyond the confirm offset": ("bound", (send(1, 0), poll(0, 0, (0, 1, 1)), final(1, (0, 1, 1)))),
    "more records than were sent": ("bound", (send(1, 0), poll(0, 5, (0, 1, 1)), final(1, (0, 1, 1)))),
    "two brokers take turns": (
        "owner",
        (
            send(1, 1, broker="b2"),
            send(2, 0, process="d", broker="b1"),
            final(2, (0, 1, 2), (1, 1, 1)),
        ),
    ),
    "a move without an end": ("heal", (("m", "move", "open", {}), final(0))),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_history_is_rejected(case: str) -> None:
    """A wrong history is rejected by the oracle for its kind of error."""
    oracle, lines = WRONG[case]
    verdict = judge(written(*lines))
    assert verdict.error is None
    assert oracle in {violation.oracle for violation in verdict.violations}


def test_each_oracle_has_a_wrong_history() -> None:
    """Each oracle that reads a history has a wrong one here. The others have tests of their own."""
    assert {oracle for oracle, _ in WRONG.values()} == set(NAMES) - {"storage", "zones", "strangers", "answers"}


RIGHT: dict[str, tuple[tuple[Any, ...], ...]] = {
    "a final read in two polls": (send(1, 0), send(2, 1), final(1, (0, 1, 1)), poll(1, 2, (1, 1, 2), phase=FINAL)),
    "an unknown send that took effect": (send(1, None, kind="info"), final(1, (0, 1, 1))),
    "an unknown send that had none": (send(1, None, kind="info"), send(2, 0, process="d"), final(1, (0, 1, 2))),
    "an open send": (send(1, None, kind="open"), final(1, (0, 1, 1))),
    "what was trimmed is missing": (
        send(1, 0),
        send(2, 1),
        ("t", "trim", "info", {"value": 1}),
        poll(1, 2, (1, 1, 2), phase=FINAL),
    ),
    "a batch that a trim has cut": (
        send(1, 0, count=3),
        ("t", "trim", "ok", {"value": 2}),
        poll(2, 3, (0, 3, 1), phase=FINAL),
    ),
    "a stream that may be destroyed": (send(1, 0), ("x", "destroy", "info", {})),
    "sends at the same time": (
        send(1, 1, at=0, ended=50, broker="b2"),
        send(2, 0, process="d", at=40, ended=60),
        poll(0, 2, (0, 1, 2), (1, 1, 1), phase=FINAL, at=70, ended=80),
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_history_is_accepted(case: str) -> None:
    """An operation without a certain end proves nothing, so the history is accepted."""
    verdict = judge(written(*RIGHT[case]))
    assert verdict.error is None
    assert verdict.violations == ()


def _drop_ack(ops: list[Op]) -> None:
    """A final read loses a batch."""
    ops[-1] = msgspec.structs.replace(ops[-1], value=ops[-1].value[:-1])


def _double(ops: list[Op]) -> None:
    """Double the last batch."""
    base, count, value = ops[-1].value[-1]
    again = (base + count, count, value)
    ops[-1] = msgspec.structs.replace(ops[-1], value=[*ops[-1].value, again], offset=ops[-1].offset + count)


def _swap(ops: list[Op]) -> None:
    """Swap two values."""
    (a, b, one), (c, d, two) = ops[-1].value[-2:]
    ops[-1] = msgspec.structs.replace(ops[-1], value=[*ops[-1].value[:-2], (a, b, two), (c, d, one)])


@pytest.mark.parametrize("edit", [_drop_ack, _double, _swap])
@pytest.mark.parametrize("seed", range(40))
def test_an_edited_history_is_rejected(seed: int, edit: Edit) -> None:
    """An edit of the final read's result is rejected."""
    history = Service(seed).run(40)
    if len(history.ops[-1].value) < 2:
        return
    edit(history.ops)
    assert judge(history).violations


BROKEN: dict[str, tuple[tuple[Any, ...], ...]] = {
    "without a final read": (send(1, 0),),
    "the value 1 is sent twice": (send(1, 0), send(1, 1), final(2)),
    "leaves out offsets below 1": (send(1, 0), poll(1, 1, phase=FINAL)),
    "leaves out offsets below 2": (send(1, 0), final(1, (0, 1, 1)), poll(2, 2, phase=FINAL)),
    "before it begins": (send(1, 0, ended=-1), final(1, (0, 1, 1))),
    "without an offset, or": (send(1, -1), final(0)),
    "no batches": (send(1, 0), ("r", "poll", "ok", {"begin": 0, "offset": 1}), final(1, (0, 1, 1))),
    "has no new start": (send(1, 0), ("t", "trim", "ok", {}), final(1, (0, 1, 1))),
    "c begins operation": (send(1, None, kind="open"), send(2, 0), final(1)),
    "without an offset": (send(1, None), final(0)),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_assumption_is_an_error(problem: str) -> None:
    """A broken assumption is an error. It is neither a violation nor an accepted history."""
    verdict = judge(written(*BROKEN[problem]))
    assert verdict.violations == ()
    assert verdict.error is not None
    assert problem in verdict.error


def test_an_operation_that_begins_twice_is_an_error() -> None:
    """Two processes use one number."""
    history = written(send(1, 0), final(1, (0, 1, 1)))
    history.ops.insert(1, msgspec.structs.replace(history.ops[0], process="d", value=2))
    verdict = judge(history)
    assert (verdict.violations, verdict.error) == ((), "operation 0 begins twice")


def test_a_process_ends_with_an_unknown_outcome() -> None:
    """After an unknown outcome a process must continue under another name."""
    verdict = judge(written(send(1, None, kind="info"), send(2, 0), final(1, (0, 1, 2))))
    assert verdict.error is not None


def test_storage_has_everything_acknowledged() -> None:
    """Trimmed records, and those without a certain end, may be missing. An object without a send is an error."""
    last = poll(1, 2, (1, 1, 2), phase=FINAL)
    history = written(send(1, 0), send(2, 1), ("t", "trim", "ok", {"value": 1}), last)
    whole = {0: frozenset({(1, 2, 2)})}
    assert not judge(history, BucketContents(whole)).violations
    (lost,) = judge(history, BucketContents({0: frozenset({(0, 1, 1), (1, 2, 1)})})).violations
    assert "value 2, acknowledged at offset 1" in lost.message
    (orphan,) = judge(history, BucketContents(whole, ("data/7",))).violations
    assert "data/7" in orphan.message
    (missing,) = judge(history, BucketContents(whole, missing=(7,))).violations
    assert "not in the bucket: 7" in missing.message
    (first,) = judge(history, BucketContents({}, ("data/7",), (7,))).violations
    assert first == lost


def test_a_history_is_written_and_read() -> None:
    """A history is written and read back. A malformed line is named with its place."""
    history = Service(1).run(20)
    lines = list(history.lines())
    again = read(lines, "history.ndjson")
    assert list(again.lines()) == lines
    with pytest.raises(HistoryError, match=r"^history.ndjson:2: .*unknown"):
        read([lines[0], lines[1].replace('"at"', '"unknown"')], "history.ndjson")
