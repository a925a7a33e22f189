"""Dumps of the metadata log: the form of a line, the way back, and malformed lines."""

from __future__ import annotations

import json
import random

import pytest

from impl import records as r
from impl.metadata import snapshot
from impl.metadata.dump import DumpError, read_dump, write_dump, write_record
from impl.metadata.log import Batch, replay
from tests.impl.random_records import random_batches

PRINTED = """\
Dumping /data/__cluster_metadata-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 \
partitionLeaderEpoch: 1 isTransactional: false isControl: true deleteHorizonMs: OptionalLong.empty position: 0 \
CreateTime: 1651136586 size: 89 magic: 2 compresscodec: none crc: 1 isvalid: true
| offset: 0 CreateTime: 1651136586 keySize: 4 valueSize: 19 sequence: -1 headerKeys: [] endTxnMarker: LEADER_CHANGE
baseOffset: 1 lastOffset: 3 count: 3 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 \
partitionLeaderEpoch: 1 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 89 \
CreateTime: 1651136590 size: 200 magic: 2 compresscodec: none crc: 2 isvalid: true
| offset: 1 CreateTime: 1651136590 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: \
{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"automq.version","featureLevel":7}}
| offset: 2 CreateTime: 1651136590 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: \
{"type":"ASSIGNED_STREAM_ID_RECORD","version":0,"data":{"assignedStreamId":0}}
| offset: 3 CreateTime: 1651136590 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: \
{"type":"S3_STREAM_RECORD","version":1,"data":{"streamId":0,"epoch":-1,"rangeIndex":-1,"startOffset":0,\
"streamState":0,"tags":[{"key":"topic","value":"t"}]}}
"""


def test_a_printed_dump_is_read() -> None:
    """Headers, the quorum's own records and unknown types are skipped; one batch is left."""
    (batch,) = read_dump(PRINTED.splitlines())
    stream = r.S3Stream(0, -1, -1, 0, r.StreamState.CLOSED, (r.Tag("topic", "t"),))
    assert batch == Batch((r.AssignedStreamId(0), stream), term=1, time=1651136590)


def test_a_line_has_the_form_of_the_tool() -> None:
    """Names are camelCase, bytes are base64, and the version is that of streams.md 15."""
    record = r.S3StreamEndOffsets(r.pack_end_offsets({1: 2}))
    payload = '{"type":"S3_STREAM_END_OFFSETS_RECORD","version":0,"data":{"endOffsets":"AQAAAAAAAAABAAAAAAAAAAI="}}'
    _, line = write_dump([Batch((record,), term=3, time=9)], begin=12)
    assert line == (
        f"| offset: 12 CreateTime: 9 keySize: -1 valueSize: {len(payload)} sequence: -1 headerKeys: [] "
        f"payload: {payload}"
    )


def test_a_set_object_with_ranges_has_version_0() -> None:
    """Only version 0 of the record has the field (streams.md 15)."""
    versions = [json.loads(write_record(r.S3StreamSetObject(1, 2, 2, 0, ranges)))["version"] for ranges in (b"", b"x")]
    assert versions == [1, 0]


@pytest.mark.parametrize("seed", range(20))
def test_a_dump_makes_the_same_log(seed: int) -> None:
    """What is written is read back: the same batches, so the same image, byte for byte as a snapshot."""
    batches = list(random_batches(random.Random(seed), 60))
    read = list(read_dump(write_dump(batches)))
    assert read == batches
    images = (replay(read), replay(batches))
    first, second = (snapshot.encode(snapshot.snapshot(image)) for image in images)
    assert first == second


def test_records_of_kafka_about_topics_are_skipped() -> None:
    """Kafka names a partition by the id of its topic; such a record is none of ours."""
    data = '{"type":"PARTITION_RECORD","version":0,"data":{"partitionId":0,"topicId":"x","replicas":[1],"leader":1}}'
    head, line = write_dump([Batch((r.RemoveS3Stream(1),))])
    assert list(read_dump([head, line.partition("payload: ")[0] + f"payload: {data}"])) == []


@pytest.mark.parametrize(
    ("replaced", "by", "error"),
    [
        ('"streamId":0', '"streamID":0', "line 8: Object missing required field `streamId`"),
        ('"streamState":0', '"streamState":7', r"line 8: Invalid enum value 7"),
        ('"epoch":-1', '"epoch":"x"', "line 8: Expected `int`, got `str`"),
        ("}]}}\n", "}]\n", "line 8: "),
        ("| offset: 2", "offset 2", "line 7: a record or the header of a batch is expected, not 'offset 2"),
        ("| offset: 3", "| offset: 2", "line 8: offset 2 comes after offset 2"),
        ("baseOffset: 1 ", "baseOffset: 0 ", "line 5: a batch of 3 records with the offsets 0 to 3 after 0"),
        ("count: 3", "count: 2", "line 8: offset 3 belongs to no batch"),
        ("lastOffset: 3 count: 3", "lastOffset: 4 count: 4", "line 8: the dump ends, but 1 records .* are missing"),
        ("payload: {\"type\":\"ASS", "{\"type\":\"ASS", "line 7: the line has no payload"),
    ],
)  # fmt: skip
def test_a_malformed_line_is_named(replaced: str, by: str, error: str) -> None:
    """The error begins with the number of the line."""
    assert replaced in PRINTED
    with pytest.raises(DumpError, match=error):
        list(read_dump(PRINTED.replace(replaced, by).splitlines()))


def test_a_missing_line_is_noticed() -> None:
    """A batch that lacks a record ends the reading where the next batch begins."""
    lines = list(write_dump([Batch((r.RemoveS3Stream(1), r.RemoveS3Stream(2)))] * 2))
    del lines[1]
    with pytest.raises(DumpError, match="line 3: a batch begins, but 1 records of the last one are missing"):
        list(read_dump(lines))
