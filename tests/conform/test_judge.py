"""The judge of logs: logs of random runs conform, edits are rejected, and open questions are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.conform.answer.verdict import render, scope_of, verdict_of
from tests.conform.walked_logs import Line, judged, lines, system

MODELS = ("ownership", pytest.param("fast_close", marks=pytest.mark.slow), "reassignment", "route_epoch")


@pytest.mark.parametrize("model", MODELS)
def test_a_wide_window_says_the_same(model: str, tmp_path: Path) -> None:
    """A window that never forgets a number gives the same answer."""
    wide = {nat.name: 60 for nat in system(model).nats}
    assert judged(model, lines(model, 1, 150), tmp_path / "a.log", windows=wide).kind == "conforms"


def test_all_streams_together_say_the_same(tmp_path: Path) -> None:
    """One world of all streams, or worlds of two, give the same answer as one world for each stream."""
    for model in ("ownership", "fast_close"):
        found = judged(model, lines(model, 1, 150), tmp_path / "a.log", joint=0)
        assert (found.kind, found.worlds) == ("conforms", 1)
        assert judged(model, lines(model, 1, 150), tmp_path / "a.log", joint=2).kind == "conforms"


def test_the_verdict_says_in_how_many_parts_the_log_was_judged(tmp_path: Path) -> None:
    """The verdict has the number of worlds and their streams, also for one world of one stream or of all."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "open", p=["n1", 1], s="s1", e=5, heard=False),
        event(3, "open", p=["n1", 1], s="s2", e=5, heard=False),
    ]

    def worlds(log_lines: list[Line], **options: int) -> str:
        found = judged("ownership", log_lines, tmp_path / "a.log", **options)
        assert found.kind == "conforms", found.reason
        return scope_of(verdict_of(system("ownership"), found))["worlds"]

    assert worlds(log, joint=0) == "1, all streams together"
    assert worlds(log[:3], joint=0) == "1"
    assert worlds(log[:2]) == "1"
    assert worlds(log) == "2, with 1 Stream each; the log names 2"
    log.append(event(4, "open", p=["n1", 1], s="s3", e=5, heard=False))
    assert worlds(log, joint=2) == "3, with 2 Stream each; the log names 3"


def test_a_window_that_is_too_small_is_named(tmp_path: Path) -> None:
    """If a window is too small, the verdict names the Nat and the needed number."""
    found = judged("ownership", lines("ownership", 1, 300), tmp_path / "a.log", windows={"Offset": 2})
    assert found.kind == "unknown"
    assert found.reason is not None
    assert "window of Offset has room for 2 values" in found.reason
    assert "needed at once" in found.reason


def test_a_verdict_names_guard_and_cell(tmp_path: Path) -> None:
    """The verdict names the guard and the cell, with the model's value beside the log's."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}},
        event(1, "register", p=["n1", 7]),
        event(2, "reserve", p=["n1", 7]),
        event(3, "open", p=["n1", 7], s="s1", e=5, heard=True),
        event(4, "append", p=["n1", 7], s="s1", span=[0, 100]),
        event(5, "commit", p=["n1", 7], s="s1", a=0, b=100, post={"end_offset": {"s1": 90}}),
    ]
    found = judged("ownership", log, tmp_path / "a.log")
    text = render(verdict_of(system("ownership"), found))
    assert "end_offset[s1] after the step is 100 in the model and 90 in the log" in text
    log[5] = event(5, "open", p=["n1", 7], s="s1", e=4, heard=False)
    text = render(verdict_of(system("ownership"), judged("ownership", log, tmp_path / "a.log")))
    assert "ST-12 refuses open with STREAM_FENCED" in text
    assert "streams.py" in text
    log[5] = event(5, "open", p=["n1", 7], s="s1", e=4, heard=False, error="STREAM_FENCED")
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


def test_a_verdict_names_the_outcome_of_a_request(tmp_path: Path) -> None:
    """A refused request is shown with the error of its answer, and a request that was taken without one."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}},
        event(1, "register", p=["n1", 7]),
        event(2, "open", p=["n1", 7], s="s1", e=5, heard=False),
        event(3, "delete", s="s1", error="STREAM_NOT_CLOSED"),
        event(4, "delete", s="s1"),
    ]
    text = render(verdict_of(system("ownership"), judged("ownership", log, tmp_path / "a.log")))
    calls = [line.split("  ")[-1] for line in text.splitlines() if "(s=" in line or "(p=" in line]
    assert calls == [
        f'impossible: Ownership does not allow {tmp_path}/a.log:5, delete(s="s1")',
        'register(p=["n1", 7])',
        'open(p=["n1", 7], s="s1", e=5, heard=false)',
        'delete(s="s1") → STREAM_NOT_CLOSED',
    ]


def event(seq: int, action: str, **more: object) -> Line:
    """A line of source a."""
    return {"source": "a", "seq": seq, "t": seq, "action": action, **more}


def test_a_count_that_is_not_told_is_unknown(tmp_path: Path) -> None:
    """If the log omits the next number, nothing after it is impossible."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "reserve", p=["n1", 1]),
        event(3, "open", p=["n1", 1], s="s1", e=5, heard=True),
        event(4, "append", p=["n1", 1], s="s1"),
    ]
    found = judged("ownership", log, tmp_path / "a.log")
    assert found.kind == "unknown"
    assert "next_offset" in str(found.reason)


def test_an_unknown_outcome_leaves_both_open(tmp_path: Path) -> None:
    """Later events decide whether a request with an unknown outcome had an effect."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "open", p=["n1", 1], s="s1", e=5, heard=False, error="?"),
    ]
    for third, kind in (
        (event(3, "delete", s="s1"), "conforms"),
        (event(3, "delete", s="s1", error="STREAM_NOT_CLOSED"), "conforms"),
        (event(3, "trim", p=["n1", 1], s="s1", e=4, q=3), "impossible"),
    ):
        assert judged("ownership", [*log, third], tmp_path / "a.log").kind == kind


def test_a_hidden_step_is_inserted(tmp_path: Path) -> None:
    """A hidden step is inserted where an event needs it, and the verdict counts such events."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "register", p=["n1", 2]),
        event(3, "open", p=["n1", 2], s="s1", e=5, heard=True),
    ]
    # Process 2 opens only with the reservation, which process 1 holds from the start if its node is registered.
    assert judged("ownership", log, tmp_path / "a.log").kind == "impossible"
    found = judged("ownership", log, tmp_path / "a.log", hidden=("reserve",))
    assert (found.kind, found.tally.hidden["open"]) == ("conforms", 1)


@pytest.mark.parametrize("model", MODELS)
def test_sources_with_overlapping_intervals_conform(model: str, tmp_path: Path) -> None:
    """A log with overlapping intervals conforms if some order of its events is a run."""
    for seed in range(2):
        found = judged(model, lines(model, seed, 120, sources=3), tmp_path / "a.log")
        assert found.kind == "conforms", found.reason


def test_the_order_of_the_clock_is_not_the_only_one(tmp_path: Path) -> None:
    """Two overlapping events of two sources may take effect in either order."""
    header = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}}

    def log(first: object, second: object) -> list[Line]:
        return [
            header,
            {"source": "a", "seq": 1, "t": 1, "action": "register", "p": ["n1", 1]},
            {"source": "a", "seq": 2, "t": first, "action": "open", "p": ["n1", 1], "s": "s", "e": 3, "heard": False},
            {"source": "b", "seq": 1, "t": second, "action": "register", "p": ["n1", 2]},
        ]

    assert judged("ownership", log([20, 30], [10, 25]), tmp_path / "a.log").kind == "conforms"
    assert judged("ownership", log(20, 10), tmp_path / "a.log").kind == "impossible"
    caused = log([20, 30], [10, 25])
    caused[2]["cause"] = ["b", 1]
    assert judged("ownership", caused, tmp_path / "a.log").kind == "impossible"


def test_a_cell_of_another_stream_is_told(tmp_path: Path) -> None:
    """An event is compared with another stream's cell if its line gives that cell."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "delete", s="s1", post={"exists": {"s2": False}}),
    ]
    found = judged("ownership", log, tmp_path / "a.log")
    text = render(verdict_of(system("ownership"), found))
    assert "exists[s2] after the event is true in the model and false in the log" in text
    log[2]["post"] = {"exists": {"s1": False, "s2": True}}
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


def test_an_event_without_its_stream_is_unknown(tmp_path: Path) -> None:
    """If an event does not name its stream, worlds of one stream cannot decide, but one world of all streams can."""
    log: list[Line] = [
        {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 1}}},
        event(1, "register", p=["n1", 1]),
        event(2, "open", p=["n1", 1], s="s1", e=5, heard=False),
        event(3, "open", p=["n1", 1], s="s2", e=5, heard=False),
        event(4, "trim", p=["n1", 1], e=5, q=0),
    ]
    assert judged("ownership", log, tmp_path / "a.log").kind == "unknown"
    assert judged("ownership", log, tmp_path / "a.log", joint=0).kind == "conforms"
