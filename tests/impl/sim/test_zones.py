"""Simulated clusters of three zones: clients speak to brokers of their zone, which forward what others lead."""

from __future__ import annotations

import pytest

from impl.broker import wal_format
from impl.broker.messages import FindLeaders, Produce, StepEvent, StoreRequest
from impl.metadata.log import MetadataBatch
from impl.records import Range, S3Stream, StreamState
from impl.sim.check import CheckResult, Question, check
from impl.sim.event_log import AppendedBatch, Event
from impl.sim.options import Options
from impl.sim.timeline import timeline
from impl.sim.visibility import beyond
from impl.sim.zones import ZoneTraffic, zone_of
from impl.store.interface import Delete, Put


def zoned(seed: int, faults: str = "all", without: tuple[str, ...] = (), switches: tuple[str, ...] = ()) -> CheckResult:
    """A run with three zones."""
    options = Options(partitions=4, zones=3, faults=faults)
    return check(Question(seed=seed, options=options, without=without, switches=switches))


@pytest.mark.parametrize("seed", range(2))
def test_no_data_cross_zones(seed: int) -> None:
    """Without faults, not one byte of what producers and consumers send and get leaves its zone."""
    found = zoned(seed, faults="none")
    assert (found.violations, found.error) == ((), None)
    counts = found.run.counts
    assert counts["bytes of data between zones"] == 0
    assert counts["bytes of data within zones"] > 100_000
    assert counts["bytes of metadata between zones"] > 0
    # A quarter of the records at most would have a leader in the zone of their client anyway.
    assert found.run.decided["M-22"] > 20


def test_bytes_count_where_they_go() -> None:
    """Batches and reads of clients are data, and all else is metadata; nodes and clients take turns in the zones."""
    traffic = ZoneTraffic(3)
    assert [zone_of(number, 3) for number in (1, 2, 3, 4)] == ["a", "b", "c", "a"]
    sent = Produce("t", 0, (b"12345",))
    traffic.client(1, 4, sent, sent)
    assert traffic.counts()["bytes of data within zones"] > 5
    assert traffic.counts()["bytes of data between zones"] == 0
    traffic.client(1, 2, sent, sent)
    traffic.client(1, 2, FindLeaders("t"), {})
    traffic.peers(1, 3, {"answers": b"12345"})
    counts = traffic.counts()
    assert counts["bytes of data between zones"] == counts["bytes of data within zones"]
    assert counts["bytes of metadata between zones"] > 0
    assert counts["bytes of metadata within zones"] == 0


def test_the_oracles_of_zones_have_something_to_judge() -> None:
    """A run writes links, shows partitions to other zones, trims channels, and commits route epochs."""
    events = zoned(0, faults="none").run.log.events
    steps = {subject.action for _, _, _, subject in events if isinstance(subject, StepEvent)}
    assert {"show", "report_route_epoch"} <= steps
    stored = [subject.operation for _, _, _, subject in events if isinstance(subject, StoreRequest)]
    deleted = [key for each in stored if isinstance(each, Delete) for key in each.keys]
    assert any(key.startswith("channel/") for key in deleted)
    logs = [each for each in stored if isinstance(each, Put) and each.key.startswith("wal/")]
    assert any(record.count < 0 for each in logs for _, record in wal_format.decode(each.data))


@pytest.mark.parametrize(
    "seed", [0, 3, pytest.param(8, marks=pytest.mark.slow), pytest.param(14, marks=pytest.mark.slow)]
)
def test_faults_lose_nothing(seed: int) -> None:
    """Under faults nothing is lost, doubled or out of order, no link dangles, and all epochs are committed at last."""
    found = zoned(seed)
    assert (found.violations, found.error) == ((), None)
    assert found.run.healed
    assert found.run.counts["acks"] > 100


@pytest.mark.slow
def test_many_runs_lose_nothing() -> None:
    """The same holds for many seeds, in which all rules of routing decide something."""
    decided: set[str] = set()
    for seed in range(100, 140):
        found = zoned(seed)
        assert (found.violations, found.error) == ((), None), seed
        decided |= set(found.run.decided)
    expected = {"M-05", "M-06", "M-09", "M-11", "M-12", "M-13", "M-14", "M-15", "M-16", "M-17", "M-18", "M-22", "M-23"}
    assert expected <= decided


# Oracles ----------------------------------------------------------------------------------------------------------


def step(action: str, **values: int) -> Event:
    """A step of a process in the log of a run."""
    return 0, "b1.0", "step", StepEvent(action, values)


def test_what_is_shown_was_confirmed() -> None:
    """By an ack before, or by the metadata: a recovery uploads records without an ack."""
    ack = step("ack", stream=7, base=4, count=2)
    committed = AppendedBatch(0, MetadataBatch((S3Stream(7, 0, 0, 0, StreamState.OPENED), Range(7, 0, 0, 0, 9, 1))))
    assert list(beyond([ack, step("show", stream=7, end=6)])) == []
    assert list(beyond([step("show", stream=7, end=6), ack])) == [
        "b1.0 shows stream 7 up to 6, and only 0 is confirmed"
    ]
    assert len(list(beyond([ack, step("show", stream=7, end=7)]))) == 1
    assert list(beyond([(0, "controller", "batch", committed), step("show", stream=7, end=9)])) == []


@pytest.mark.parametrize(
    ("label", "seed", "oracle"),
    [
        ("M-16", 0, "bound"),  # A main does not wait for the appends whose end it shows.
    ],
)
def test_a_missing_rule_is_found(label: str, seed: int, oracle: str) -> None:
    """Without the rule an oracle objects."""
    found = zoned(seed, faults="none", without=(label,))
    assert oracle in {each.oracle for each in found.violations}


def test_a_run_is_made_twice() -> None:
    """The same seed makes the same run: history, faults and figures."""
    one, two = zoned(5), zoned(5)
    assert list(one.run.history.lines()) == list(two.run.history.lines())
    assert (one.run.faults, one.run.counts, one.run.decided) == (two.run.faults, two.run.counts, two.run.decided)


def test_a_finding_has_a_timeline() -> None:
    """The steps of zone routing have no epoch of a stream, or no stream at all."""
    found = zoned(0, faults="none", without=("M-16",))
    rows = "\n".join(timeline(found.run))
    assert "to its zone" in rows
    assert "a link to [" in rows
    assert "report route epoch epoch" in rows
