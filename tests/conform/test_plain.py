"""Plain Nats: the numbers of the log are the numbers of the model."""

from __future__ import annotations

from pathlib import Path

from tests.conform.walked_logs import Line, judged, lines


def test_the_verdict_says_which_numbers_there_are(tmp_path: Path) -> None:
    """The verdict names the plain Nats, with their greatest numbers."""
    log = lines("kip_236", 1, 60)
    greatest = max(line[name] for line in log[1:] for name in ("a", "b", "n", "x") if name in line)
    found = judged("kip_236", log, tmp_path / "a.log")
    assert found.kind == "conforms"
    assert found.notes == [f"numbers used unchanged: Broker 0 to {greatest}; the model has no others"]


def test_a_wrong_number_is_impossible(tmp_path: Path) -> None:
    """A wrong plain number is impossible, since the judge tries all numbers for the start."""
    found = judged("kip_236", [*HEADER, event(1, "expand", n=1, x=0)], tmp_path / "a.log")
    assert (found.kind, found.reason) == ("impossible", None)


def test_an_argument_that_is_left_out_is_tried(tmp_path: Path) -> None:
    """A missing plain argument is tried with every number; if none fits, the event is impossible."""
    log = [*HEADER, event(1, "fence", n=1)]
    assert judged("kip_236", log, tmp_path / "a.log").kind == "conforms"
    assert judged("kip_236", [*HEADER, event(1, "expand")], tmp_path / "a.log").kind == "impossible"


def test_a_great_number_is_unknown(tmp_path: Path) -> None:
    """A number that is too great is unknown; the reason names the Nat, the number, and the use beyond order."""
    found = judged("kip_236", [*HEADER, event(1, "fetch", n=64)], tmp_path / "a.log")
    assert found.kind == "unknown"
    assert "the number 64 of Broker" in str(found.reason)
    assert "room for 0 to 63" in str(found.reason)
    assert "try --window Broker=65" in str(found.reason)
    assert "replica_lists.py:" in str(found.reason)
    found = judged("kip_236", [*HEADER, event(1, "fetch", n=1001)], tmp_path / "a.log")
    assert "number them from 0" in str(found.reason)


def test_a_window_gives_more_numbers(tmp_path: Path) -> None:
    """A window gives a plain Nat numbers that the log does not name."""
    found = judged("kip_236", [*HEADER, event(1, "fetch", n=1)], tmp_path / "a.log", windows={"Broker": 4})
    assert found.notes == ["numbers used unchanged: Broker 0 to 3; the model has no others"]


def test_a_rising_number_has_room_for_one_more(tmp_path: Path) -> None:
    """A rising number has room for one more; counting beyond that is unknown, not impossible."""
    puts = [event(seq, "put", p=0, t=0) for seq in (1, 2, 3)]
    assert judged("wal", [*HEADER, *puts[:1]], tmp_path / "a.log").kind == "conforms"
    found = judged("wal", [*HEADER, *puts], tmp_path / "a.log")
    assert (found.kind, "Slot" in str(found.reason)) == ("unknown", True)
    assert judged("wal", [*HEADER, *puts], tmp_path / "a.log", windows={"Slot": 5}).kind == "conforms"


HEADER: list[Line] = [{"holdfast": "log", "version": 1}]


def event(seq: int, action: str, **more: object) -> Line:
    """A line of source a."""
    return {"source": "a", "seq": seq, "t": seq, "action": action, **more}
