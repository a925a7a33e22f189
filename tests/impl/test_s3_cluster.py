"""Brokers on S3: streams are handed over and an owner crashes, and at the end every record is there once."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from impl.rules import without
from tests.impl.s3_place import STORES, Place
from tests.impl.s3_world import NODES, Batch, Send, Story, payload, problems


def variant(store: str, *, v6: bool, restarts: bool) -> Any:
    """The parameters of a test, with an id."""
    words = (store, "V6" if v6 else "legacy", "restart" if restarts else "failover")
    return pytest.param(store, v6, restarts, id=", ".join(words))


VARIANTS = [
    variant(store, v6=v6, restarts=restarts) for store, v6, restarts in product(STORES, (False, True), (False, True))
]
SOME = [
    variant("boto in process", v6=False, restarts=False),
    variant("boto in process", v6=True, restarts=True),
    variant("boto", v6=True, restarts=False),
    variant("obstore", v6=False, restarts=True),
]
"""Each store, version and way of recovery once, instead of all combinations."""


def check_story(place: Place, v6: bool, restarts: bool, records: int) -> None:
    """Everything acknowledged is read once, and the records went through S3."""
    store, bucket = place
    story = Story(store, v6=v6, records=records, restarts=restarts)
    story.run()
    check_use(story, bucket)
    assert story.problems() == []
    assert story.count("acknowledged") >= records
    assert story.count("refused")
    assert story.count("unknown")


def check_use(story: Story, bucket: Any) -> None:
    """WALs grew and were trimmed, objects were uploaded, compacted and deleted, and no operation failed."""
    counts = story.store.counts
    assert story.store.unsure == []
    assert counts["Put", "reservation"] == len(NODES) + 1, "each process and the recovery reserve a WAL"
    assert counts["Put", "wal"] > story.records // 70
    assert counts["Get", "reservation"] > counts["Put", "wal"], "each object of a WAL is verified (WL-05)"
    assert counts["Put", "object"] > story.records // 140
    held = Counter(each.key.partition("/")[0] for each in bucket.objects.all())
    assert held["reservation"] == len(NODES)
    for folder in ("wal", "object"):
        assert 0 < held[folder] < counts["Put", folder] // 2
        assert held[folder] == counts["Put", folder] - counts["Delete", folder]


@pytest.mark.parametrize(("place", "v6", "restarts"), SOME, indirect=["place"])
def test_nothing_is_lost_or_doubled(place: Place, v6: bool, restarts: bool) -> None:
    """Four streams are handed over twice, and an owner crashes with appends under way."""
    check_story(place, v6, restarts, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "v6", "restarts"), VARIANTS, indirect=["place"])
def test_nothing_of_20000_records_is_lost_or_doubled(place: Place, v6: bool, restarts: bool) -> None:
    """As above, with ten times the records, WAL objects and compactions."""
    check_story(place, v6, restarts, 20_000)


@pytest.mark.parametrize("place", ["boto in process"], indirect=True)
@pytest.mark.parametrize(
    ("label", "v6"), [("CL-08", False), ("RC-05", False), ("CL-07.wait", True), ("FO-06.barrier", True)]
)
def test_the_story_finds_a_missing_rule(place: Place, label: str, v6: bool) -> None:
    """Without the rule acknowledged batches are lost, even if the brokers get stuck before the story ends."""
    with without(label):
        story = Story(place[0], v6=v6, records=600, restarts=False)
        with suppress(AssertionError):
            story.run()
        assert any("lost" in problem for problem in story.problems())


# The check --------------------------------------------------------------------------------------------------------

SENDS = [
    Send(1, 2, "acknowledged", 0),
    Send(2, 1, "refused"),
    Send(3, 1, "unknown"),
    Send(4, 3, "acknowledged", 3),
    Send(5, 1, "unknown"),
]
ONE, TWO, THREE, FOUR = (payload(send.number, send.count) for send in SENDS[:4])


@pytest.mark.parametrize(
    ("batches", "found"),
    [
        ([(0, 2, ONE), (2, 1, THREE), (3, 3, FOUR)], []),
        ([(0, 2, ONE), (2, 1, THREE)], ["lost"]),
        ([(0, 2, ONE), (2, 3, FOUR)], ["lost"]),
        ([(0, 2, ONE), (3, 3, FOUR)], ["hole"]),
        ([(0, 2, ONE), (2, 1, THREE), (3, 3, FOUR), (6, 1, THREE)], ["twice"]),
        ([(0, 2, ONE), (2, 1, TWO), (3, 3, FOUR)], ["refused"]),
        ([(0, 2, ONE), (2, 1, b"other"), (3, 3, FOUR)], ["foreign"]),
        ([(0, 2, ONE), (2, 1, THREE), (3, 3, FOUR[:-1])], ["foreign", "lost"]),
        ([(0, 3, FOUR), (3, 2, ONE)], ["order", "lost", "lost"]),
        ([], ["lost", "lost"]),
    ],
)
def test_the_check_names_what_is_wrong(batches: list[Batch], found: list[str]) -> None:
    """Two batches were acknowledged, one was refused, and the fate of two is unknown."""
    assert [problem.partition(":")[0] for problem in problems(SENDS, batches)] == found
