"""The records that a main puts into its answers, so that readers need not read its WAL (ZR-42)."""

from __future__ import annotations

from impl.broker.wal_format import WalRecord, encode_record


class InlineRecords:
    """What was appended since the last answer of a session, encoded. ``most``: in bytes; with 0 there is never any.

    An answer has either all records up to the end of the WAL that it names, or none; its reader then reads the WAL.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._records: list[bytes] = []
        self._size = 0
        self._is_synced = False

    def add(self, record: WalRecord) -> None:
        """A record was appended, links as links."""
        if not self._is_synced:
            return
        self._records.append(encode_record(record))
        self._size += record.size
        if self._size > self._most:
            self._clear()
            self._is_synced = False

    def take(self, wal_end: int) -> tuple[bytes, ...] | None:
        """The records for an answer that ends at ``wal_end``; None if its reader has to read the WAL."""
        if not self._is_synced:
            # From this answer on, nothing is missing. Before the first record there is no place to begin at.
            self._is_synced = self._most > 0 and wal_end > 0
            return None
        found = tuple(self._records)
        self._clear()
        return found

    def _clear(self) -> None:
        self._records, self._size = [], 0
