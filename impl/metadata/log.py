"""The metadata log of one controller: atomic batches of records, and the image that they make (streams.md 2).

A batch is *pending* until the quorum commits it. Its records change the image at once (EX-01); a controller that loses
the lead takes the pending batches back (EX-03).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from impl.metadata.image import Image
from impl.records import AnyRecord


class MetadataBatch(msgspec.Struct, frozen=True, gc=False):
    """The records of one event, the term of the leader that wrote them, and the time, in milliseconds."""

    records: tuple[AnyRecord, ...]
    term: int = 0
    time: int = 0


class MetadataLog:
    """The batches by index from 0, and the image after the last of them."""

    def __init__(self, image: Image | None = None, begin: int = 0) -> None:
        """Start after a snapshot of the batches below ``begin``; with an empty image if there is none."""
        self.image = Image() if image is None else image
        self.begin = begin
        self.batches: list[MetadataBatch] = []
        self.committed = begin
        """The number of batches that the quorum has committed, from index 0 on; the later ones are pending."""
        self._marks: deque[int] = deque()
        """For each pending batch: the image's mark before it."""
        self.image.forget(self.image.mark())  # The snapshot is committed, so nobody takes it back.

    @property
    def end(self) -> int:
        """The index of the next batch."""
        return self.begin + len(self.batches)

    def append(self, batch: MetadataBatch) -> int:
        """Apply a batch and keep it as pending. Returns N: the batch is committed once the first N batches are."""
        self._marks.append(self.image.mark())
        for record in batch.records:
            self.image.apply(record)
        self.batches.append(batch)
        return self.end

    def commit(self, end: int) -> None:
        """The quorum has committed the batches below ``end``. Raises ValueError if the log has fewer."""
        if end > self.end:
            raise ValueError(f"batches below {end} are committed, but the log ends at {self.end}")
        for _ in range(end - self.committed):  # Empty for a late, lower ``end``.
            self._marks.popleft()
        self.committed = max(self.committed, end)
        # Only pending batches need the journal. Their marks count from its new beginning.
        settled = self._marks[0] if self._marks else self.image.mark()
        self.image.forget(settled)
        if self._marks:
            self._marks = deque(mark - settled for mark in self._marks)

    def roll_back(self) -> None:
        """Take the pending batches back, in the log and in the image (EX-03)."""
        if self._marks:
            self.image.undo_to(self._marks[0])
            self._marks.clear()
        del self.batches[self.committed - self.begin :]


def replay(batches: Iterable[MetadataBatch], image: Image | None = None) -> Image:
    """Apply batches to ``image``, or to an empty one, and return it."""
    image = Image() if image is None else image
    for batch in batches:
        for record in batch.records:
            image.apply(record)
        image.forget(image.mark())
    return image
