"""Files of lines: a torn line is left out, a damaged one is an error, and a full disk is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.metadata.log import MetadataBatch
from impl.real.event_file import EventFile, read_events
from impl.real.line_file import LineFile, read_lines
from impl.real.metadata_file import MetadataFile
from impl.real.problems import ClusterError, DamagedLineError
from impl.records import AssignedStreamId

FULL = Path("/dev/full")


def written(path: Path) -> bytes:
    """The bytes of a file with three lines."""
    file = LineFile(path)
    for text in (b'{"a":1}', b"[]", b'"c"'):
        file.append(text)
    file.sync()
    file.close()
    return path.read_bytes()


def test_every_torn_end_is_left_out(tmp_path: Path) -> None:
    """However many bytes of the last line a kill has cut off, the lines before it are read."""
    path = tmp_path / "log"
    data = written(path)
    last = data.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(data)):
        path.write_bytes(data[:cut])
        assert read_lines(path) == ([b'{"a":1}', b"[]"], last)
    path.write_bytes(data)
    assert read_lines(path) == ([b'{"a":1}', b"[]", b'"c"'], len(data))


def test_every_other_change_is_damage(tmp_path: Path) -> None:
    """A changed byte anywhere but in a line without end is named with its line. A lost line end is damage, too."""
    path = tmp_path / "log"
    data = written(path)
    for place in range(len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(DamagedLineError, match=rf"{path}:\d: the line is damaged"):
            read_lines(path)


@pytest.mark.skipif(not FULL.exists(), reason="the system has no full device")
def test_a_full_disk_is_one_line() -> None:
    """The error names the file, the reason and the remedy."""
    file = LineFile(FULL)
    with pytest.raises(
        ClusterError, match=r"^/dev/full: cannot be written: No space left on device; free space[^\n]*$"
    ):
        file.append(b"{}")
    file.close()


def batch(number: int) -> MetadataBatch:
    """A batch that no other number has."""
    return MetadataBatch((AssignedStreamId(number),), term=1, time=number)


def test_the_metadata_log_comes_back(tmp_path: Path) -> None:
    """Batches and terms are read again; a torn batch is dropped, and the next one takes its place."""
    path = tmp_path / "metadata.log"
    log = MetadataFile(path)
    assert log.begin_term() == 1
    for number in range(3):
        log.append(number, batch(number))
    log.sync()
    path.write_bytes(path.read_bytes()[:-1])
    again = MetadataFile(path)
    assert (again.batches, again.term) == ([batch(0), batch(1)], 1)
    assert again.begin_term() == 2
    again.append(2, batch(7))
    again.sync()
    assert (MetadataFile(path).batches[2], MetadataFile(path).term) == (batch(7), 2)


def test_a_metadata_log_with_a_hole_is_refused(tmp_path: Path) -> None:
    """A line that is whole, but not the next one, is damage."""
    path = tmp_path / "metadata.log"
    log = MetadataFile(path)
    for number in range(3):
        log.append(number, batch(number))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(DamagedLineError, match="batch 2 follows 1 batches"):
        MetadataFile(path)
    with pytest.raises(ValueError, match="appends batch 9, but the log ends at 3"):
        log.append(9, batch(9))


def test_events_are_numbered(tmp_path: Path) -> None:
    """The lines of a file are numbered without gaps; a missing one is damage."""
    path = tmp_path / "b1.0.events"
    events = EventFile(path, "b1.0")
    for number in range(3):
        events.note(number, "start", node=number)
    lines, torn = read_events(path)
    assert [(line.at, line.number, line.process) for line in lines] == [(0, 1, "b1.0"), (1, 2, "b1.0"), (2, 3, "b1.0")]
    assert not torn
    texts = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(texts[0] + texts[2])
    with pytest.raises(DamagedLineError, match="the line has the number 3"):
        read_events(path)
    path.write_bytes(texts[0] + texts[1][:-3])
    assert [len(read_events(path)[0]), read_events(path)[1]] == [1, True]
