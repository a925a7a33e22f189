"""The repository's mapping for a log of a controller and brokers: a day of two brokers, and forbidden changes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.app import main

MAPPING = Path(__file__).parents[2] / "models" / "mappings" / "ownership.yaml"

Line = dict[str, Any]

FIRST = {"node": 1, "nodeEpoch": 1000, "failover": False}
SECOND = {"node": 2, "nodeEpoch": 1005, "failover": False}
WORKER = {"node": 2, "nodeEpoch": 1005, "failover": True}
NEXT = {"node": 2, "nodeEpoch": 1090, "failover": False}


def state(opened: bool, epoch: int, node: int, end: int) -> Line:
    """The controller's log fields about the stream."""
    return {"opened": opened, "epoch": epoch, "node": node, "start": 0, "end": end}


class Writer:
    """Writes the lines of a log with a running number for each source."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(self, source: str, event: str, t: int | list[int], by: Line | None = None, **more: Any) -> list[Any]:
        """Add a line; returns its source and number, for use as a cause."""
        number = 1 + sum(line["source"] == source for line in self.lines)
        self.lines.append({"event": event, "source": source, "n": number, "t": t, **(by or {}), **more})
        return [source, number]

    def request(self, event: str, t: int, by: Line, error: str = "NONE", **more: Any) -> list[Any]:
        """Add a controller's line about a request."""
        return self.add("controller", event, t, by, error=error, **more)


def day() -> list[Line]:
    """A stream moves from the first broker to the second, whose worker recovers it, and back."""
    log = Writer()
    log.add("controller", "CREATE_STREAM", 1)
    log.add("broker-1", "wal.reserved", [2, 6], FIRST)
    log.add("broker-2", "wal.reserved", [3, 7], SECOND)
    log.request("GET_OPENING_STREAMS", 10, FIRST)
    cause = log.request("OPEN_STREAM", 20, FIRST, stream=7, streamEpoch=0, state=state(True, 0, 1, 0))
    log.request("GET_OPENING_STREAMS", 21, SECOND)
    log.request("TRIM_STREAM", 22, SECOND, "STREAM_FENCED", stream=7, streamEpoch=0, newStart=0)
    log.add("broker-1", "stream.opened", 30, FIRST, stream=7, streamEpoch=0, next=0, cause=cause)
    log.add("broker-1", "append.acked", [31, 40], FIRST, stream=7, base=0, end=300)
    log.request("COMMIT_STREAM_SET_OBJECT", 50, FIRST, stream=7, base=0, end=300, state=state(True, 0, 1, 300))
    log.add("broker-1", "stream.closing", 60, FIRST, stream=7)
    log.request("CLOSE_STREAM", 62, FIRST, stream=7, streamEpoch=0, state=state(False, 0, 1, 300))
    cause = log.request("OPEN_STREAM", 70, SECOND, stream=7, streamEpoch=4, state=state(True, 4, 2, 300))
    log.request("CLOSE_STREAM", 71, FIRST, "STREAM_FENCED", stream=7, streamEpoch=0, state=state(True, 4, 2, 300))
    log.add("broker-2", "stream.opened", 75, SECOND, stream=7, streamEpoch=4, next=300, cause=cause)
    log.add("broker-2", "append.acked", [76, 90], SECOND, stream=7, base=300, end=305)
    log.add("worker", "wal.reserved", [120, 125], WORKER)
    log.request("GET_OPENING_STREAMS", 130, WORKER)
    log.request("COMMIT_STREAM_SET_OBJECT", 135, SECOND, "NODE_FENCED", stream=7, base=300, end=305)
    log.request("COMMIT_STREAM_SET_OBJECT", 140, WORKER, stream=7, base=300, end=305, state=state(True, 4, 2, 305))
    log.add("worker", "recovery.closing", 150, WORKER, stream=7)
    log.add("broker-2", "wal.reserved", [155, 160], NEXT)
    log.request("CLOSE_STREAM", 170, WORKER, stream=7, streamEpoch=4, state=state(False, 4, 2, 305))
    log.request("GET_OPENING_STREAMS", 172, NEXT)
    log.request("OPEN_STREAM", 180, FIRST, stream=7, streamEpoch=9, state=state(True, 9, 1, 305))
    log.add("worker", "recovery.closing", 181, WORKER, stream=7)
    log.request("CLOSE_STREAM", 182, WORKER, "NODE_EPOCH_EXPIRED", stream=7, streamEpoch=4)
    return log.lines


def judged(lines: list[Line], folder: Path, *options: str) -> int:
    """The exit code for this log."""
    path = folder / "day.log"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return main(["conform", "ownership", str(path), "--map", str(MAPPING), *options])


def test_the_day_conforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line that the mapping does not ignore is judged; each broker hears of its open in a separate step."""
    assert judged(day(), tmp_path) == 0
    assert "hear 2, open 3" in capsys.readouterr().out


def find(lines: list[Line], event: str, which: int = 0) -> Line:
    """The N-th line of this kind."""
    return [line for line in lines if line["event"] == event][which]


def acks_before_it_hears(lines: list[Line]) -> None:
    """The first broker acks before it hears that it is the owner."""
    heard, acked = find(lines, "stream.opened"), find(lines, "append.acked")
    heard["n"], acked["n"], heard["t"], acked["t"] = acked["n"], heard["n"], 45, [25, 28]
    del heard["cause"]
    early, late = lines.index(heard), lines.index(acked)
    lines[early], lines[late] = acked, heard


def hears_another_end(lines: list[Line]) -> None:
    """The second broker begins at 0, although the controller answered 300."""
    find(lines, "stream.opened", 1)["next"] = 0


def closes_before_the_upload(lines: list[Line]) -> None:
    """The first broker sends its close before its commit is done."""
    find(lines, "stream.closing")["t"] = 45


def recovers_too_little(lines: list[Line]) -> None:
    """The worker closes a stream before it has uploaded the last acked record."""
    for line in lines[lines.index(find(lines, "COMMIT_STREAM_SET_OBJECT", 2)) :]:
        if "end" in line:
            line["end"] = 304
        if "state" in line:
            line["state"]["end"] = 304


def grants_to_two(lines: list[Line]) -> None:
    """The controller grants the stream to the second broker before the first has closed it."""
    lines.remove(find(lines, "CLOSE_STREAM"))
    for number, line in enumerate((line for line in lines if line["source"] == "controller"), start=1):
        line["n"] = number
    opened = find(lines, "OPEN_STREAM", 1)
    find(lines, "stream.opened", 1)["cause"] = ["controller", opened["n"]]


@pytest.mark.parametrize(
    ("edit", "refused"),
    [
        (acks_before_it_hears, "append"),
        (hears_another_end, "hear"),
        (closes_before_the_upload, "send_close"),
        (recovers_too_little, "close"),
        (grants_to_two, "open"),
    ],
)
def test_what_the_protocol_forbids_is_impossible(
    edit: Callable[[list[Line]], None], refused: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If one thing of the day goes wrong, the log is impossible, and the verdict names the action."""
    lines = day()
    edit(lines)
    assert judged(lines, tmp_path) == 12
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("impossible: Ownership does not allow")
    assert f", {refused}(" in first


def late() -> Writer:
    """A day on which the second broker hears of its open only after the first has the stream again."""
    log = Writer()
    log.add("broker-1", "wal.reserved", [2, 6], FIRST)
    log.add("broker-2", "wal.reserved", [3, 7], SECOND)
    log.request("GET_OPENING_STREAMS", 10, FIRST)
    log.request("GET_OPENING_STREAMS", 11, SECOND)
    cause = log.request("OPEN_STREAM", 20, SECOND, stream=7, streamEpoch=0)
    log.add("worker", "wal.reserved", [30, 35], WORKER)
    log.request("GET_OPENING_STREAMS", 40, WORKER)
    log.request("CLOSE_STREAM", 50, WORKER, stream=7, streamEpoch=0)
    log.request("OPEN_STREAM", 60, FIRST, stream=7, streamEpoch=2)
    log.add("broker-2", "stream.opened", 70, SECOND, stream=7, streamEpoch=0, next=0, cause=cause)
    return log


def test_an_answer_may_be_heard_long_after_it_was_true(tmp_path: Path) -> None:
    """Hearing an answer late is no fault, as long as nothing is acked under it."""
    log = late()
    assert judged(log.lines, tmp_path) == 0
    log.add("broker-2", "append.acked", [80, 90], SECOND, stream=7, base=0, end=1)
    assert judged(log.lines, tmp_path) == 12
