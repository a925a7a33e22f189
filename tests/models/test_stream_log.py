"""The stream log: its variants step by step, and copies of the model with a line changed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.check.result import Result
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lang import Scope
from models.parts.errors import E
from models.parts.nodes import Node, NodeEpoch, Proc
from models.parts.streams import Epoch, Offset, Stream
from models.stream_log import StreamLog

MODEL = Path(__file__).parents[2] / "models" / "stream_log.py"

OWNER, WORKER, OTHER = Proc.element(0), Proc.element(1), Proc.element(2)
S = Stream.element(0)
LONGER = Scope(
    {Node: 2, Proc: 3, Stream: 1, NodeEpoch: 1, Epoch: 2, Offset: 3},
    given={"node_of": (0, 0, 1), "incarnation": (1, 1, 1), "failover": (False, True, False)},
)
"""Scope tiny, with one more offset."""


def written(state: StreamLog, p: Proc, *, ends: tuple[int, ...]) -> StreamLog:
    """The state after p has appended batches with these ends, each of them acked."""
    for end in ends:
        state = state.take("append", p=p, s=S, b=Offset(end)).take("put", p=p, s=S).take("ack", p=p, s=S)
    return state


def upload(p: Proc, a: int, b: int) -> dict[str, Any]:
    """The arguments of a commit of [a, b) whose answer is heard."""
    return {"p": p, "s": S, "a": Offset(a), "b": Offset(b), "heard": True}


def close(p: Proc) -> dict[str, Any]:
    """The arguments of a close whose answer is heard."""
    return {"p": p, "s": S, "heard": True}


def split(*variants: str) -> StreamLog:
    """Batches [0, 2) and [2, 3) are acked and not committed."""
    return written(StreamLog.at(LONGER, variants=variants).start().take("open", p=OWNER, s=S), OWNER, ends=(2, 3))


def test_a_wal_knows_where_the_batch_of_an_offset_begins() -> None:
    """All offsets of a batch have the same value, and a trim of the WAL leaves the offsets above it unchanged."""
    state = split()
    node, offsets = state.node_of[OWNER], [Offset(o) for o in range(4)]
    assert [state.wal[node, S, o] for o in offsets] == [Offset(0), Offset(0), Offset(2), None]
    assert state.refusal("commit", **upload(OWNER, 0, 1)) == ("PL-10", None)
    state = state.take("commit", **upload(OWNER, 0, 2)).take("trim_wal", p=OWNER, s=S, q=Offset(1))
    assert [state.wal[node, S, o] for o in offsets] == [None, Offset(0), Offset(2), None]


def test_a_trim_inside_a_batch_loses_all_that_follows() -> None:
    """AM-08. The batch that the trim splits is dropped, the rest is a gap, and both go with the WAL."""
    state = split("split_trims").take("trim", p=OWNER, s=S, q=Offset(1)).take("reserve", p=WORKER)
    state = state.take("register", p=WORKER)
    assert state.confirm_offset[WORKER, S] == state.committed_to[WORKER, S] == Offset(1)
    assert state.holds("no_acked_loss")
    assert not state.take("reset_wal", p=WORKER).holds("no_acked_loss")


def test_a_trim_between_batches_loses_nothing() -> None:
    """RC-02. After a trim to the start of a batch recovery begins there. Other trims are refused (AM-08)."""
    state = split()
    assert state.refusal("trim", p=OWNER, s=S, q=Offset(1)) == ("AM-08", None)
    state = state.take("trim", p=OWNER, s=S, q=Offset(2)).take("reserve", p=WORKER).take("register", p=WORKER)
    state = state.take("commit", **upload(WORKER, 2, 3)).take("reset_wal", p=WORKER)
    assert state.holds("no_acked_loss")
    assert state.covered[S, Offset(2)]


def overtaken(*variants: str) -> StreamLog:
    """A record is in the WAL whose append has failed. Its process has sent a close, and a worker has registered."""
    state = StreamLog.at("tiny", variants=variants).start().take("open", p=OWNER, s=S)
    state = state.take("append", p=OWNER, s=S, b=Offset(1)).take("put", p=OWNER, s=S).take("reserve", p=WORKER)
    state = state.take("fail", p=OWNER).take("send_close", p=OWNER, s=S)
    return state.take("register", p=WORKER)


def test_a_late_close_blocks_the_worker() -> None:
    """AM-11 as built: the worker's commit is refused, also after another node has opened the stream."""
    state = overtaken("late_close")
    assert state.holds("recovery_is_accepted")
    state = state.take("close", **close(OWNER))
    assert not state.holds("recovery_is_accepted")
    assert state.refusal("commit", **upload(WORKER, 0, 1)) == ("CS-26", E.STREAM_NOT_OPENED)
    state = state.take("open", p=OTHER, s=S)
    assert state.refusal("commit", **upload(WORKER, 0, 1)) == ("CS-28", E.STREAM_FENCED)
    assert state.refusal("end_recovery", p=WORKER, s=S) == ("RC-05", None)


def test_trim_and_delete_free_a_blocked_worker() -> None:
    """CS-20, CS-21. Trimmed or deleted data may be committed by any node, and then the recovery ends (RC-06)."""
    blocked = overtaken("late_close").take("close", **close(OWNER))
    trimmed = written(blocked.take("open", p=OTHER, s=S), OTHER, ends=(1,)).take("trim", p=OTHER, s=S, q=Offset(1))
    for freed in (trimmed, blocked.take("delete", s=S)):
        done = freed.take("commit", **upload(WORKER, 0, 1)).take("end_recovery", p=WORKER, s=S)
        assert done.take("close", **close(WORKER)).handle[WORKER, S] == Epoch(0)


def test_the_flag_bars_a_late_close() -> None:
    """Without the variant the old process is refused, and the worker commits, closes and finishes."""
    state = overtaken()
    assert state.refusal("close", **close(OWNER)) == ("CK-01.flag", E.NODE_FENCED)
    state = state.take("commit", **upload(WORKER, 0, 1)).take("end_recovery", p=WORKER, s=S)
    state = state.take("close", **close(WORKER))
    assert not state.opened[S]
    assert state.end_offset[S] == Offset(1)


@pytest.fixture(scope="module")
def stream_log() -> System:
    """The model without changes."""
    return compile_model(load_model(str(MODEL)))


def rewritten(folder: Path, old: str, new: str) -> System:
    """A copy of the model with one piece of text replaced."""
    text = MODEL.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = folder / "copied.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return compile_model(load_model(str(path)))


def finding(system: System) -> tuple[str, int]:
    """The property that a search of tiny finds violated, and the length of its shortest run."""
    result: Result = search(system, system.scopes["tiny"], engine="interpreter")
    (trace,) = result.findings
    return trace.shown.name, len(trace.steps) - 1


LINES = {
    "PL-03": 'require(self.durable[p, s], "PL-03")',
    "WL-05": 'require(self.reserved[p], "WL-05")',
    "CL-07.wait": 'require(self.next_offset[p, s] == self.confirm_offset[p, s], "CL-07.wait")',
    "CL-08": 'require(self.committed_to[p, s] == self.confirm_offset[p, s], "CL-08")',
    "PL-25": 'require(q <= self.committed_to[p, s], "PL-25")',
    "RC-05": 'require(self.mode[p, s] == Mode.RECOVERING and self.uploaded(p), "RC-05")',
}


@pytest.mark.parametrize("label", LINES)
def test_a_deleted_line_is_a_removed_rule(stream_log: System, tmp_path: Path, label: str) -> None:
    """A copy without the line violates the same property as the model without the label, in equally many steps."""
    assert finding(rewritten(tmp_path, LINES[label], "pass")) == finding(remove_rules(stream_log, (label,)))


FAULTS = {
    "trims the WAL of all that is acked": (
        "q <= self.committed_to[p, s]",
        "q <= self.confirm_offset[p, s]",
        "no_acked_loss",
    ),
    "opens at the start of the stream": (
        "self.begin(p, s, Mode.OPEN, self.end_offset[s], self.end_offset[s])",
        "self.begin(p, s, Mode.OPEN, self.start_offset[s], self.start_offset[s])",
        "written_once",
    ),
    "empties the WAL before it has uploaded": (
        " and self.reserved[p] and self.uploaded(p)",
        " and self.reserved[p]",
        "wal_is_kept",
    ),
    "asks before it takes the reservation": (
        "self.phase[p] == Phase.RESERVED, ",
        "not self.reserved[p], ",
        "acked_once",
    ),
    "lets any process close": ("self.failover[p] or self.late_close", "True", "recovery_is_accepted"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path: Path, fault: str) -> None:
    """A copy whose behaviour deviates from the protocol violates the property about it."""
    old, new, prop = FAULTS[fault]
    assert finding(rewritten(tmp_path, old, new))[0] == prop


RESTARTED = Scope(
    {Node: 1, Proc: 3, Stream: 1, NodeEpoch: 2, Epoch: 2, Offset: 2},
    given={"node_of": (0, 0, 0), "incarnation": (1, 2, 2), "failover": (False, False, True)},
)
"""A node, its next incarnation, and that incarnation's worker: no scope of the model has all three."""


def test_a_worker_waits_for_its_incarnation_to_register(tmp_path: Path) -> None:
    """FO-01, AM-19. If a process registers after its worker, it clears the flag, and both recover the same records."""
    _, second, worker = (Proc.element(number) for number in range(3))
    state = StreamLog.at(RESTARTED).start().take("reserve", p=second)
    assert state.refusal("reserve", p=worker) == ("FO-06.newer", None)
    assert state.take("register", p=second).refusal("reserve", p=worker) is None

    hasty = rewritten(tmp_path, " and holders_before and follows", " and holders_before")
    tiny = hasty.scopes["tiny"]
    scope = attrs.evolve(tiny, sizes={**tiny.sizes, "Node": 1, "NodeEpoch": 2}, given=RESTARTED.given)
    (trace,) = search(hasty, scope, engine="interpreter").findings
    assert (trace.shown.name, trace.length) == ("recovery_is_accepted", 8)
