"""Damaged dumps: each is refused with one line that begins with its file and line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.check.conform.dumps.dump import read_dump
from holdfast.check.conform.dumps.dump_record import END_OFFSETS, end_offsets
from holdfast.ir.errors import UsageError
from tests.conform.printed_dump import (
    ASSIGNED,
    ENDS,
    FEATURE,
    LEADER,
    STREAM,
    WHOLE,
    base64,
    batch,
    bootstrap,
    control,
    header,
    line,
    payload,
    segment,
    snapshot,
)

LINES = WHOLE.splitlines()
Edit = Callable[[list[str]], list[str]]


def without(number: int) -> Edit:
    """Remove a line, counted from 1."""
    return lambda lines: [text for place, text in enumerate(lines, 1) if place != number]


def twice(number: int) -> Edit:
    """Repeat a line."""
    return lambda lines: [*lines[:number], *lines[number - 1 :]]


def swapped(number: int) -> Edit:
    """Swap a line with the next one."""
    return lambda lines: [*lines[: number - 1], lines[number], lines[number - 1], *lines[number + 1 :]]


def edited(number: int, old: str, new: str) -> Edit:
    """Replace a text in a line."""

    def edit(lines: list[str]) -> list[str]:
        assert old in lines[number - 1]
        return [*lines[: number - 1], lines[number - 1].replace(old, new, 1), *lines[number:]]

    return edit


def put(number: int, text: str) -> Edit:
    """Insert a line before another."""
    return lambda lines: [*lines[: number - 1], text, *lines[number - 1 :]]


EDITS: list[tuple[Edit, int, str]] = [
    (without(2), 2, r"baseOffset.* is no line of a dump here"),
    (without(3), 3, r"the record at offset 0 belongs to no batch"),
    (without(4), 4, r"1 records of the batch at offset 0 are missing"),
    (without(5), 5, r"the record at offset 1 belongs to no batch"),
    (without(6), 6, r"the record has offset 2, but 1 comes next"),
    (without(8), 8, r"1 records of the batch at offset 1 are missing"),
    (without(9), 9, r"the record at offset 4 belongs to no batch"),
    (without(13), 12, r"1 records of the batch at offset 5 are missing"),
    (twice(1), 2, r"Dumping .* is no line of a dump here"),
    (twice(2), 3, r"Log starting offset: 0.* is no line of a dump here"),
    (twice(3), 4, r"1 records of the batch at offset 0 are missing"),
    (twice(5), 6, r"3 records of the batch at offset 1 are missing"),
    (twice(7), 8, r"the record has offset 2, but 3 comes next"),
    (twice(10), 11, r"the record at offset 4 belongs to no batch"),
    (swapped(1), 3, r"baseOffset: 0.* is no line of a dump here"),
    (swapped(6), 6, r"the record has offset 2, but 1 comes next"),
    (swapped(8), 8, r"1 records of the batch at offset 1 are missing"),
    (lambda lines: [*lines[:8], *lines[10:]], 9, r"the log goes on at offset 5; 4 is missing"),
    (lambda lines: [*lines[:4], *lines[10:]], 5, r"the log goes on at offset 5; 1 to 4 is missing"),
    (lambda lines: [*lines, *lines[8:]], 14, r"the log goes on at offset 4, but it was read up to 7"),
    (edited(2, "offset: 0", "offset: x"), 2, r"no line of a dump"),
    (edited(2, "offset: 0", "offset: 3"), 3, r"the log goes on at offset 0, but it was read up to 3"),
    (edited(5, "count: 3", "count: 2"), 5, r"a batch of 2 records has the offsets 1 to 3"),
    (edited(5, "lastOffset: 3", "lastOffset: 4"), 5, r"a batch of 3 records has the offsets 1 to 4"),
    (edited(5, "count: 3", "count: null"), 5, r"no line of a dump"),
    (edited(5, "count: 3", "count: 99999999999999999999"), 5, r"no line of a dump"),
    (edited(5, "isvalid: true", "isvalid: false"), 5, r"the batch at offset 1 is damaged"),
    (edited(5, "isvalid: true", "isvalid: tru"), 5, r"no line of a dump"),
    (edited(5, "isControl: false", "isControl: true"), 6, r"no line of a dump"),
    (edited(3, "isControl: true", "isControl: false"), 4, r"no line of a dump"),
    (edited(4, "LEADER_CHANGE(2)", "LEADER_CHANGE(2"), 4, r"no line of a dump"),
    (edited(4, "controlType: LEADER_CHANGE(2)", ""), 4, r"no line of a dump"),
    (edited(6, "offset: 1", "offset: 9"), 6, r"the record has offset 9, but 1 comes next"),
    (edited(6, "offset: 1", "offset: -1"), 6, r"no line of a dump"),
    (edited(6, "offset: 1", "offset: \u0661"), 6, r"no line of a dump"),
    (edited(6, "| offset", "offset"), 6, r"no line of a dump"),
    (edited(6, " payload: ", " "), 6, r"no line of a dump"),
    (edited(6, "payload: {", "payload: "), 6, r"is no JSON object; print the dump with --cluster-metadata-decoder"),
    (edited(6, "}}", "}"), 6, r"is no JSON object"),
    (edited(6, "}}", "}}}"), 6, r"is no JSON object"),
    (edited(6, ":7", ":NaN"), 6, r"NaN is no number of JSON; print the dump"),
    (edited(6, '"featureLevel":7', '"featureLevel":6,"featureLevel":7'), 6, r"Level. stands twice in one object"),
    (edited(6, '"featureLevel"', "featureLevel"), 6, r"is no JSON object"),
    (edited(6, FEATURE, ""), 6, r"is no JSON object"),
    (edited(6, FEATURE, "[1]"), 6, r"is no JSON object"),
    (edited(6, FEATURE, "[" * 20_000), 6, r"is no JSON object"),
    (edited(6, FEATURE, "\x00\x01þ\x05"), 6, r"is no JSON object"),
    (edited(6, ":7", ":" + "7" * 5000), 6, r"is no JSON object"),
    (edited(6, FEATURE, "Error at 1, skipping. Unknown record id 900"), 6, r"could not decode the record"),
    (edited(6, '"type"', '"kind"'), 6, r'it is \{"type": a text, "version": a number'),
    (edited(6, '"FEATURE_LEVEL_RECORD"', "12"), 6, r'it is \{"type": a text, "version": a number'),
    (edited(6, '"version":0', '"version":"0"'), 6, r'it is \{"type": a text, "version": a number'),
    (edited(6, '"version":0', '"version":true'), 6, r'it is \{"type": a text, "version": a number'),
    (edited(6, '"data":{', '"date":{'), 6, r'it is \{"type": a text, "version": a number'),
    (edited(6, FEATURE, payload("FEATURE_LEVEL_RECORD", 0, "[]")), 6, r'"data": \{…\}\}'),
    (edited(10, "AQAA", "AQA"), 10, r"S3_STREAM_END_OFFSETS_RECORD: .* has bytes that are no base64"),
    (edited(10, "AQAA", "AQ-A"), 10, r"has bytes that are no base64"),
    (edited(10, "AQAA", "AQ-AA"), 10, r"has bytes that are no base64"),
    (edited(12, "\"value\":\"", "\"value\":\"-"), 12, r"KVRECORD: .* no base64"),
    (edited(10, ENDS, payload(END_OFFSETS, 0, '{"endOffsets":7}')), 10, r"has bytes that are no base64"),
    (edited(12, "__automq_node/1\",\"value\":\"", "x\",\"value\":\"="), 12, r"KVRECORD: .* no base64"),
    (edited(12, "{\"keyValues\":[{", "{\"keyValues\":[1,{"), 12, r"KVRECORD: .* no base64"),
    (put(6, "Found 37 invalid bytes at the end of 0.log"), 6, r"delete this line to judge what stands before it"),
    (put(14, "Found 37 invalid bytes at the end of 0.log"), 14, r"delete this line to judge what stands before it"),
    (put(6, "SLF4J: Class path contains multiple bindings"), 6, r"SLF4J.* is no line of a dump here"),
    (put(14, "Non-consecutive offsets in /data/0.log"), 14, r"no line of a dump here"),
    (put(6, "| payload: " + ASSIGNED), 6, r"the record has no offset; print the dump without --skip-record-metadata"),
    (put(3, "offset: 3 position: 89"), 3, r"no line of a dump here"),
    (put(14, "Dumping /data/00000000000000000007.index"), 14, r"the start of the segment or snapshot is missing"),
    (put(14, "Log starting offset: 9"), 14, r"no line of a dump here"),
    (put(8, "Dumping /data/00000000000000000007.log"), 8, r"1 records of the batch at offset 1 are missing"),
    (lambda lines: [text for text in lines if not text.startswith("|")], 4, r"--cluster-metadata-decoder"),
    (lambda _: ["PK\x03\x04"], 1, r"no line of a dump here"),
    (lambda _: [], 1, r"the dump says nothing"),
    (lambda lines: lines[:1], 1, r"the start of the segment or snapshot is missing"),
]  # fmt: skip


def refusal(*paths: Path) -> str:
    """The one line of the error that refuses these dumps."""
    with pytest.raises(UsageError) as caught:
        list(read_dump([str(path) for path in paths]))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


@pytest.mark.parametrize(("edit", "number", "error"), EDITS)
def test_a_damaged_line_is_named(tmp_path: Path, edit: Edit, number: int, error: str) -> None:
    """The error names the damage and the remedy."""
    path = tmp_path / "dump.txt"
    path.write_text("".join(f"{text}\n" for text in edit(LINES)), encoding="utf-8")
    text = refusal(path)
    assert text.startswith(f"{path}:{number}: ")
    assert re.search(error, text)
    assert "; " in text


@pytest.mark.parametrize(
    ("cut", "number", "error"),
    [
        (WHOLE[:20], 1, r"the dump ends within the line"),
        (WHOLE[:70], 2, r"the dump ends within the line"),
        (WHOLE[:-1][: WHOLE.rindex("| offset")] + "| offset: 6 Cre", 13, r"the dump ends within the line"),
        (WHOLE[:-4], 13, r"the dump ends within the payload"),
        ("".join(f"{text}\n" for text in LINES[:8]) + LINES[8][:-3], 9, r"the dump ends within the line"),
    ],
)
def test_a_torn_last_line_is_named(tmp_path: Path, cut: str, number: int, error: str) -> None:
    """A torn last line, as after a full disk or a stopped tool, is named."""
    path = tmp_path / "dump.txt"
    path.write_text(cut, encoding="utf-8")
    text = refusal(path)
    assert text.startswith(f"{path}:{number}: ")
    assert re.search(error, text)


FOOTER = control(2, 'SnapshotFooter {"version":0}')
AT_8 = snapshot(8, batch(1, STREAM))


@pytest.mark.parametrize(
    ("texts", "place", "error"),
    [
        ([WHOLE, segment(9, batch(9, ASSIGNED))], "1.txt:2", r"the log goes on at offset 9; 7 to 8 is missing"),
        ([WHOLE, segment(8)], "1.txt:2", r"the log goes on at offset 8; 7 is missing"),
        ([WHOLE, segment(5, batch(5, ASSIGNED))], "1.txt:2", r"offset 5, but it was read up to 7"),
        ([WHOLE, WHOLE], "1.txt:2", r"the log at offset 0 is given twice, also in .*0.txt; give each once"),
        ([WHOLE + WHOLE], "0.txt:15", r"offset 0, but it was read up to 7"),
        ([segment(7, batch(7, ASSIGNED)) + WHOLE], "0.txt:6", r"offset 0, but it was read up to 8"),
        ([AT_8, snapshot(8, batch(1, STREAM), epoch=3)], "1.txt:2", r"the snapshot at offset 8 is given twice"),
        ([AT_8, segment(9, batch(9, STREAM))], "1.txt:2", r"the log goes on at offset 9; 8 is missing"),
        ([AT_8, segment(7, batch(7, STREAM, ASSIGNED))], "1.txt:3", r"the snapshot ends at 8, within this batch"),
        ([segment(7, batch(7, STREAM), batch(8, STREAM)) + AT_8], "0.txt:8", r"a file of its own"),
        (["\n".join(AT_8.splitlines()[:-2])], "0.txt:6", r"the snapshot has no SnapshotFooter"),
        (["\n".join([*AT_8.splitlines()[:-2], *WHOLE.splitlines()])], "0.txt:7", r"has no SnapshotFooter"),
        ([AT_8.replace("offset: 8", "offset: eight")], "0.txt:2", r"no line of a dump here"),
        ([AT_8.replace("baseOffset: 2 lastOffset: 2", "baseOffset: 3 lastOffset: 3")], "0.txt:7", r"2 is missing"),
        ([bootstrap(batch(1, FEATURE))], "0.txt:3", r"the log goes on at offset 1; 0 is missing"),
        ([WHOLE, ""], "1.txt:1", r"the dump says nothing"),
    ],
)  # fmt: skip
def test_segments_that_do_not_fit_are_named(tmp_path: Path, texts: list[str], place: str, error: str) -> None:
    """A gap, an overlap, a repeated segment, and a snapshot that is cut or of another log are each named."""
    paths = [tmp_path / f"{place}.txt" for place in range(len(texts))]
    for path, content in zip(paths, texts, strict=True):
        path.write_text(content, encoding="utf-8")
    text = refusal(*paths)
    assert text.startswith(f"{tmp_path}/{place}: ")
    assert re.search(error, text)


def test_a_file_that_is_given_twice_is_named(tmp_path: Path) -> None:
    """A file given twice is named, whatever its path; standard input counts as a file too."""
    path = tmp_path / "dump.txt"
    path.write_text(WHOLE, encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(path)
    assert "is given twice" in refusal(path, path)
    assert "is given twice" in refusal(path, tmp_path / "link.txt")
    path.write_text("hello\n", encoding="utf-8")
    assert refusal(path, path).startswith(f"{path}:1: the file is given twice, also in {path}; give each once")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, a folder, an impossible name and an empty list of files are each named."""
    assert "nothing.txt: cannot be read: No such file or directory; a dump is" in refusal(tmp_path / "nothing.txt")
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    assert "cannot be read: embedded null byte" in refusal(Path("a\0b"))
    assert "no dump is given" in refusal()


def test_a_segment_is_told_from_its_dump(tmp_path: Path) -> None:
    """For a binary segment the error names the command that makes a dump of it."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"\x00" * 8 + b"\x00\x00\x00\x59\x00\x00\x00\x01\x02\xff\xfe" * 9)
    assert refusal(path).endswith(":1: the line is no text; give what kafka-dump-log.sh prints, not the segment itself")


@pytest.mark.parametrize(
    ("packed", "error"),
    [
        (b"", r"begins with the bytes \"\"|begins with the bytes ''"),
        (b"\x02" + bytes(16), r"begins with the bytes '0200000000000000'; its first byte is 1"),
        (b"\x01" + bytes(15), r"has 16 bytes; after the first byte, each stream has 16"),
        (b"\x01" + b"\xff" * 16, r"stream -1 ends at -1; neither is below 0"),
    ],
)
def test_ends_of_another_form_are_named(tmp_path: Path, packed: bytes, error: str) -> None:
    """Another version of the packing, truncated data and a negative number are each named."""
    path = tmp_path / "dump.txt"
    path.write_text(segment(0, batch(0, payload(END_OFFSETS, 0, f'{{"endOffsets":"{base64(packed)}"}}'))))
    (record,) = read_dump([str(path)])
    with pytest.raises(UsageError, match=f"{path}:4: endOffsets .*(?:{error})"):
        end_offsets(record)


def test_a_record_without_ends_is_named(tmp_path: Path) -> None:
    """A record whose field of packed ends is absent is named."""
    path = tmp_path / "dump.txt"
    path.write_text(segment(0, batch(0, payload(END_OFFSETS, 0, "{}"))))
    (record,) = read_dump([str(path)])
    with pytest.raises(UsageError, match="endOffsets is null; it holds the ends of streams"):
        end_offsets(record)


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_is_refused_or_harmless(tmp_path: Path, seed: int) -> None:
    """If a byte is changed, lost or repeated, the reader raises only a UsageError of one line, if anything."""
    draw = random.Random(seed)
    whole = "\n".join([*LINES, header(7, 1), line(7, STREAM)]).encode() + LEADER[0].encode()
    path = tmp_path / "dump.txt"
    for _ in range(300):
        place = draw.randrange(len(whole))
        changed = [bytes([draw.randrange(256)]), b"", whole[place : place + 1] * 2][draw.randrange(3)]
        path.write_bytes(whole[:place] + changed + whole[place + 1 :])
        refused = ""
        try:
            list(read_dump([str(path)]))
        except UsageError as error:
            refused = str(error)
        assert not refused or re.fullmatch(rf"{re.escape(str(path))}:\d+: .+", refused)
