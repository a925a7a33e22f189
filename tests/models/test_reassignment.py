"""Reassignment: the shortest counterexamples of reassignment.md 10.1, and its findings step by step."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.parts.brokers import Phase
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Epoch, Offset, Stream
from models.reassignment import Reassignment

SOURCE, TARGET = Node.element(0), Node.element(1)
S = Stream.element(0)


def begun(*variants: str, scope: str = "tiny") -> Reassignment:
    """A state in which the source has acked one record."""
    start = Reassignment.at(scope, variants=variants).start(first=SOURCE)
    return start.take("append", n=SOURCE, s=S).take("ack", n=SOURCE, s=S)


def closing(state: Reassignment, n: Node) -> Reassignment:
    """The state after n, whose log is frozen, has uploaded its one record and sent its close."""
    state = state.take("persist", n=n).take("commit", n=n, s=S, a=Offset(0), b=Offset(1))
    return state.take("send_close", n=n, s=S)


def closed(state: Reassignment, n: Node) -> Reassignment:
    """The state after n has closed the partition, as the newest image demands."""
    return closing(state.take("observe", n=n).take("run_next", n=n), n).take("close", n=n, s=S)


def opened(state: Reassignment, n: Node) -> Reassignment:
    """The state after n has opened the partition."""
    return state.take("observe", n=n).take("run_next", n=n).take("open", n=n, s=S)


def test_a_move_in_six_steps() -> None:
    """Reassignment.md 3.1: a move uses two leader epochs, and the target continues at the source's end."""
    state = begun().take("reassign", t=TARGET)
    assert (state.leader, state.leader_epoch, state.epoch[S]) == (None, Epoch(2), Epoch(1))
    state = closed(state, SOURCE).take("ask_election", n=SOURCE)
    assert (state.leader, state.leader_epoch, state.opened[S]) == (TARGET, Epoch(3), False)
    state = opened(state, TARGET)
    assert (state.owner[S], state.epoch[S], state.wal[TARGET, S]) == (TARGET, Epoch(3), Offset(1))


def test_a_move_in_the_first_generation() -> None:
    """Reassignment.md 3.1: the target opens under the epoch of the record, and is elected then (RA-24)."""
    state = opened(closed(begun("G1").take("reassign", t=TARGET), SOURCE), TARGET)
    assert (state.leader, state.epoch[S]) == (None, Epoch(2))
    state = state.take("ask_election", n=TARGET)
    assert (state.leader, state.leader_epoch, state.epoch[S]) == (TARGET, Epoch(3), Epoch(2))


def test_the_close_of_an_older_image_runs_before_the_open_of_a_newer_one() -> None:
    """RA-11. A source that gets the partition back while it closes finishes the close before it opens."""
    state = begun().take("reassign", t=TARGET).take("observe", n=SOURCE).take("run_next", n=SOURCE)
    state = state.take("isolate", n=TARGET, x=SOURCE).take("request_election", t=SOURCE).take("observe", n=SOURCE)
    assert state.refusal("run_next", n=SOURCE) == ("RA-11", None)
    state = closing(state, SOURCE)
    assert state.refusal("run_next", n=SOURCE) == ("RA-11", None)
    state = state.take("close", n=SOURCE, s=S).take("run_next", n=SOURCE).take("open", n=SOURCE, s=S)
    assert (state.epoch[S], state.wal[SOURCE, S]) == (Epoch(4), Offset(1))


def test_images_coalesce() -> None:
    """RA-13. A source that sees neither of two moves in time does nothing, and serves on under its old epoch."""
    state = begun().take("reassign", t=TARGET).take("isolate", n=TARGET, x=SOURCE).take("request_election", t=SOURCE)
    assert state.refusal("observe", n=SOURCE) == ("RA-13", None)
    assert (state.leader, state.leader_epoch) == (SOURCE, Epoch(4))
    assert (state.handle[SOURCE, S], state.tried[SOURCE], state.frozen[SOURCE]) == (True, Epoch(1), False)


def test_a_snapshot_without_the_flag_lets_the_recovery_fail_for_ever() -> None:
    """AM-02. The old process commits behind the barrier, and the worker's replayed records no longer fit."""
    state = begun("snapshot_without_flag").take("isolate", n=SOURCE, x=TARGET).take("fail_over", n=SOURCE)
    commit = {"n": SOURCE, "s": S, "a": Offset(0), "b": Offset(1)}
    assert state.refusal("commit", **commit) == ("CK-01.flag", E.NODE_FENCED)
    state = state.take("change_controller").take("commit", **commit)
    assert state.refusal("recover", n=SOURCE, s=S) == ("CS-29a", E.OFFSET_NOT_MATCHED)
    assert state.holds("no_acked_loss")


def test_a_repeated_open_takes_the_stream_for_nobody() -> None:
    """ST-24, EX-07. The target waits for ever for a stream that the source has unknowingly opened again."""
    state = closed(begun().take("reassign", t=TARGET), SOURCE).take("ask_election", n=SOURCE)
    state = state.take("late_open", n=SOURCE, s=S).take("observe", n=TARGET).take("run_next", n=TARGET)
    assert state.holds("reopened")
    assert state.refusal("open", n=TARGET, s=S) == ("ST-14", E.STREAM_NOT_CLOSED)
    for action in ("observe", "run_next", "ask_election", "persist", "abort_open", "heal", "restart", "join"):
        assert state.refusal(action, n=SOURCE) is not None, action
    for action in ("send_close", "close", "recover", "ack", "open"):
        assert state.refusal(action, n=SOURCE, s=S) is not None, action


def test_a_zombie_neither_commits_nor_acks() -> None:
    """FO-06, FO-07. While a worker takes over, the reservation and the flag stop the old source."""
    state = begun().take("append", n=SOURCE, s=S).take("isolate", n=SOURCE, x=TARGET).take("fail_over", n=SOURCE)
    assert state.refusal("ack", n=SOURCE, s=S) == ("WL-05", None)
    state = state.take("recover", n=SOURCE, s=S).take("request_election", t=TARGET)
    state = opened(state, TARGET)
    assert state.holds("zombie")
    assert state.handle[SOURCE, S]
    assert state.refusal("commit", n=SOURCE, s=S, a=Offset(0), b=Offset(1)) == ("CK-01.flag", E.NODE_FENCED)
    state = state.take("restart", n=SOURCE)
    assert (state.phase[SOURCE], state.handle[SOURCE, S]) == (Phase.RECOVERING, False)


@pytest.mark.parametrize(
    ("without", "violated"),
    [
        (("ST-14",), True),  # The open is refused while the stream is OPENED.
        (("RA-17",), True),  # Upload before close.
        (("CK-02.epoch_old", "CK-02.node"), True),  # Epoch and owner check on close.
        (("RA-22",), False),  # Waiter abort.
        (("RA-05",), False),  # Epoch bump per start.
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_offsets_are_reused_without(without: tuple[str, ...], violated: bool) -> None:
    """Reassignment.md 10.1: the guards whose removal leads to offset reuse (SP-06), and those where it does not."""
    system = remove_rules(compile_model(Reassignment), without)
    result = search(system, system.scope("tiny"), properties=("acked_once",))
    assert result.verdict == ("violated" if violated else "exhausted")
