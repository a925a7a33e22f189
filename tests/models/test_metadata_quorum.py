"""The metadata quorum: what brokers do with answers that come before the commit, and what a new controller forgets."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.metadata_quorum import MetadataQuorum, Phase, Reply, Table
from models.parts.nodes import Node
from models.parts.streams import Epoch

LEFT, RIGHT = Node.element(0), Node.element(1)


def opening(*removed: str) -> MetadataQuorum:
    """The controller has taken the open of the left broker. Its record is not committed."""
    return MetadataQuorum.at("default", removed=removed).start().take("assign", n=LEFT).take("open", n=LEFT)


def opened(*removed: str) -> MetadataQuorum:
    """The left broker has a handle."""
    return opening(*removed).take("commit").take("hear_open", n=LEFT)


def test_an_open_is_answered_after_the_commit() -> None:
    """EX-01. The answer waits for the quorum, and then the broker has a handle."""
    state = opening()
    assert state.refusal("hear_open", n=LEFT) == ("EX-01", None)
    state = state.take("commit").take("hear_open", n=LEFT)
    assert state.phase[LEFT] == Phase.OPEN


def test_a_new_controller_knows_what_is_committed() -> None:
    """EX-03. An open that is not committed is lost with its answer; a committed one stays."""
    state = opening().take("change_controller")
    assert (state.opened[Table.MEMORY], state.answer[LEFT]) == (False, Reply.NONE)
    state = opened().take("change_controller")
    assert state.opened[Table.MEMORY]
    assert state.epoch[Table.MEMORY] == Epoch(1)


def test_an_answer_that_was_sent_outlives_its_controller() -> None:
    """EX-01. A sent answer may arrive after the next controller has taken over, and is still true."""
    state = opening().take("commit").take("change_controller").take("hear_open", n=LEFT)
    assert state.phase[LEFT] == Phase.OPEN
    assert state.holds("handle_is_lease")


def test_a_rolled_back_open_leaves_two_handles() -> None:
    """G-53. A broker that hears of its open too early keeps a handle, and the next controller grants another one."""
    state = opening("EX-01").take("hear_open", n=LEFT).take("change_controller")
    assert state.holds("one_handle")
    assert not state.holds("handle_is_lease")
    state = state.take("assign", n=RIGHT).take("open", n=RIGHT).take("commit").take("hear_open", n=RIGHT)
    assert not state.holds("one_handle")


def test_a_rolled_back_close_leaves_a_stream_that_nobody_closes() -> None:
    """G-53, FO-09. The stream stays OPENED by a broker that has forgotten it, and a new owner is refused."""
    state = opened("EX-01").take("send_close", n=LEFT).take("close", n=LEFT).take("hear_close", n=LEFT)
    assert state.holds("owner_knows") is False  # The committed table has the stream OPENED already.
    state = state.take("change_controller").take("assign", n=RIGHT)
    label, _ = state.refusal("open", n=RIGHT) or ("", None)
    assert label == "ST-14"
    assert state.phase[LEFT] == Phase.IDLE


def test_a_repeated_open_waits_for_the_first_one() -> None:
    """EX-02. The repetition writes no record, and its answer waits for the record that it may show."""
    state = opening().take("lose_answer", n=LEFT).take("open", n=LEFT)
    assert state.answer[LEFT] == Reply.WAITING
    assert opening("EX-02").take("open", n=LEFT).answer[LEFT] == Reply.SENT


def test_a_repeated_open_is_answered_at_once_if_nothing_is_pending() -> None:
    """EX-02, ST-23. After the commit the repetition is answered at once."""
    state = opening().take("commit").take("lose_answer", n=LEFT).take("open", n=LEFT)
    assert state.answer[LEFT] == Reply.SENT


def test_a_late_close_of_a_former_owner_changes_nothing() -> None:
    """ST-38. The former owner, which has heard no answer, sends its close again after another broker has opened."""
    state = opened().take("send_close", n=LEFT).take("close", n=LEFT).take("commit").take("lose_answer", n=LEFT)
    state = state.take("assign", n=RIGHT).take("open", n=RIGHT).take("close", n=LEFT)
    assert state.opened[Table.MEMORY]
    assert state.answer[LEFT] == Reply.WAITING


@pytest.mark.parametrize(("label", "verdict"), [("EX-01@hear_close", "exhausted"), ("EX-01@hear_open", "violated")])
def test_only_an_early_answer_to_an_open_splits_the_stream(label: str, verdict: str) -> None:
    """G-53, INV-01. An early answer to a close never leads to two handles, nor to a handle without a lease."""
    faulty = remove_rules(compile_model(MetadataQuorum), [label])
    assert search(faulty, faulty.scopes["tiny"], properties=("INV-01",), engine="interpreter").verdict == verdict
