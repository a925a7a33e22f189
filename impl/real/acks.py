"""The sends of ``holdfast cluster produce`` that were acknowledged: a file, and the check of a read against it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec

from impl.client.contents import SendRecords
from impl.real.line_file import LineFile, read_lines


class AckedSend(msgspec.Struct, frozen=True):
    """A send of ``count`` records with a value, which begin at an offset of a partition."""

    partition: int
    value: int
    count: int
    offset: int


class ReadCheck(msgspec.Struct, frozen=True):
    """Numbers of records: those read, those acknowledged, and of the latter, those missing and those there twice."""

    read: int
    acked: int
    lost: int
    twice: int


class AckFile:
    """The acknowledged sends of a topic, beside the addresses of the cluster. A line is written after each ack."""

    def __init__(self, folder: Path, topic: str) -> None:
        self._path = _path(folder, topic)
        self._file: LineFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, send: AckedSend) -> None:
        """Add a send; the first one makes the file. Raises ClusterError if it cannot be written."""
        if self._file is None:
            self._file = LineFile(self._path)
        self._file.append(msgspec.json.encode(send))

    @staticmethod
    def read(folder: Path, topic: str) -> list[AckedSend]:
        """All sends of a topic that were acknowledged. Raises ClusterError if the file is damaged."""
        path = _path(folder, topic)
        texts = read_lines(path)[0] if path.exists() else []
        return [msgspec.json.decode(text, type=AckedSend) for text in texts]


def check(acked: Iterable[AckedSend], found: Iterable[tuple[int, SendRecords]]) -> ReadCheck:
    """Compare acknowledged sends with all records of a topic, each with its partition."""
    places: dict[tuple[int, int], list[tuple[int, int]]] = {}
    read = 0
    for partition, (base, count, value) in found:
        read += count
        places.setdefault((partition, value), []).append((base, count))
    total = lost = twice = 0
    for send in acked:
        total += send.count
        there = places.get((send.partition, send.value), [])
        lost += 0 if (send.offset, send.count) in there else send.count
        twice += sum(count for _, count in there[1:])
    return ReadCheck(read, total, lost, twice)


def _path(folder: Path, topic: str) -> Path:
    return folder / f"{topic}.acks"
