"""Runs of a log cache: random ones are sound, and the lack of a rule or of a limit is noticed."""

from __future__ import annotations

import msgspec
import pytest

from impl.broker import log_cache
from impl.broker.log_cache import CacheBlock, CacheLimits, LogCache
from impl.broker.wal_format import WalRecord
from impl.rules import without
from impl.sim.part_cases.registry import judged_run
from impl.sim.violation import PartViolation

PART = "log-cache"


def _found() -> list[PartViolation | None]:
    return [judged_run(PART, seed) for seed in range(150)]


def test_a_missing_rule_is_noticed() -> None:
    """PL-11. A block leaves the cache before its commit, and the same seed makes the same run again."""
    with without("PL-11"):
        found = _found()
        assert _found() == found
    wanted = PartViolation("PL-11", "a record that no commit has covered is not in the cache")
    assert set(found) == {None, wanted}


# Caches that the judge must refuse --------------------------------------------------------------------------------


def test_a_cache_that_frees_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-11. Both limits, the one of the bytes and the one of the blocks, make room."""

    def commit(_: LogCache, block: CacheBlock) -> None:
        block.is_committed = True

    monkeypatch.setattr(LogCache, "commit", commit)
    assert {each.message for each in _found() if each is not None} == {
        "a cache with little room keeps records that are committed",
        "a cache with many blocks keeps one that is committed",
    }


def test_a_cache_without_a_limit_of_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-11. Many small blocks stay, though the oldest ones are committed."""
    monkeypatch.setattr(log_cache, "MOST_BLOCKS", 10_000)
    wanted = PartViolation("PL-11", "a cache with many blocks keeps one that is committed")
    assert set(_found()) == {None, wanted}


def test_a_block_that_is_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-10. An index could not count the offsets of the block."""
    monkeypatch.setattr(CacheBlock, "has_room", lambda *_: True)
    wanted = PartViolation("PL-10", "a block has more offsets of a stream than an index can count")
    assert set(_found()) == {None, wanted}


def test_a_cache_that_archives_no_full_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-10. Neither the bytes of a block nor the number of its streams end it."""
    whole = LogCache.__init__

    def unlimited(cache: LogCache, limits: CacheLimits) -> None:
        whole(cache, msgspec.structs.replace(limits, block=1 << 40, streams=1 << 40))

    monkeypatch.setattr(LogCache, "__init__", unlimited)
    assert PartViolation("PL-10", "a cache does not archive a block that is full") in _found()


def test_a_cache_that_reads_no_part_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-12. The newest records of a range are there, and the read returns none of them."""
    whole = LogCache.read

    def read(cache: LogCache, stream: int, begin: int, end: int) -> list[WalRecord]:
        found = whole(cache, stream, begin, end)
        return found if found and found[0].base <= begin else []

    monkeypatch.setattr(LogCache, "read", read)
    wanted = PartViolation("PL-12", "a read of the cache does not find the newest records of its range")
    assert set(_found()) == {None, wanted}
