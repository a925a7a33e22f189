"""Runs of a stream handle: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from impl.broker.wal_format import WalRecord
from impl.rules import without
from impl.sim.part_cases.handle_world import HandleStorage
from impl.sim.part_cases.registry import judged_run
from impl.sim.part_cases.stream_handle import HandleRun
from impl.sim.tape import stream

PART = "stream-handle"


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("CL-02", {"INV-13", "CL-07"}),
        ("CL-02.count", {"CL-02"}),
        ("CL-04", {"INV-13", "CL-04"}),
        ("CL-05.confirm", {"CL-05"}),
        ("CL-05.flags", {"CL-04", "CL-07"}),
        ("CL-05.start", {"CL-06"}),
        ("CL-06", {"CL-06"}),
        ("CL-06.chain", {"CL-06"}),
        ("CL-06.confirm", {"CL-06"}),
        ("CL-07.flag", {"CL-07"}),
        ("CL-07.wait", {"CL-07", "CL-08"}),
        ("CL-08", {"CL-08"}),
        ("CL-08.confirm", {"CL-08"}),
    ],
)
def test_a_missing_rule_is_noticed(label: str, violated: set[str]) -> None:
    """Some run violates what the rule protects, and the same seed makes the same run again."""
    with without(label):
        found = [judged_run(PART, seed) for seed in range(500)]
        assert [judged_run(PART, seed) for seed in range(500)] == found
    assert {each.label for each in found if each is not None} == violated


# Histories that the judge must refuse -----------------------------------------------------------------------------


def _numbers() -> Iterator[float]:
    """The middle of the range, for ever."""
    while True:
        yield 0.5


def test_a_batch_behind_a_failed_one_is_a_hole() -> None:
    """INV-13. A handle without CL-04 acknowledges the batch after the failed one."""
    with without("CL-04"):
        run = HandleRun(_numbers().__next__)
        run.append()
        run.settle()
        run.storage.fail(0)
        run.append()
        run.settle()
        assert run.found is None
        run.storage.store()
        run.settle()
    assert run.found is not None
    assert run.found.label == "INV-13"


def test_an_acknowledgement_without_a_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """CL-03. A storage that loses what it acknowledges is noticed at the first acknowledgement."""

    async def lost(_: HandleStorage, record: WalRecord, link: WalRecord | None = None) -> None:
        assert (record.stream, link) == (7, None)

    monkeypatch.setattr(HandleStorage, "append", lost)
    found = [run.found for seed in range(20) if (run := _played(seed)).found is not None]
    assert {each.label for each in found} == {"CL-03"}


def _played(seed: int) -> HandleRun:
    run = HandleRun(stream(seed, PART))
    run.play()
    return run
