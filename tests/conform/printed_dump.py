"""Dumps in the format of ``kafka-dump-log.sh --cluster-metadata-decoder`` (DumpLogSegments of Kafka 3.3 to 3.9)."""

from __future__ import annotations

from base64 import b64encode
from struct import pack

HOME = "/data/__cluster_metadata-0"
TIME = 1651136586000


def base64(data: bytes) -> str:
    """Bytes as the tool prints them."""
    return b64encode(data).decode()


def payload(kind: str, version: int, data: str) -> str:
    """The payload of a record; ``data`` is JSON."""
    return f'{{"type":"{kind}","version":{version},"data":{data}}}'


FEATURE = payload("FEATURE_LEVEL_RECORD", 0, '{"name":"automq.version","featureLevel":7}')
ASSIGNED = payload("ASSIGNED_STREAM_ID_RECORD", 0, '{"assignedStreamId":0}')
STREAM = payload(
    "S3_STREAM_RECORD",
    1,
    '{"streamId":0,"epoch":-1,"rangeIndex":-1,"startOffset":0,"streamState":0,"tags":[{"key":"topic","value":"t"}]}',
)
PACKED = b"\x01" + pack(">qqqq", 0, 17, 5, 2**40)
"""Stream 0 ends at 17, stream 5 at 2**40."""
ENDS = payload("S3_STREAM_END_OFFSETS_RECORD", 0, f'{{"endOffsets":"{base64(PACKED)}"}}')
KEYS = payload("KVRECORD", 0, f'{{"keyValues":[{{"key":"__automq_node/1","value":"{base64(b"{i:1}")}"}}]}}')


def header(first: int, count: int, *, control: bool = False, epoch: int = 1) -> str:
    """The header of a batch."""
    return (
        f"baseOffset: {first} lastOffset: {first + count - 1} count: {count} baseSequence: -1 lastSequence: -1 "
        f"producerId: -1 producerEpoch: -1 partitionLeaderEpoch: {epoch} isTransactional: false "
        f"isControl: {str(control).lower()} deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: {TIME} "
        "size: 89 magic: 2 compresscodec: none crc: 1951170425 isvalid: true"
    )


def line(offset: int, text: str) -> str:
    """The line of a record; ``text`` is its payload."""
    return (
        f"| offset: {offset} CreateTime: {TIME + offset} keySize: -1 valueSize: {len(text)} sequence: -1 "
        f"headerKeys: [] payload: {text}"
    )


def control(offset: int, text: str) -> list[str]:
    """A batch with one record of the quorum."""
    record = f"| offset: {offset} CreateTime: {TIME} keySize: 4 valueSize: 19 sequence: -1 headerKeys: [] {text}"
    return [header(offset, 1, control=True), record]


def batch(first: int, *payloads: str) -> list[str]:
    """A batch with its records."""
    return [header(first, len(payloads)), *(line(first + place, text) for place, text in enumerate(payloads))]


def segment(first: int, *batches: list[str]) -> str:
    """The dump of a segment that begins at an offset."""
    lines = [f"Dumping {HOME}/{first:020}.log", f"Log starting offset: {first}"]
    return "\n".join([*lines, *(text for part in batches for text in part), ""])


def snapshot(end: int, *batches: list[str], epoch: int = 1) -> str:
    """The dump of a snapshot of the log below ``end``. The first batch has the offset 1."""
    lines = [f"Dumping {HOME}/{end:020}-{epoch:010}.checkpoint", f"Snapshot end offset: {end}, epoch: {epoch}"]
    last = 1 + sum(len(part) - 1 for part in batches)
    parts = [
        control(0, f'SnapshotHeader {{"version":0,"lastContainedLogTimestamp":{TIME}}}'),
        *batches,
        control(last, 'SnapshotFooter {"version":0}'),
    ]
    return "\n".join([*lines, *(text for part in parts for text in part), ""])


def bootstrap(*batches: list[str]) -> str:
    """The dump of the file that ``kafka-storage.sh format`` writes."""
    lines = ["Dumping /data/bootstrap.checkpoint", "KRaft bootstrap snapshot"]
    return "\n".join([*lines, *(text for part in batches for text in part), ""])


LEADER = control(0, "controlType: LEADER_CHANGE(2)")
WHOLE = segment(0, LEADER, batch(1, FEATURE, ASSIGNED, STREAM), batch(4, ENDS), batch(5, KEYS, ASSIGNED))
"""Offsets 0 to 6 in four batches."""
