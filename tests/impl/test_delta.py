"""The difference that a broker sees, over one or several batches (RA-13)."""

from __future__ import annotations

import random

import pytest

from impl import records as r
from impl.controller import partitions
from impl.controller.node import Controller
from impl.metadata.delta import RowChange, learn
from impl.metadata.image import Entry, Image, StreamObject
from impl.metadata.log import MetadataBatch, replay
from tests.impl.random_records import random_batches


def _moved_and_back() -> tuple[Image, list[MetadataBatch]]:
    """The image before a move and its cancel, and the batches of both."""
    controller = Controller()
    for broker in (1, 2):
        controller.execute(lambda view, broker=broker: partitions.set_broker(view, broker, "active"))
    controller.execute(lambda view: partitions.create_topic(view, "t", [[1]], True))
    known = len(controller.log.batches)
    controller.execute(lambda view: partitions.alter(view, {"t": {0: [2]}}))
    controller.execute(lambda view: partitions.alter(view, {"t": {0: None}}))
    return replay(controller.log.batches[:known]), controller.log.batches[known:]


def test_steps_that_coalesce_show_no_other_broker() -> None:
    """RA-13: o, t, o as one step changes epochs and the leader, but o is the replica before and after: no close."""
    image, batches = _moved_and_back()
    (change,) = learn(image, batches).of("partitions")
    assert (change.before.replicas, change.after.replicas) == ((1,), (1,))
    assert change.after.leader_epoch > change.before.leader_epoch


def test_steps_one_by_one_show_the_way() -> None:
    """RA-13: a broker that sees both steps sees itself dropped in the first."""
    image, batches = _moved_and_back()
    seen = [next(learn(image, [batch]).of("partitions")).after.replicas for batch in batches]
    assert seen == [(2,), (1,)]


def test_a_row_that_comes_back_is_no_difference() -> None:
    """A row that is opened and fenced again, or removed and put again, is no difference."""
    image = replay([MetadataBatch((r.BrokerRegistration(1, "active"), r.KV((r.KeyValue("k", b"v"),))))])
    there = MetadataBatch((r.BrokerRegistration(1, "fenced"), r.RemoveKV(("k",))))
    back = MetadataBatch((r.BrokerRegistration(1, "active"), r.KV((r.KeyValue("k", b"v"),))))
    assert learn(image, [there, back]).changes == ()


def test_nested_rows_have_pairs_as_keys() -> None:
    """A change names its table, its keys, and the row before and after."""
    image = replay([MetadataBatch((r.S3Stream(3, 0, -1, 0, r.StreamState.CLOSED), r.S3StreamObject(3, 0, 5, 8)))])
    entry = r.NodeWALUncommittedOffsets(1, (r.UncommittedOffsets(3, 5, 9),))
    delta = learn(image, [MetadataBatch((r.RemoveS3StreamObject(3, 8), entry))])
    assert delta.changes == (
        RowChange("stream_objects", (3, 8), StreamObject(0, 5), None),
        RowChange("entries", (1, 3), None, Entry(5, 9)),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_delta_is_the_difference_of_two_images(seed: int) -> None:
    """Whatever the batches and however they are cut, the changes are those between the images before and after."""
    draw = random.Random(seed)
    batches = list(random_batches(draw, 80))
    image = Image()
    known = 0
    while known < len(batches):
        taken = draw.randint(1, 9)
        before = _rows(replay(batches[:known]))
        changes = learn(image, batches[known : known + taken]).changes
        known += taken
        after = _rows(image)
        expected = {key: (before.get(key), after.get(key)) for key in {*before, *after}}
        expected = {key: pair for key, pair in expected.items() if pair[0] != pair[1]}
        assert {(each.table, each.key): (each.before, each.after) for each in changes} == expected


def _rows(image: Image) -> dict[tuple[str, object], object]:
    flat = ("streams", "nodes", "objects", "kv", "brokers", "topics", "partitions", "ids")
    rows = {(name, key): row for name in flat for key, row in getattr(image, name).items()}
    for name in ("ranges", "stream_objects", "set_objects", "entries"):
        for outer, table in getattr(image, name).items():
            rows.update({(name, (outer, key)): row for key, row in table.items()})
    return rows
