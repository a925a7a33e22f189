"""Snapshot reads, step by step: how a record becomes visible, the gap ZG-7, and what each guard prevents."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.parts.channels import Main
from models.parts.streams import Offset
from models.snapshot_read import LeaderEpoch, SnapshotRead

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
        ("M-18.order", "I-11"),
        ("M-19.epoch", "I-10"),
    ],
)
def test_a_property_is_violated_without_its_guard(label: str, name: str) -> None:
    """The search finds a run that violates the property without the guard."""
    system = remove_rules(compile_model(SnapshotRead), (label,))
    assert search(system, system.scopes["tiny"], properties=(name,)).verdict == "violated"
