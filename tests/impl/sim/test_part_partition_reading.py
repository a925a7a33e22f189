"""Runs of a partition under some leaders: random ones are sound, and the lack of a rule or of a step is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from impl.broker.messages import Command, Consume, FindLeaders, OfPartition, Produce
from impl.broker.partition import log, opening
from impl.broker.partition.api import Api
from impl.rules import without
from impl.sim.part_cases import partition_reading
from impl.sim.part_cases.leader_streams import META, DurableStream, has_clean_flag, write_older_flag
from impl.sim.part_cases.registry import judged_run
from impl.tasks import Gate
from tests.impl.sim.part_findings import findings

PART = "partition-reading"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("RA-16.read", "RA-16: a log that is being closed does not refuse a read"),
        ("RA-16", "RA-16: a log that is being closed does not refuse an append"),
        ("SP-09.scan", "SP-09: a leader scans a log that was closed in order"),
        ("RA-01.topic", "RA-01: a broker does not refuse an unknown topic"),
    ],
)
def test_a_missing_rule_is_noticed(label: str, expected: str) -> None:
    """Each rule has a finding of its own, and the same seeds give the same runs again."""
    with without(label):
        assert findings(PART) == {expected}
        runs = [judged_run(PART, seed) for seed in range(50)]
        assert [judged_run(PART, seed) for seed in range(50)] == runs


def test_a_broker_that_is_not_elected_is_noticed() -> None:
    """RA-16.leads: it has opened the log already, and would answer clients before the metadata name it."""
    with without("RA-16.leads"):
        said = "RA-16: a broker that does not lead does not refuse"
        assert findings(PART) == {f"{said} an append", f"{said} a read"}


def test_only_an_older_version_leaves_something_to_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """SP-09.scan: our own close stores the end of the log as the recovery point, so it leaves nothing to scan."""
    monkeypatch.setattr(partition_reading, "OLDER", 0.0)
    with without("SP-09.scan"):
        assert findings(PART) == set()


async def _no_scan(*_: Any) -> bool:
    return False


def _stays_clean(put: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, clean: put(self, clean=True)


def test_a_leader_that_scans_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash a torn batch stays in the log, and the producers lack the batches since the last close."""
    monkeypatch.setattr(opening, "_scan", _no_scan)
    assert findings(PART) >= {
        "INV-01: a leader does not answer a read of acknowledged batches",
        "I-8: a leader refuses the next batch of a producer",
    }


def test_a_flag_that_stays_true_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SP-09: the flag is false before a leader acknowledges its first batch."""
    monkeypatch.setattr(log.PartitionLog, "put_partition", _stays_clean(log.PartitionLog.put_partition))
    assert findings(PART) == {"SP-09: a batch is acknowledged while the log is said to be closed in order"}


def test_a_read_that_lacks_a_batch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that answers a read without its last batch, or without one in the middle."""
    read = log.PartitionLog.read

    async def shorter(self: log.PartitionLog, begin: int, end: int) -> list[Any]:
        return (await read(self, begin, end))[:-1]

    async def holed(self: log.PartitionLog, begin: int, end: int) -> list[Any]:
        found = await read(self, begin, end)
        return [each for place, each in enumerate(found) if place != 1]

    monkeypatch.setattr(log.PartitionLog, "read", shorter)
    assert "INV-01: a read lacks an acknowledged batch" in findings(PART, 50)
    monkeypatch.setattr(log.PartitionLog, "read", holed)
    assert "PL-13: a read of a partition has a hole" in findings(PART, 50)


def test_the_flag_of_an_older_version() -> None:
    """The last value of PARTITION counts."""
    meta = DurableStream()
    assert not has_clean_flag(meta)
    write_older_flag(meta, 3)
    assert has_clean_flag(meta)
    assert (meta.records[0].stream, meta.end) == (META, 1)


@pytest.mark.parametrize("body", [Consume, Produce, FindLeaders])
def test_a_command_without_an_answer_is_noticed(body: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that does what it is asked for, and never says so."""
    whole = Api._do

    async def silent(api: Api, command: Command, asked: OfPartition) -> dict[str, object]:
        done = await whole(api, command, asked)
        if isinstance(asked, body):
            await Gate[None](api._tasks).wait()
        return done

    monkeypatch.setattr(Api, "_do", silent)
    assert "LV-07: a leader does not answer a command, though nothing is under way" in findings(PART, 40)
