"""Fast close: its counts, its variants step by step, and takeovers that overlap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.lang import Scope
from models.fast_close import FastClose
from models.parts.errors import E
from models.parts.nodes import Node, NodeEpoch, Proc
from models.parts.streams import Epoch, Offset, Stream

MODEL = Path(__file__).parents[2] / "models" / "fast_close.py"

OWNER, WORKER, OTHER, OTHER_WORKER = (Proc.element(number) for number in range(4))
FIRST, SECOND = Node.element(0), Node.element(1)
S = Stream.element(0)
CROSSED = Scope(
    {Node: 2, Proc: 4, Stream: 1, NodeEpoch: 1, Epoch: 3, Offset: 3},
    given={"node_of": (0, 0, 1, 1), "incarnation": (1, 1, 1, 1), "failover": (False, True, False, True)},
)
"""Two nodes, each with a worker."""
RESTARTED = Scope(
    {Node: 1, Proc: 3, Stream: 1, NodeEpoch: 2, Epoch: 2, Offset: 2},
    given={"node_of": (0, 0, 0), "incarnation": (1, 2, 2), "failover": (False, False, True)},
)
"""A node, its next incarnation, and that incarnation's worker: no scope of the model has all three."""


def written(state: FastClose, p: Proc, *, ends: tuple[int, ...]) -> FastClose:
    """The state after p has appended batches with these ends, each of them acked."""
    for end in ends:
        state = state.take("append", p=p, s=S, b=Offset(end)).take("put", p=p, s=S).take("ack", p=p, s=S)
    return state


def closed(state: FastClose, p: Proc) -> FastClose:
    """The state after a fast close of p."""
    return state.take("send_close", p=p, s=S).take("close", p=p, s=S)


def upload(p: Proc, a: int, b: int) -> dict[str, Any]:
    """The arguments of a commit of [a, b)."""
    return {"p": p, "s": S, "a": Offset(a), "b": Offset(b)}


def taken_over(state: FastClose, p: Proc) -> FastClose:
    """The state after p has passed the barrier of its node."""
    return state.take("reserve", p=p).take("register", p=p)


def moved(*variants: str) -> FastClose:
    """The first node has acked [0, 2) and closed; the second has opened, and acked [2, 3)."""
    state = FastClose.at(CROSSED, variants=variants).start().take("open", p=OWNER, s=S)
    state = closed(written(state, OWNER, ends=(1, 2)), OWNER)
    return written(state.take("open", p=OTHER, s=S), OTHER, ends=(3,))


def test_a_stream_moves_before_anything_is_uploaded() -> None:
    """ST-37, ST-15, CS-32. The next owner begins where the entry ends; the node returns when its entry has drained."""
    state = moved()
    assert (state.entry_from[FIRST, S], state.entry_to[FIRST, S]) == (Offset(0), Offset(2))
    assert state.refusal("commit", **upload(OWNER, 1, 2)) == ("CS-25", E.OFFSET_NOT_MATCHED)
    state = state.take("commit", **upload(OTHER, 2, 3))
    state = closed(state, OTHER)
    assert state.refusal("open", p=OWNER, s=S) == ("CL-01", None)
    state = state.take("commit", **upload(OWNER, 0, 1)).take("commit", **upload(OWNER, 1, 2))
    assert state.entry_to[FIRST, S] == Offset(0)
    assert state.take("open", p=OWNER, s=S).range_start[S] == Offset(3)


def test_the_controller_refuses_who_has_an_entry() -> None:
    """ST-15. The controller refuses an open of a broker that does not wait for its own upload."""
    state = FastClose.at(CROSSED, removed=("CL-01",)).start().take("open", p=OWNER, s=S)
    state = closed(written(state, OWNER, ends=(1,)), OWNER)
    assert state.refusal("open", p=OWNER, s=S) == ("ST-15", E.STREAM_NOT_CLOSED)


@pytest.mark.parametrize("first", [WORKER, OTHER_WORKER])
def test_takeovers_cross(first: Proc) -> None:
    """Two nodes crash, one with the stream and one with an entry. In either order of recovery, both recoveries end."""
    state = taken_over(taken_over(moved(), WORKER), OTHER_WORKER)
    uploads = {WORKER: upload(WORKER, 0, 2), OTHER_WORKER: upload(OTHER_WORKER, 2, 3)}
    for p in (first, WORKER if first == OTHER_WORKER else OTHER_WORKER):
        assert state.refusal("end_recovery", p=p, s=S) == ("RC-05", None)
        state = state.take("commit", **uploads[p]).take("end_recovery", p=p, s=S).take("reset_wal", p=p)
        assert state.holds("no_acked_loss")
        assert state.holds("no_hole")
    assert not state.opened[S]
    assert all(state.covered[S, Offset(o)] for o in range(3))


def test_a_trim_ends_an_entry() -> None:
    """ST-45, CS-30. A trim rewrites no entry. No commit has to cover trimmed data; the next one removes the entry."""
    state = moved().take("trim", p=OTHER, s=S, q=Offset(2))
    assert state.entry_to[FIRST, S] == Offset(2)
    assert not state.has_entry(FIRST, S)
    state = state.take("commit", **upload(OWNER, 0, 2))
    assert state.entry_to[FIRST, S] == Offset(0)


def test_a_repeated_close_seals_nothing_again() -> None:
    """ST-33. A repeated close does not restore an entry that has drained."""
    state = FastClose.at("tiny").start().take("open", p=OWNER, s=S)
    state = closed(written(state, OWNER, ends=(1,)), OWNER).take("commit", **upload(OWNER, 0, 1))
    assert state.take("close", p=OWNER, s=S).entry_to[FIRST, S] == Offset(0)


def late_close(acked: int) -> FastClose:
    """The owner fails after N acked records and one more in its WAL; its worker has committed all of them."""
    state = FastClose.at("tiny", variants=("late_close",)).start().take("open", p=OWNER, s=S)
    for end in range(1, acked + 2):
        state = state.take("append", p=OWNER, s=S, b=Offset(end)).take("put", p=OWNER, s=S)
        if end <= acked:
            state = state.take("ack", p=OWNER, s=S)
    state = state.take("reserve", p=WORKER).take("fail", p=OWNER).take("send_close", p=OWNER, s=S)
    return state.take("register", p=WORKER).take("commit", **upload(WORKER, 0, acked + 1))


def test_a_late_close_is_told_from_the_workers() -> None:
    """ST-34, ST-35. The late close ends below the worker's commit. It is refused on an open and on a CLOSED stream."""
    state = late_close(acked=1)
    assert state.refusal("close", p=OWNER, s=S) == ("ST-35", E.OFFSET_NOT_MATCHED)
    state = state.take("end_recovery", p=WORKER, s=S)
    assert state.refusal("close", p=OWNER, s=S) == ("ST-34", E.OFFSET_NOT_MATCHED)


def test_a_late_close_that_names_the_end_of_the_range_is_a_repeated_one() -> None:
    """ST-33, ST-36. The worker's legacy close has left the recorded range empty; the late close changes nothing."""
    state = late_close(acked=0).take("end_recovery", p=WORKER, s=S)
    assert state.take("close", p=OWNER, s=S).end_offset[S] == Offset(1)


@pytest.fixture(scope="module")
def fast_close() -> System:
    """The model without variants."""
    return compile_model(load_model(str(MODEL)))


def resized(system: System, given: Any, **sizes: int) -> Any:
    """Scope tiny with other sizes and constants."""
    tiny = system.scopes["tiny"]
    return attrs.evolve(tiny, sizes={**tiny.sizes, **sizes}, given=given)


VARIANTS = {
    "close_at_next": ("entry_is_durable", 5),
    "uncapped_replay": ("recovery_is_accepted", 11),
    "late_close": ("recovery_is_accepted", 8),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_is_violated(variant: str) -> None:
    """AM-01, a half of its remedy, and AM-11: the shortest run of each."""
    system = compile_model(load_model(str(MODEL)), variants=(variant,))
    (trace,) = search(system, system.scopes["tiny"], engine="interpreter").findings
    assert (trace.shown.name, trace.length) == VARIANTS[variant]


def test_a_recovery_that_is_taken_over_loses_nothing(fast_close: System) -> None:
    """FO-07. The next incarnation recovers and crashes, and then its own worker recovers."""
    result = search(fast_close, resized(fast_close, RESTARTED.given, Node=1, NodeEpoch=2), engine="interpreter")
    assert (result.verdict, result.findings) == ("exhausted", ())


@pytest.mark.slow
def test_takeovers_that_cross_lose_nothing(fast_close: System) -> None:
    """Two nodes with a worker each, in any order."""
    result = search(fast_close, resized(fast_close, CROSSED.given, Proc=4))
    assert (result.verdict, result.findings) == ("exhausted", ())


def test_nobody_appends_before_the_answer_is_heard() -> None:
    """With late answers an owner of an OPENED stream can neither append, trim nor close before it hears the answer."""
    state = FastClose.at("tiny", variants=("late_answers",)).start().take("open", p=OWNER, s=S)
    assert state.opened[S]
    assert state.refusal("open", p=OWNER, s=S) == ("FO-08", None)
    assert state.refusal("append", p=OWNER, s=S, b=Offset(1)) == ("CL-02", None)
    assert state.refusal("trim", p=OWNER, s=S, q=Offset(0)) == ("CL-06", None)
    assert state.refusal("send_close", p=OWNER, s=S) == ("CL-07", None)
    heard = state.take("hear", p=OWNER, s=S)
    assert written(heard, OWNER, ends=(1,)).confirm_offset[OWNER, S] == Offset(1)
    assert heard.refusal("hear", p=OWNER, s=S) == ("CL-01.answer", None)


def test_an_answer_that_comes_after_a_takeover_serves_nobody() -> None:
    """The worker has closed the stream. An owner that hears then that it is open can neither ack nor commit."""
    state = FastClose.at("tiny", variants=("late_answers",)).start().take("open", p=OWNER, s=S)
    state = taken_over(state, WORKER).take("reset_wal", p=WORKER).take("end_recovery", p=WORKER, s=S)
    state = state.take("hear", p=OWNER, s=S).take("append", p=OWNER, s=S, b=Offset(1))
    assert not state.opened[S]
    assert state.refusal("put", p=OWNER, s=S) == ("WL-09", None)
    assert state.take("open", p=OTHER, s=S).opened[S]


def test_a_process_that_has_halted_hears_nothing() -> None:
    """A process whose storage fails while the answer is under way gets no handle from it."""
    state = FastClose.at("tiny", variants=("late_answers",)).start().take("open", p=OWNER, s=S).take("fail", p=OWNER)
    assert state.refusal("hear", p=OWNER, s=S) == ("CL-01.answer", None)
