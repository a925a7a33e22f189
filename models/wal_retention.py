"""WAL retention: a main keeps a link for 30 s after the upload of its batch, so that readers find it in the WAL.

Facts: zone-routing.md 3, 4. The WAL of a main holds links to batches that are not uploaded yet. The main uploads a
batch, waits 30 s, and trims the link. A reader replays the WAL: it resolves a link and keeps the batch in its cache. If
the link is trimmed, the reader passes over it, and has the batch from object storage (F16).

Time is one event for each batch: 30 s have passed since its upload. Nothing says how fast a reader is. The property
that M-07 protects is that of a reader that is fast enough. Readers get every batch without M-07, too (I-11); only the
read is slower.

Left out: the sessions of readers, the ends that they show and the order of a replay (`snapshot_read`), channels
(`route_epoch`), and caches that lose batches.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import (
    Map,
    Model,
    Rel,
    Scope,
    Sort,
    action,
    init,
    invariant,
    outcomes,
    redundant,
    require,
    witness,
)


class Reader(Sort):
    """A proxy that replays the WAL of the main."""


class Batch(Sort):
    """A batch whose link is durable in the WAL."""


class Source(Enum):
    """The place from which a reader has a batch."""

    NONE = "none"
    CACHE = "its cache"
    OBJECTS = "object storage"


class WalRetention(Model):
    """The WAL of one main, and the readers that replay it."""

    uploaded: Rel[Batch]
    """b is in object storage."""
    kept: Rel[Batch]
    """30 s have passed since the upload of b."""
    trimmed: Rel[Batch]
    """The link to b is trimmed from the WAL."""
    source: Map[tuple[Reader, Batch], Source]
    """The place from which r has b; NONE before r has replayed the link, or passed over it."""

    tiny = Scope({Reader: 1, Batch: 1})
    default = Scope({Reader: 3, Batch: 3})
    deep = Scope({Reader: 8, Batch: 20}, depth=200)

    @init
    def start_wal(self) -> None:
        """The links are durable, and nothing else has happened."""
        self.uploaded.fill(False)
        self.kept.fill(False)
        self.trimmed.fill(False)
        self.source.fill(Source.NONE)

    @action
    def upload(self, b: Batch) -> None:
        """The main uploads a batch."""
        self.uploaded[b] = True

    @action
    def keep(self, b: Batch) -> None:
        """30 s have passed since the upload, if there was one."""
        if self.uploaded[b]:
            self.kept[b] = True

    @action
    def trim(self, b: Batch) -> None:
        """The main trims the link to a batch from its WAL."""
        require(self.uploaded[b], "PL-25")
        require(self.kept[b], "M-07")
        self.trimmed[b] = True

    @action
    def replay(self, r: Reader, b: Batch) -> None:
        """A reader replays the link to a batch, or passes over it. It does so once."""
        if self.source[r, b] == Source.NONE:
            self.source[r, b] = Source.OBJECTS if self.trimmed[b] else Source.CACHE

    @invariant
    def replayed_is_readable(self) -> bool:
        """I-11. A batch over whose link a reader has passed is in object storage."""
        return all(self.uploaded[b] for r in Reader for b in Batch if self.source[r, b] == Source.OBJECTS)

    @invariant
    def fast_reader_finds_links(self) -> bool:
        """M-07. A reader passes over a link only if it comes later than 30 s after the upload."""
        return all(self.kept[b] for r in Reader for b in Batch if self.source[r, b] == Source.OBJECTS)

    @witness
    def slow_reader_passes_over(self) -> bool:
        """I-11. A reader has a batch from object storage, since its link was trimmed."""
        return any(self.source[r, b] == Source.OBJECTS for r in Reader for b in Batch)

    mutants = outcomes({"PL-25": redundant(with_="M-07")})
