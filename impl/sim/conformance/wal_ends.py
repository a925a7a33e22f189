"""Up to which offset the WAL of a process has the records of a stream."""

from __future__ import annotations

from collections.abc import Iterable

from impl.broker import wal_format
from impl.broker.messages import StoreRequest
from impl.sim.event_log import Event
from impl.store.interface import Put


class WalEnds:
    """The records that the processes of a run have sent to the WALs of their own nodes."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._found: dict[tuple[str, int], list[tuple[int, int]]] = {}
        """By process and stream: the place of each record in the WAL, and the offset at which it ends."""
        folders: dict[str, str] = {}
        for _, name, kind, subject in events:
            match subject:
                case {"node": node} if kind == "start":
                    folders[name] = wal_format.folder_of(node)
                case StoreRequest(_, Put(key, data)) if name in folders and key.startswith(folders[name]):
                    self._add(name, data)

    def _add(self, name: str, data: bytes) -> None:
        for place, record in wal_format.decode(data):
            self._found.setdefault((name, record.stream), []).append((place, record.end))

    def end(self, name: str, stream: int, wal_end: int) -> int:
        """The end of the stream's last record below an offset of the WAL of a process; 0 if there is none."""
        return max((end for place, end in self._found.get((name, stream), ()) if place < wal_end), default=0)
