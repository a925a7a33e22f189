"""Dumps of the metadata log: records, segments in any order, snapshots, and the reader's use of memory."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.check.conform.dumps.dump import read_dump
from holdfast.check.conform.dumps.dump_reader import DumpReader
from holdfast.check.conform.dumps.dump_record import DumpRecord, end_offsets
from holdfast.ir.errors import Place, UsageError
from impl.metadata.dump import write_dump
from impl.records import BrokerRegistration, S3StreamEndOffsets, unpack_end_offsets
from tests.conform.printed_dump import (
    ASSIGNED,
    ENDS,
    FEATURE,
    LEADER,
    STREAM,
    TIME,
    WHOLE,
    base64,
    batch,
    bootstrap,
    control,
    payload,
    segment,
    snapshot,
)
from tests.impl.random_records import random_batches


def read(folder: Path, *texts: str) -> list[DumpRecord]:
    """The records of dumps, each in a file of its own: 0.txt, 1.txt and so on."""
    paths = [folder / f"{place}.txt" for place in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return list(read_dump([str(path) for path in paths]))


def places(records: Iterable[DumpRecord]) -> list[tuple[int | None, int]]:
    """For each record, the end of its snapshot and its offset."""
    return [(record.batch.snapshot, record.offset) for record in records]


def log(*offsets: int) -> list[tuple[int | None, int]]:
    """The places of records of the log."""
    return [(None, offset) for offset in offsets]


# One segment --------------------------------------------------------------------------------------------------------


def test_a_record_has_its_type_data_and_place(tmp_path: Path) -> None:
    """The quorum's records are left out and other kinds are kept; lines count from 1."""
    records = read(tmp_path, WHOLE)
    assert [record.type for record in records[:3]] == [
        "FEATURE_LEVEL_RECORD",
        "ASSIGNED_STREAM_ID_RECORD",
        "S3_STREAM_RECORD",
    ]
    stream = records[2]
    assert (stream.version, stream.offset, stream.batch.first, stream.batch.last) == (1, 3, 1, 3)
    assert (stream.time, stream.batch.epoch, stream.at) == (TIME + 3, 1, Place(str(tmp_path / "0.txt"), 8))
    assert stream.data["tags"] == [{"key": "topic", "value": "t"}]
    assert places(records) == log(1, 2, 3, 4, 5, 6)


def test_bytes_are_decoded_where_a_record_has_them(tmp_path: Path) -> None:
    """Packed ends of streams, ranges of old objects and values of keys are decoded; similar text is not."""
    ranges = payload("S3_STREAM_SET_OBJECT_RECORD", 0, f'{{"nodeId":1,"ranges":"{base64(b"abc")}"}}')
    other = payload("TOPIC_RECORD", 0, f'{{"name":"{base64(b"abc")}"}}')
    set_object, topic = read(tmp_path, segment(0, batch(0, ranges, other)))
    assert (set_object.data["ranges"], topic.data["name"]) == (b"abc", "YWJj")
    assert [record.data for record in read(tmp_path, WHOLE)][4] == {
        "keyValues": [{"key": "__automq_node/1", "value": b"{i:1}"}]
    }


def test_fields_of_bytes_may_be_null_or_absent(tmp_path: Path) -> None:
    """The reader accepts null or absent fields of bytes, since the mapping decides which fields are required."""
    null = payload("S3_STREAM_SET_OBJECT_RECORD", 0, '{"ranges":null}')
    absent = payload("KVRECORD", 0, "{}")
    assert [record.data for record in read(tmp_path, segment(0, batch(0, null, absent)))] == [{"ranges": None}, {}]


def test_ends_of_streams_are_unpacked(tmp_path: Path) -> None:
    """Packed ends are one byte 1, then 16 bytes for each stream."""
    assert end_offsets(read(tmp_path, WHOLE)[3]) == ((0, 17), (5, 2**40))


@pytest.mark.parametrize(
    "text",
    [
        "controlType: LEADER_CHANGE(2)",
        "endTxnMarker: LEADER_CHANGE",
        "endTxnMarker: COMMIT coordinatorEpoch: 0",
        'KRaftVersion {"version":0,"kRaftVersion":1}',
        'KRaftVoters {"version":0,"voters":[{"voterId":1}]}',
        'SnapshotFooter {"version":0}',
    ],
)
def test_records_of_the_quorum_are_left_out(tmp_path: Path, text: str) -> None:
    """The quorum's records, which differ by release, are left out."""
    assert places(read(tmp_path, segment(0, control(0, text), batch(1, ASSIGNED)))) == log(1)


def test_older_releases_print_other_words(tmp_path: Path) -> None:
    """Dumps of Kafka 2.8 to 3.2 are read (no deleteHorizonMs, `Starting offset`, small letters), with any line ends."""
    old = WHOLE.replace(" deleteHorizonMs: OptionalLong.empty", "").replace("Log starting", "Starting")
    old = old.replace("keySize", "keysize").replace("valueSize", "valuesize").replace("none", "NONE")
    assert places(read(tmp_path, old.replace("\n", "\r\n"))) == log(1, 2, 3, 4, 5, 6)


def test_a_dump_may_lack_its_first_lines_and_its_last_line_end(tmp_path: Path) -> None:
    """Dumps without the first lines or the last line end, as `impl` or a pipe through grep or head gives, are read."""
    assert places(read(tmp_path, "\n".join(WHOLE.splitlines()[2:]))) == log(1, 2, 3, 4, 5, 6)
    assert read(tmp_path, segment(0)) == []


OF_BROKERS = ("REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD", "UNREGISTER_BROKER_RECORD")


@pytest.mark.parametrize("seed", range(10))
def test_what_impl_writes_is_read(tmp_path: Path, seed: int) -> None:
    """Dumps of `impl` are read record by record and batch by batch, and the packed ends equal `impl`'s."""
    batches = list(random_batches(random.Random(seed), 60))
    records = read(tmp_path, "\n".join(write_dump(batches)))
    written = [record for part in batches for record in part.records]
    assert [None if record.type in OF_BROKERS else record.type for record in records] == [
        None if isinstance(record, BrokerRegistration) else record.TYPE for record in written
    ]
    assert [record.offset for record in records] == list(range(len(written)))
    assert [record.batch.epoch for record in records] == [part.term for part in batches for _ in part.records]
    for record, wrote in zip(records, written, strict=True):
        if isinstance(wrote, S3StreamEndOffsets):
            assert dict(end_offsets(record)) == unpack_end_offsets(wrote.end_offsets)


# Several segments ---------------------------------------------------------------------------------------------------

LATE = segment(7, batch(7, ASSIGNED), batch(8, STREAM, ENDS))
LAST = segment(10, batch(10, ASSIGNED))


def test_segments_are_read_in_order(tmp_path: Path) -> None:
    """Segments are read in the order of their offsets, whatever their names; a segment may be empty."""
    for texts in ([WHOLE, LATE, LAST], [LAST, WHOLE, LATE], [segment(11), LATE, LAST, WHOLE]):
        assert places(read(tmp_path, *texts)) == log(*range(1, 11))


@pytest.mark.parametrize(("blank", "known"), [(0, True), (2, True), (3, False)])
def test_the_start_of_a_segment_is_among_its_first_four_lines(tmp_path: Path, blank: int, known: bool) -> None:
    """Segments are put in order by the starts in their first four lines; a later start does not count for the order."""
    texts = "\n" * blank + LATE, WHOLE
    if known:
        assert places(read(tmp_path, *texts)) == log(*range(1, 10))
    else:
        with pytest.raises(UsageError, match="the log goes on at offset 0, but it was read up to 10"):
            read(tmp_path, *texts)


def test_one_file_may_hold_several_segments(tmp_path: Path) -> None:
    """One file may hold several segments, as the tool prints them for `--files A,B`."""
    assert places(read(tmp_path, LAST, WHOLE + LATE)) == log(*range(1, 11))


def test_standard_input_is_a_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input may be the only dump, or one of several."""
    (tmp_path / "0.txt").write_text(WHOLE, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(LATE.encode())))
    records = list(read_dump(["-", str(tmp_path / "0.txt")]))
    assert places(records) == log(*range(1, 10))
    assert records[-1].at == Place("<stdin>", 7)


def test_a_log_may_begin_later(tmp_path: Path) -> None:
    """The log may begin at a later offset; the mapping decides about the unknown records before it."""
    assert places(read(tmp_path, LATE)) == log(7, 8, 9)


# Snapshots ----------------------------------------------------------------------------------------------------------

AT_8 = snapshot(8, batch(1, FEATURE, STREAM), batch(3, ASSIGNED))
AT_10 = snapshot(10, batch(1, STREAM), epoch=2)
IN_8, IN_10 = [(8, 1), (8, 2), (8, 3)], [(10, 1)]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([AT_8], IN_8),
        ([AT_8, segment(8, batch(8, STREAM, ENDS))], IN_8 + log(8, 9)),
        ([LATE, AT_8], IN_8 + log(8, 9)),  # The segment begins before the end of the snapshot.
        ([AT_8 + LATE], IN_8 + log(8, 9)),
        ([LAST, LATE, AT_8], IN_8 + log(8, 9, 10)),
        ([LATE, AT_8, AT_10, LAST], IN_8 + log(8, 9, 10)),  # The log has what the newer snapshot says.
        ([LAST, AT_10, AT_8, snapshot(3)], IN_10 + log(10)),  # The older ones are of no use.
        ([AT_8 + AT_10 + LAST], IN_8 + IN_10 + log(10)),  # Offsets 8 and 9 are missing.
        ([WHOLE, LATE, AT_8], log(*range(1, 10))),  # The whole log needs no snapshot.
        ([WHOLE + AT_8 + segment(8, batch(8, STREAM))], log(*range(1, 7)) + IN_8 + log(8)),
        ([WHOLE + LATE + AT_8 + LAST], log(*range(1, 11))),
        ([AT_10 + AT_8 + LAST], IN_10 + log(10)),
    ],
)
def test_a_snapshot_replaces_the_log_below_its_end(
    tmp_path: Path, texts: list[str], found: list[tuple[int | None, int]]
) -> None:
    """A snapshot is used if the log does not begin with offset 0 or has a gap."""
    assert places(read(tmp_path, *texts)) == found


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([WHOLE], True),
        ([LATE], False),
        ([AT_8], True),
        ([AT_8, LATE], True),
        ([bootstrap(batch(0, FEATURE)), LATE], False),
        ([segment(0)], True),
    ],
)
def test_a_reader_says_whether_records_are_missing(tmp_path: Path, texts: list[str], whole: bool) -> None:
    """A reader that a caller passes says afterwards whether the log was read from its begin, or from a snapshot on."""
    paths = [tmp_path / f"{place}.txt" for place in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    reader = DumpReader()
    assert not reader.whole
    list(read_dump([str(path) for path in paths], reader))
    assert reader.whole == whole


def test_a_bootstrap_snapshot_is_left_out(tmp_path: Path) -> None:
    """The bootstrap snapshot is left out, since the first controller writes its records to the log too."""
    assert places(read(tmp_path, bootstrap(batch(0, FEATURE)), WHOLE)) == log(1, 2, 3, 4, 5, 6)
    assert places(read(tmp_path, bootstrap(batch(0, FEATURE)) + segment(0, LEADER))) == []


# Streaming ----------------------------------------------------------------------------------------------------------


def test_a_record_is_handed_out_before_the_next_line_is_read() -> None:
    """The reader returns a record before it reads the next line, and keeps no lines and no records."""
    lines = WHOLE.encode().splitlines(keepends=True)
    taken = 0

    def source() -> Iterator[bytes]:
        nonlocal taken
        for text in lines:
            taken += 1
            yield text

    assert [taken for _ in DumpReader().read("log", source())] == [6, 7, 8, 10, 12, 13]


def test_only_whole_batches_of_a_cut_dump_are_taken_for_good(tmp_path: Path) -> None:
    """A dump cut after any byte is refused in one line, or gives whole batches from its beginning."""
    path = tmp_path / "cut.txt"
    whole = read(tmp_path, WHOLE)
    taken = set()
    for size in range(len(WHOLE)):
        path.write_text(WHOLE[:size], encoding="utf-8")
        refused, records = "", []
        try:
            records = list(read_dump([str(path)]))
        except UsageError as error:
            refused = str(error)
        assert not refused or (refused.startswith(f"{path}:") and "\n" not in refused)
        assert [record.data for record in records] == [record.data for record in whole[: len(records)]]
        taken.add(len(records))
    assert taken == {0, 3, 4, 6}
