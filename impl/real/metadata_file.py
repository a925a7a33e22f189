"""The metadata log of a controller on disk: each batch is a line, and each term of the controller is one.

The quorum is this one process. Models and simulator use the quorum as a service: it commits batches, and may lose
those that it has not committed. None of them has Raft, and neither have the processes. A batch is committed when
``sync`` has returned. A controller that is killed before that may leave the batch in the file or not. Its successor
commits all that it finds: nobody was told that the batch is lost.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from impl.metadata.log import MetadataBatch
from impl.real.line_file import LineFile, read_lines
from impl.real.problems import DamagedLineError


class TermLine(msgspec.Struct, frozen=True, tag="term"):
    """A controller leads in this term from now on."""

    term: int


class BatchLine(msgspec.Struct, frozen=True, tag="batch"):
    """A batch, and its index in the log."""

    index: int
    batch: MetadataBatch


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TermLine | BatchLine).decode


class MetadataFile:
    """``batches``: all batches of the log. ``term``: the newest term, 0 before the first.

    Opening the file drops a torn line. Raises ClusterError.
    """

    def __init__(self, path: Path) -> None:
        self.batches: list[MetadataBatch] = []
        self.term = 0
        if path.exists():
            texts, size = read_lines(path)
            for number, text in enumerate(texts, 1):
                self._take(path, number, text)
            os.truncate(path, size)
        self._file = LineFile(path)

    def _take(self, path: Path, number: int, text: bytes) -> None:
        try:
            line = _decode(text)
        except msgspec.DecodeError as error:
            raise DamagedLineError(f"{path}:{number}: {error}; use the Holdfast that has written the file") from None
        if isinstance(line, TermLine):
            self.term = line.term
        elif line.index == len(self.batches):
            self.batches.append(line.batch)
        else:
            raise DamagedLineError(
                f"{path}:{number}: batch {line.index} follows {len(self.batches)} batches; restore the file"
            )

    def begin_term(self) -> int:
        """Begin the next term, durably. Returns it."""
        self.term += 1
        self._file.append(_encode(TermLine(self.term)))
        self._file.sync()
        return self.term

    def append(self, index: int, batch: MetadataBatch) -> None:
        """Append a batch, which is not durable before ``sync``. Raises ValueError if ``index`` is not the next."""
        if index != len(self.batches):
            raise ValueError(f"the controller appends batch {index}, but the log ends at {len(self.batches)}")
        self._file.append(_encode(BatchLine(index, batch)))
        self.batches.append(batch)

    def sync(self) -> None:
        """Return when all batches are durable."""
        self._file.sync()
