"""Dumps of the metadata log: the form of a line, the round trip, and malformed lines."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from impl import records as r
from impl.metadata import snapshot
from impl.metadata.dump import DumpError, read_dump, write_dump
from impl.metadata.kafka import uuid
from impl.metadata.log import MetadataBatch, replay
from impl.scenario.language import read_file
from impl.scenario.runner import run
from impl.scenario.session import ScenarioSession
from tests.docs.fences import ROOT
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
    assert batch == MetadataBatch((r.AssignedStreamId(0), stream), term=1, time=1651136590)


def test_a_line_has_the_form_of_the_tool() -> None:
    """Names are camelCase, bytes are base64, and the version is that of streams.md 15."""
    record = r.S3StreamEndOffsets(r.pack_end_offsets({1: 2}))
    payload = '{"type":"S3_STREAM_END_OFFSETS_RECORD","version":0,"data":{"endOffsets":"AQAAAAAAAAABAAAAAAAAAAI="}}'
    _, line = write_dump([MetadataBatch((record,), term=3, time=9)], begin=12)
    assert line == (
        f"| offset: 12 CreateTime: 9 keySize: -1 valueSize: {len(payload)} sequence: -1 headerKeys: [] "
        f"payload: {payload}"
    )


def test_a_set_object_with_ranges_has_version_0() -> None:
    """Only version 0 of the record has the field (streams.md 15)."""
    versions = [_payload(r.S3StreamSetObject(1, 2, 2, 0, ranges))["version"] for ranges in (b"", b"x")]
    assert versions == [1, 0]


@pytest.mark.parametrize("seed", range(20))
def test_a_dump_makes_the_same_log(seed: int) -> None:
    """A dump is read back as the same batches, so its image is the same, byte for byte as a snapshot."""
    batches = list(random_batches(random.Random(seed), 60))
    read = list(read_dump(write_dump(batches)))
    assert read == batches
    images = (replay(read), replay(batches))
    first, second = (snapshot.encode(snapshot.snapshot(image)) for image in images)
    assert first == second


SCENARIOS = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_log_of_a_scenario_makes_the_same_image(path: Path) -> None:
    """With the brokers, topics and partitions of a controller: as batches, and byte for byte as a snapshot."""
    for scenario in read_file(path):
        worlds: list[ScenarioSession] = []
        run(scenario, after=lambda world, _, worlds=worlds: worlds.append(world))
        log = worlds[-1].controller.log
        read = list(read_dump(write_dump(log.batches)))
        assert read == list(log.batches)
        first, second = (snapshot.encode(snapshot.snapshot(image)) for image in (log.image, replay(read)))
        assert first == second


def test_topics_and_partitions_have_the_form_of_kafka() -> None:
    """Names are those of Kafka's schemas. A change has only changed fields, and a topic is named by its id."""
    t = uuid("t")
    partition = r.Partition("t", 2, (0,), (0,), 0)
    change = r.PartitionChange("t", 2, isr=(1,), leader=-1, replicas=(1,), original=(0,), marker=4)
    assert [tuple(each.values()) for each in _payloads(r.Topic("t", True), partition, change)] == [
        ("TOPIC_RECORD", 0, {"name": "t", "topicId": t, "elastic": True}),
        (
            "PARTITION_RECORD",
            0,
            {"partitionId": 2, "topicId": t, "replicas": [0], "isr": [0], "leader": 0, "leaderEpoch": 0}
            | {"partitionEpoch": 0, "addingReplicas": [], "removingReplicas": [], "leaderRecoveryState": 0},
        ),
        (
            "PARTITION_CHANGE_RECORD",
            0,
            {"partitionId": 2, "topicId": t, "isr": [1], "leader": -1, "replicas": [1]}
            | {"originalReplicas": [0], "marker": 4},
        ),
    ]
    assert len(t) == 22


def test_brokers_have_the_form_of_kafka() -> None:
    """A broker registers; a change says only what changes; only a new registration ends a controlled shutdown."""
    states = ("active", "fenced", "shutting_down", "fenced", "active", "gone", "fenced")
    written = _payloads(*(r.BrokerRegistration(7, state) for state in states))
    assert [payload["type"].removesuffix("_RECORD") for payload in written] == [
        *("REGISTER_BROKER", "BROKER_REGISTRATION_CHANGE", "BROKER_REGISTRATION_CHANGE", "BROKER_REGISTRATION_CHANGE"),
        *("REGISTER_BROKER", "UNREGISTER_BROKER", "REGISTER_BROKER"),
    ]
    flags = [(payload["data"].get("fenced"), payload["data"].get("inControlledShutdown")) for payload in written]
    assert flags == [(False, False), (1, None), (-1, 1), (1, None), (False, False), (None, None), (True, False)]
    assert [payload["data"]["brokerEpoch"] for payload in written] == [0, 0, 0, 0, 4, 4, 6]
    assert list(written[0]["data"]) == [
        *("brokerId", "incarnationId", "brokerEpoch", "endPoints", "features", "rack", "fenced", "inControlledShutdown")
    ]


FOREIGN = (
    ("PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "leader": 1}),
    ("BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 5, "fenced": -1}),
    ("TOPIC_RECORD", {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}),
    (
        "PARTITION_RECORD",
        {"partitionId": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "replicas": [1, 2], "isr": [1], "leader": 1}
        | {"removingReplicas": [], "addingReplicas": [], "leaderEpoch": 3, "partitionEpoch": 4}
        | {"directories": ["AAAAAAAAAAAAAAAAAAAAAA"]},
    ),
    ("PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "leader": -1}),
    ("REGISTER_BROKER_RECORD", {"brokerId": 1, "brokerEpoch": 5, "fenced": True, "rack": None}),
    ("BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 5, "fenced": -1}),
)


def test_records_of_kafka_are_read() -> None:
    """Changes of unnamed topics and brokers are skipped, and so are fields that the records here lack."""
    lines = list(write_dump([MetadataBatch((r.RemoveS3Stream(1),) * len(FOREIGN))]))
    for place, (kind, data) in enumerate(FOREIGN, start=1):
        payload = json.dumps({"type": kind, "version": 1, "data": data})
        lines[place] = lines[place].partition("payload: ")[0] + f"payload: {payload}"
    (batch,) = read_dump(lines)
    assert batch.records == (
        r.Topic("t"),
        r.Partition("t", 0, (1, 2), (1,), 1, leader_epoch=3, partition_epoch=4),
        r.PartitionChange("t", 0, leader=-1),
        *(r.BrokerRegistration(1, "fenced"), r.BrokerRegistration(1, "active")),
    )
    without_name = [line.replace('"name": "t", ', "") for line in lines]
    with pytest.raises(DumpError, match="line 4: Object missing required field `name`"):
        list(read_dump(without_name))


def _payloads(*records: r.MetadataRecord) -> list[dict[str, Any]]:
    """The payloads of the records of one batch."""
    _, *lines = write_dump([MetadataBatch(records)])
    return [json.loads(line.partition("payload: ")[2]) for line in lines]


def _payload(record: r.MetadataRecord) -> dict[str, Any]:
    return _payloads(record)[0]


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
    lines = list(write_dump([MetadataBatch((r.RemoveS3Stream(1), r.RemoveS3Stream(2)))] * 2))
    del lines[1]
    with pytest.raises(DumpError, match="line 3: a batch begins, but 1 records of the last one are missing"):
        list(read_dump(lines))
