"""Partitions on S3: two moves, a cancel and a crash while producers send, and every record is read once."""

from __future__ import annotations

from itertools import product

import pytest

from impl.broker.partition.producers import Producers
from impl.client.contents import SendRecords
from impl.rules import without
from impl.store.memory import MemoryStore
from tests.impl.partition_story import HOMES, PartitionSend, PartitionStory
from tests.impl.s3_place import STORES, Place

GENERATIONS = {"legacy, G0": (False, False), "legacy, G1": (False, True), "V6": (True, True)}
"""By name: whether closes are fast, and whether a move's target asks for its election."""
VARIANTS = [
    pytest.param(store, *variant, id=f"{store}, {name}")
    for store, (name, variant) in product(STORES, GENERATIONS.items())
]


def check_story(place: Place, v6: bool, elects: bool, records: int) -> None:
    """Nothing is lost or doubled, and the order is kept."""
    store, bucket = place
    story = PartitionStory(store, v6=v6, elects=elects, records=records)
    story.run()
    check_events(story)
    check_reads(story)
    verdict = story.verdict({each.key: each.get()["Body"].read() for each in bucket.objects.all()})
    assert verdict.error is None
    assert verdict.violations == ()
    assert verdict.looked["acknowledged"] == sum(map(len, story.sent.values()))
    check_use(story)


def check_events(story: PartitionStory) -> None:
    """Partition 0 has moved, a move was cancelled, and after a crash another broker has led until the last move."""
    assert story.moves == 3
    assert story.cancelled == "ok"
    assert story.interrupted > 0
    assert [node for node, _ in story.failovers()] == [3]
    first, second, third, heir, last = story.leaders()
    assert (first, second, third, last) == (1, 2, 3, 3)
    assert heir in {1, 2}
    assert story.clients.lost > 0


def check_reads(story: PartitionStory) -> None:
    """The final reads have exactly the records of each sender, in the order of its sends."""
    total = 0
    for partition in range(len(HOMES)):
        end = 0
        for base, count, _ in story.read[partition]:
            assert base == end
            end += count
        total += end
        for sender, sends in story.sent.items():
            sent = [(each.value, each.count) for each in sends if each.partition == partition]
            values = {value for value, _ in sent}
            read = [(value, count) for _, count, value in story.read[partition] if value in values]
            assert read == sent, f"{sender}, partition {partition}"
    assert total == story.records


def check_use(story: PartitionStory) -> None:
    """The records went through S3: WALs were trimmed, objects were uploaded and compacted; and no operation failed."""
    counts = story.store.counts
    assert story.store.unsure == []
    for folder in ("wal", "object"):
        assert counts["Put", folder] > counts["Delete", folder] > 0
        assert counts["Get", folder] > 0


@pytest.mark.parametrize(
    ("place", "v6", "elects"), [each for each in VARIANTS if each.values[0] == STORES[0]], indirect=["place"]
)
def test_nothing_is_lost_or_doubled(place: Place, v6: bool, elects: bool) -> None:
    """A small run against moto in this process."""
    check_story(place, v6, elects, 800)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "v6", "elects"), VARIANTS, indirect=["place"])
def test_nothing_of_4000_records_is_lost_or_doubled(place: Place, v6: bool, elects: bool) -> None:
    """As above with 4,000 records, also against moto's server."""
    check_story(place, v6, elects, 4_000)


# The checks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("label", "v6", "elects"), [("RC-05", False, False), ("FO-06.barrier", True, True)])
def test_the_story_finds_a_missing_rule(label: str, v6: bool, elects: bool) -> None:
    """Without the rule the crashed owner's acknowledged records are lost."""
    store = MemoryStore()
    with without(label):
        story = PartitionStory(store, v6=v6, elects=elects, records=800)
        story.run()
    assert "lost" in found(story, store)
    with pytest.raises(AssertionError, match="sender"):
        check_reads(story)


def test_the_story_finds_records_that_are_there_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that does not recognise a repetition appends it again, and the story finds it."""
    monkeypatch.setattr(Producers, "check", lambda *_: None)
    store = MemoryStore()
    story = PartitionStory(store, v6=True, elects=True, records=800)
    story.run()
    assert "exactly once" in found(story, store)
    with pytest.raises(AssertionError, match="sender"):
        check_reads(story)


@pytest.mark.parametrize(
    "read", [[(0, 2, 1)], [(0, 2, 1), (2, 1, 2), (3, 2, 1)], [(0, 1, 2), (1, 2, 1)], [(0, 2, 1), (3, 1, 2)]], ids=str
)
def test_wrong_reads_are_refused(read: list[SendRecords]) -> None:
    """Value 1 with two records and value 2 with one were sent. A loss, repetition, wrong order and hole are found."""
    story = PartitionStory(MemoryStore(), v6=True, elects=True, records=3)
    story.sent = {"sender": [PartitionSend(0, 1, 2), PartitionSend(0, 2, 1)]}
    story.read = {0: [(0, 2, 1), (2, 1, 2)], 1: [], 2: []}
    check_reads(story)
    story.read[0] = read
    with pytest.raises(AssertionError):
        check_reads(story)


def found(story: PartitionStory, store: MemoryStore) -> set[str]:
    """The oracles that object to a story."""
    return {violation.oracle for violation in story.verdict(store.objects).violations}
