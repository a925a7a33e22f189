"""Runs of a broker's storage: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.broker.storage import Storage
from impl.broker.uploader import Uploader
from impl.broker.wal_format import WalRecord
from impl.rules import without
from impl.sim.part_cases.registry import judged_run

PART, SEEDS = "storage", range(120)


def _labels() -> set[str]:
    """The labels of the violations of some runs."""
    return {each.label for each in (judged_run(PART, seed) for seed in SEEDS) if each is not None}


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("PL-01.cache", {"PL-01"}),
        ("PL-01.queue", {"PL-01"}),
        ("PL-01.stopped", {"PL-26"}),
        ("PL-04", {"PL-04"}),
        ("PL-11", {"PL-11"}),
        ("PL-20.early", {"PL-20"}),
        ("PL-22", {"PL-22", "PL-25"}),
        ("PL-22.prepare", {"PL-22"}),
        ("PL-25", {"PL-25"}),
    ],
)
def test_a_missing_rule_is_noticed(label: str, violated: set[str]) -> None:
    """Some run violates what the rule protects."""
    with without(label):
        assert _labels() == violated


# Storages that the judge must refuse ------------------------------------------------------------------------------


def test_an_early_acknowledgement_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-03. A storage that waits for nothing acknowledges what the WAL may not have."""

    async def append(_: Storage, record: WalRecord) -> None:
        assert record.count > 0

    monkeypatch.setattr(Storage, "append", append)
    assert _labels() == {"PL-03"}


def test_a_shutdown_that_does_not_wait_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-26. The shutdown ends while uploads are under way."""

    async def flush(uploader: Uploader) -> None:
        uploader.archive()

    monkeypatch.setattr(Uploader, "flush", flush)
    assert _labels() == {"PL-26"}


def test_a_forced_upload_that_does_not_wait_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-24. The barrier of a stream opens before its records are in objects."""

    async def barrier(_: Uploader, stream: int) -> None:
        assert stream >= 0

    monkeypatch.setattr(Uploader, "barrier", barrier)
    assert _labels() == {"PL-24"}
