"""Routed produce: the order of a connection, the write context and retries, and what each fault breaks."""

from __future__ import annotations

import pytest

from holdfast.check.live.engine import live
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from models.parts.produce_requests import Answer, Connection, Epoch, Phase, Producer, Record, Sequence
from models.parts.threads import Thread
from models.routed_produce import RoutedProduce

C = Connection.element(0)
R, Q, LATER = (Record.element(number) for number in range(3))
LOOP, OTHER = Thread.element(0), Thread.element(1)
FIRST, SECOND = Sequence(0), Sequence(1)
PLAIN, IDEMPOTENT = Producer.PLAIN, Producer.IDEMPOTENT


def begun(*removed: str) -> RoutedProduce:
    """The initial state of the scope tiny."""
    return RoutedProduce.at("tiny", removed=removed).start(c=C)


def produced(state: RoutedProduce, r: Record, s: Sequence, kind: Producer) -> RoutedProduce:
    """The state after the producer has sent a batch, and the main has read its record."""
    return state.take("produce", r=r, c=C, s=s, kind=kind, t=LOOP).take("arrive", r=r).take("read", r=r)


def waiting(state: RoutedProduce, r: Record, s: Sequence) -> RoutedProduce:
    """The state after a batch of a transaction has begun to wait for its check."""
    return produced(state, r, s, IDEMPOTENT).take("start_append", r=r, t=LOOP).take("check", r=r, t=LOOP)


def test_a_batch_is_stored_as_a_link_and_its_index_in_full() -> None:
    """M-20. The append of the batch takes the write context, so that the append of the index data finds none."""
    state = produced(begun(), R, FIRST, PLAIN).take("start_append", r=R, t=LOOP)
    assert state.context[LOOP] == R
    state = state.take("append", r=R, t=LOOP).take("append_index", r=R, t=LOOP)
    assert (state.link[R], state.index_link[R], state.runs[LOOP]) == (R, None, None)
    assert state.take("acknowledge", r=R).answer[C, FIRST] == Answer.NONE


def test_without_m_20_index_data_is_stored_as_a_link() -> None:
    """M-20. The context is still there when the index data is appended."""
    state = produced(begun("M-20"), R, FIRST, PLAIN).take("start_append", r=R, t=LOOP)
    state = state.take("append", r=R, t=LOOP).take("append_index", r=R, t=LOOP)
    assert (state.link[R], state.index_link[R]) == (R, R)
    assert not state.holds("index_is_stored_in_full")


@pytest.mark.parametrize(("removed", "link"), [([], R), (["M-21"], Q), (["M-21@check"], R), (["M-21@resume"], None)])
def test_a_batch_that_waits_keeps_its_own_link(removed: list[str], link: Record | None) -> None:
    """M-21. Two batches wait. Without the rule the first one gets the link of the second; with half of it, none."""
    state = waiting(waiting(begun(*removed), R, FIRST), Q, SECOND)
    state = state.take("resume", r=R, t=LOOP).take("append", r=R, t=LOOP)
    assert state.link[R] == link
    assert state.holds("stored_with_own_link") == (link != Q)


def test_a_stripe_waits_for_the_earlier_read() -> None:
    """M-22, ZR-28. Reads end in any order; a stripe hands the records over in the order in which they came."""
    state = begun().take("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP).take("arrive", r=R)
    state = produced(state, Q, SECOND, PLAIN)
    assert state.holds("read_out_of_order")
    assert state.refusal("start_append", r=Q, t=LOOP) == ("M-22", None)
    state = state.take("read", r=R)
    assert state.refusal("start_append", r=R, t=OTHER) == ("M-22.loop", None)
    state = state.take("start_append", r=R, t=LOOP)
    assert state.refusal("start_append", r=Q, t=LOOP) == ("ZR-28.thread", None)


def test_a_failed_read_holds_nobody_back() -> None:
    """ZR-28. After a failure the later batch is appended first, and the repeated one behind it."""
    state = begun().take("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP).take("arrive", r=R)
    state = produced(state, Q, SECOND, PLAIN).take("fail_read", r=R)
    assert state.answer[C, FIRST] == Answer.LEADER_NOT_AVAILABLE
    state = state.take("start_append", r=Q, t=LOOP).take("append", r=Q, t=LOOP).take("append_index", r=Q, t=LOOP)
    state = produced(state, LATER, FIRST, PLAIN).take("start_append", r=LATER, t=LOOP)
    after = state.take("append", r=LATER, t=LOOP)
    assert after.holds("appended_in_order", old=state, r=LATER, t=LOOP)


def test_a_fenced_epoch_is_repeated_under_a_new_one() -> None:
    """M-24, V-2. The main fails a request of a fenced epoch, and the producer sends the batch again."""
    state = begun().take("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP).take("bump").take("arrive", r=R)
    assert (state.phase[R], state.answer[C, FIRST]) == (Phase.FREE, Answer.LEADER_NOT_AVAILABLE)
    again = state.take("apply").take("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP)
    assert again.tag[R] == Epoch(3)
    assert again.take("arrive", r=R).phase[R] == Phase.ADMITTED


def test_without_m_24_a_fenced_epoch_is_fatal() -> None:
    """M-24. The producer gets UNKNOWN_SERVER_ERROR and does not send the batch again."""
    state = begun("M-24").take("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP).take("bump").take("arrive", r=R)
    assert state.answer[C, FIRST] == Answer.UNKNOWN_SERVER_ERROR
    assert state.refusal("produce", r=R, c=C, s=FIRST, kind=PLAIN, t=LOOP) == ("ZR-27.retry", None)


@pytest.mark.parametrize(("kind", "copies"), [(PLAIN, 2), (IDEMPOTENT, 1)])
def test_a_lost_answer_is_a_second_append_without_sequences(kind: Producer, copies: int) -> None:
    """ZR-29. A batch whose answer is lost is sent again. Only an idempotent producer's batch is appended once."""
    state = produced(begun(), R, FIRST, kind).take("lose", r=R).take("start_append", r=R, t=LOOP)
    state = state.take("append", r=R, t=LOOP).take("append_index", r=R, t=LOOP)
    state = produced(state, Q, FIRST, kind).take("start_append", r=Q, t=LOOP).take("append", r=Q, t=LOOP)
    assert [state.phase[r] for r in (R, Q)].count(Phase.APPENDED) == copies
    assert state.holds("appended_once")


def test_a_repeated_batch_overtakes_one_that_waits() -> None:
    """I-9. The second batch waits for its check, while the first one is sent again. Sequences keep the order."""
    state = begun().take("produce", r=R, c=C, s=FIRST, kind=IDEMPOTENT, t=LOOP).take("arrive", r=R)
    state = produced(state, Q, SECOND, IDEMPOTENT).take("fail_read", r=R)
    state = state.take("start_append", r=Q, t=LOOP).take("check", r=Q, t=LOOP)
    state = produced(state, LATER, FIRST, IDEMPOTENT).take("start_append", r=LATER, t=LOOP)
    state = state.take("append", r=LATER, t=LOOP).take("append_index", r=LATER, t=LOOP)
    assert state.ahead[Q, LATER]
    state = state.take("resume", r=Q, t=LOOP).take("append", r=Q, t=LOOP)
    assert state.holds("was_overtaken")
    assert state.holds("sequences_have_no_gap")


def test_a_batch_behind_a_gap_is_refused() -> None:
    """ZR-28. The producer of a batch behind a gap gets OUT_OF_ORDER_SEQUENCE_NUMBER, and may send it again."""
    state = produced(begun(), R, SECOND, IDEMPOTENT).take("start_append", r=R, t=LOOP).take("append", r=R, t=LOOP)
    assert (state.phase[R], state.runs[LOOP]) == (Phase.FREE, None)
    assert state.answer[C, SECOND] == Answer.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert state.refusal("produce", r=R, c=C, s=SECOND, kind=IDEMPOTENT, t=LOOP) is None


def system(*without: str) -> System:
    """The model without these rules."""
    return remove_rules(compile_model(RoutedProduce), without)


@pytest.mark.parametrize(
    ("label", "ids", "length"),
    [
        ("M-01", "I-3", 3),
        ("M-20", "I-13", 6),
        ("M-21", "I-13", 12),
        ("M-22", "I-9", 11),
        ("M-22.loop", "I-9", 10),
        pytest.param("M-21.transaction", "I-9", 12, marks=pytest.mark.slow),
        pytest.param("ZR-23", "I-9", 11, marks=pytest.mark.slow),
        ("ZR-28.sequence", "I-8", 5),
        pytest.param("ZR-29", "I-8", 12, marks=pytest.mark.slow),
    ],
)
def test_what_a_fault_breaks_first(label: str, ids: str, length: int) -> None:
    """Zone-routing.md 8: the property that each fault breaks first, and the length of the shortest run."""
    faulty = system(label)
    run = search(faulty, faulty.scopes["tiny"], engine="interpreter").findings[0]
    assert (run.shown.ids, run.length) == ((ids,), length)


@pytest.mark.slow
@pytest.mark.parametrize(("without", "verdict"), [((), "exhausted"), (("M-24",), "violated")])
def test_a_batch_is_acked_some_time(without: tuple[str, ...], verdict: str) -> None:
    """V-2. With retries every batch is acked; without M-24 a batch of a fenced epoch is not."""
    found = system(*without)
    assert live(found, found.scopes["live"]).verdict == verdict
