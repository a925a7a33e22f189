"""Snapshots: the order of their records, the round trip, and the flag that they lack as built (streams.md 15)."""

from __future__ import annotations

import random

import pytest

from impl import records as r
from impl.metadata import snapshot
from impl.metadata.image import Image, Stream
from impl.metadata.log import replay
from tests.impl.random_records import random_batches


def _image(*records: r.MetadataRecord) -> Image:
    return snapshot.load(records)


def test_the_records_stand_in_the_order_of_rt_02() -> None:
    """RT-02: assigned id, per stream (stream, ranges, SOs), per node (node, SSOs), entries, then all end offsets."""
    image = _image(
        r.NodeWALUncommittedOffsets(1, (r.UncommittedOffsets(0, 5, 9),)),
        r.S3StreamSetObject(1, 8, 8, 100),
        r.NodeWALMetadata(1, 4),
        r.S3Stream(1, 0, -1, 0, r.StreamState.CLOSED),
        r.S3Stream(0, 3, 1, 0, r.StreamState.OPENED),
        r.Range(0, 3, 1, 5, 9, 2),
        r.Range(0, 2, 0, 0, 5, 1),
        r.S3StreamObject(0, 0, 5, 7),
        r.AssignedStreamId(1),
        r.Topic("t"),
        r.KV((r.KeyValue("k", b"v"),)),
        r.S3Object(7, 10, r.ObjectState.COMMITTED, 3),
        r.AssignedS3ObjectId(8),
    )
    kinds = [record.KIND for record in snapshot.snapshot(image)]
    streams = ["ASID", "STREAM", "RANGE", "RANGE", "SO", "STREAM"]
    assert kinds == [*streams, "NODEWAL", "SSO", "UNC", "ENDOFF", "AOID", "OBJ+", "KV", "TOPIC"]


def test_a_snapshot_keeps_an_end_that_nothing_else_carries() -> None:
    """A commit lifts the end of a stream above its ranges and objects; the end offsets carry it."""
    image = _image(r.S3Stream(0, 0, -1, 0, r.StreamState.CLOSED), r.S3StreamEndOffsets(r.pack_end_offsets({0: 50})))
    assert _image(*snapshot.snapshot(image)).streams[0] == Stream(0, -1, 0, 50)


def test_the_failover_flag_is_lost_only_as_built() -> None:
    """AM-02: the image of the code as built has no failover flag, so a snapshot clears it."""
    image = _image(r.NodeWALMetadata(1, 4, failover_mode=True))
    assert snapshot.load(snapshot.snapshot(image)).nodes[1].failover
    as_built = snapshot.snapshot(image, frozenset({"AM-02"}))
    assert not snapshot.load(as_built).nodes[1].failover


@pytest.mark.parametrize("seed", range(20))
def test_a_snapshot_makes_its_image_again(seed: int) -> None:
    """A loaded snapshot gives the same records and the same bytes, and the rows are the same."""
    image = replay(random_batches(random.Random(seed), 100))
    data = snapshot.encode(snapshot.snapshot(image))
    loaded = snapshot.load(snapshot.decode(data))
    assert snapshot.encode(snapshot.snapshot(loaded)) == data
    for table in ("streams", "nodes", "objects", "kv", "brokers", "topics", "partitions", "ids"):
        assert getattr(loaded, table) == getattr(image, table)
    for table in ("ranges", "stream_objects", "set_objects", "entries", "opened_on"):
        rows, expected = getattr(loaded, table), getattr(image, table)
        assert {k: v for k, v in rows.items() if v} == {k: v for k, v in expected.items() if v}


def test_equal_images_give_equal_bytes_whatever_came_first() -> None:
    """The order in which rows were written leaves no trace."""
    rows = [r.KV((r.KeyValue(key, b""),)) for key in "abc"] + [r.BrokerRegistration(n, "active") for n in range(3)]
    forth, back = snapshot.snapshot(_image(*rows)), snapshot.snapshot(_image(*reversed(rows)))
    assert snapshot.encode(forth) == snapshot.encode(back)


def test_a_broker_is_a_broker_in_every_snapshot() -> None:
    """The bytes of a snapshot do not follow the name of the class: an older snapshot stays readable."""
    stored = b"\x91\x83\xa4type\xa6Broker\xa8brokerId\x03\xa5state\xa6active"
    records = [r.BrokerRegistration(3, "active")]
    assert snapshot.encode(records) == stored
    assert snapshot.decode(stored) == records
