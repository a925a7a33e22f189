"""Snapshot reads, step by step: how a record becomes visible, the gap ZG-7, and what each guard prevents."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.parts.channels import Main
from models.parts.snapshots import LeaderEpoch
from models.parts.streams import Offset
from models.snapshot_read import SnapshotRead

OLD, NEW = Main.element(0), Main.element(1)


def begun(*variants: str, removed: tuple[str, ...] = ()) -> SnapshotRead:
    """The state in which the first main leads the empty partition."""
    return SnapshotRead.at("tiny", variants=variants, removed=removed).start(m=OLD)


def opened(state: SnapshotRead, m: Main) -> SnapshotRead:
    """The state after m has opened a session, and the upload for it has ended."""
    return state.take("open_session", m=m).take("upload")


def appended(state: SnapshotRead) -> SnapshotRead:
    """The state after one more record is durable and in the log cache."""
    return state.take("append").take("confirm").take("cache")


def answered(state: SnapshotRead, m: Main) -> SnapshotRead:
    """The state after m has sent a snapshot."""
    return state.take("collect", m=m).take("answer", m=m)


def replayed(state: SnapshotRead, m: Main, o: int, *, trimmed: bool = False) -> SnapshotRead:
    """The state after the reader has replayed the record at o."""
    return state.take("replay", m=m, o=Offset(o), trimmed=trimmed)


def shown(state: SnapshotRead, m: Main, *offsets: int) -> SnapshotRead:
    """The state after an answer of m is sent, replayed and applied."""
    state = answered(state, m)
    for o in offsets:
        state = replayed(state, m, o)
    return state.take("apply", m=m)


def cache_of(state: SnapshotRead) -> list[int]:
    """The offsets in the cache of the reader."""
    return [o for o in range(3) if state.held[Offset(o)]]


def test_a_record_becomes_visible() -> None:
    """ZR-39, ZR-47. A snapshot waits for its last append; the reader shows it only after the replay."""
    state = opened(begun(), OLD).take("append").take("collect", m=OLD)
    assert state.refusal("answer", m=OLD) == ("M-16", None)
    state = state.take("confirm").take("answer", m=OLD)
    assert state.refusal("apply", m=OLD) == ("ZR-47", None)
    state = replayed(state, OLD, 0).take("apply", m=OLD)
    assert (state.shown_by, state.end, cache_of(state)) == (OLD, Offset(1), [0])
    assert state.holds("ahead_of_upload")


def test_a_new_session_waits_for_its_upload() -> None:
    """ZR-40. Until the upload ends, the main sends no partition data; the reader could not read it."""
    state = appended(begun()).take("open_session", m=OLD)
    assert state.refusal("collect", m=OLD) == ("M-17", None)
    assert shown(state.take("upload"), OLD).holds("shown_is_readable")


def test_the_end_of_the_wal_is_read_after_the_wait() -> None:
    """M-16. The answer names the end of the WAL as it is when the main sends it, so that it covers the snapshot."""
    ends = []
    for removed in ((), ("M-16.after",)):
        state = opened(begun(removed=removed), OLD).take("append").take("collect", m=OLD)
        state = state.take("confirm").take("answer", m=OLD)
        ends.append((state.snapshot_end[OLD], state.wal_end[OLD]))
    assert ends == [(Offset(1), Offset(1)), (Offset(1), Offset(0))]


def test_a_session_is_not_replaced_while_an_answer_is_on_its_way() -> None:
    """ZR-44. The reader has one request on its way, so that no session begins before it has applied the answer."""
    state = answered(opened(begun(), OLD), OLD)
    assert state.refusal("replace_session", m=OLD) == ("ZR-44", None)
    assert state.take("apply", m=OLD).take("replace_session", m=OLD).shown_by is None


@pytest.mark.parametrize("removed", [(), ("ZR-51",)])
def test_a_lost_record_is_asked_for(removed: tuple[str, ...]) -> None:
    """ZR-51. If the cache loses a record that is not uploaded, the reader asks for its upload, and the read waits."""
    state = shown(appended(opened(begun(removed=removed), OLD)), OLD, 0).take("evict")
    assert state.holds("waits")
    assert state.holds("shown_is_readable") == (not removed)
    assert state.take("upload").holds("shown_is_readable")


def test_the_reader_does_not_ask_for_what_is_uploaded() -> None:
    """ZR-51. The loss of uploaded records needs no upload."""
    state = shown(appended(opened(begun(), OLD)), OLD, 0).take("upload").take("evict")
    assert (cache_of(state), state.committing[OLD]) == ([], False)


@pytest.mark.parametrize("removed", [(), ("ZR-51.dropped",)])
def test_dropped_replays_are_asked_for(removed: tuple[str, ...]) -> None:
    """ZR-51. A reader that drops replays asks for the upload of what they would have brought."""
    state = answered(appended(opened(begun(removed=removed), OLD)), OLD).take("drop_replays", m=OLD)
    state = state.take("apply", m=OLD)
    assert (state.end, cache_of(state)) == (Offset(1), [])
    assert state.holds("shown_is_readable") == (not removed)


def test_a_move_waits_for_the_upload() -> None:
    """F-19. A partition moves only after all its records are uploaded."""
    state = appended(begun())
    assert state.refusal("move", m=NEW) == ("F-19", None)
    assert state.take("upload").take("move", m=NEW).leader == NEW


def test_a_gap_clears_the_cache() -> None:
    """ZR-46. The replay of a trimmed record adds nothing, and the next record clears what lies below the gap."""
    state = appended(appended(shown(appended(opened(begun(), OLD)), OLD, 0))).take("upload")
    state = replayed(answered(state, OLD), OLD, 1, trimmed=True)
    state = replayed(state, OLD, 2)
    assert cache_of(state) == [2]
    assert state.holds("cache_has_no_hole")


def test_a_partition_that_is_opened_anew_stays_visible() -> None:
    """ZR-47. One answer removes the old epoch and adds the new one. In the other order nothing would be shown."""
    ends = []
    for removed in ((), ("M-19",)):
        state = shown(opened(begun(removed=removed), OLD), OLD)
        ends.append(shown(state.take("move", m=OLD), OLD).shown_by)
    assert ends == [OLD, None]


def overtaken(removed: tuple[str, ...] = ()) -> SnapshotRead:
    """The state in which the reader shows the newer main, and a snapshot of the older one is still on its way."""
    state = answered(opened(opened(begun(removed=removed), OLD), NEW), OLD).take("move", m=NEW)
    return shown(appended(state), NEW, 0)


def test_a_late_answer_of_an_old_owner_is_refused() -> None:
    """ZR-47, ZR-52. The ADD of the old epoch is refused and ends its session; the newer main stays shown."""
    state = overtaken()
    assert state.holds("overtaken")
    after = state.take("apply", m=OLD)
    assert (after.shown_by, after.shown_epoch, after.session[OLD]) == (NEW, LeaderEpoch(1), False)
    late = overtaken(removed=("M-19.epoch",))
    assert not late.take("apply", m=OLD).holds("shown_grows", old=late)


def test_after_a_lost_session_a_late_answer_is_taken() -> None:
    """I-10 holds within a session only: a reader that has lost the newer one falls back to the older epoch."""
    state = overtaken().take("replace_session", m=NEW)
    assert state.shown_by is None
    after = state.take("apply", m=OLD)
    assert (after.shown_by, after.shown_epoch, after.end) == (OLD, LeaderEpoch(0), Offset(0))


def test_a_baseline_above_the_log_cache_loses_a_record() -> None:
    """ZG-7. The upload of a new session misses a durable record below the baseline, and nothing replays it."""
    state = begun("early_baseline").take("append").take("confirm").take("open_session", m=OLD).take("upload")
    state = shown(state.take("cache"), OLD)
    assert not state.holds("shown_is_readable")


def test_the_remedy_of_the_facts_is_not_enough() -> None:
    """ZG-7. If a later end lies above the log cache and the replay is dropped, the upload misses the record too."""
    state = shown(opened(begun("early_ends"), OLD), OLD).take("collect", m=OLD)
    state = state.take("append").take("confirm").take("answer", m=OLD)
    state = state.take("drop_replays", m=OLD).take("apply", m=OLD).take("upload")
    assert not shown(state.take("cache"), OLD).holds("shown_is_readable")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("M-16", "I-10"),
        ("M-16.after", "I-11"),
        ("M-17", "I-11"),
        pytest.param("M-18", "I-11", marks=pytest.mark.slow),
        ("M-18.order", "I-11"),
        ("M-19.epoch", "I-10"),
    ],
)
def test_a_property_is_violated_without_its_guard(label: str, name: str) -> None:
    """The search finds a run that violates the property without the guard."""
    system = remove_rules(compile_model(SnapshotRead), (label,))
    assert search(system, system.scopes["tiny"], properties=(name,)).verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["early_baseline", "early_ends"])
def test_the_gap_violates_one_property_only(variant: str) -> None:
    """ZG-7. Both variants violate I-11 and no other property: what is shown is confirmed, and the cache is whole."""
    system = compile_model(SnapshotRead, variants=(variant,))
    assert search(system, system.scopes["tiny"], properties=("shown_is_readable",)).verdict == "violated"
    others = [each.name for each in system.of_kind("invariant", "step") if each.name != "shown_is_readable"]
    assert search(system, system.scopes["tiny"], properties=tuple(others)).verdict == "exhausted"
