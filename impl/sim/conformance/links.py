"""The links in the WALs of a run: when each became durable, was uploaded, and was trimmed (zone-routing.md 2, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from impl.broker import wal_format
from impl.broker.messages import StepEvent, StoreRequest
from impl.broker.wal_format import NOTHING, WalPlace, folder_of
from impl.broker.zones.links import decode_link
from impl.metadata.image import Image
from impl.sim.conformance.takeovers import NEVER
from impl.sim.event_log import Event, StoreEffect
from impl.store.interface import Put, PutResult
from impl.zone.encodings import ChannelOffset


class WrittenLink(msgspec.Struct):
    """A link that a process has sent to the WAL of its node.

    ``batch``: the batch for which it stands. ``offset``: its place in the WAL. ``durable``, ``acked``, ``uploaded``,
    ``trimmed``: the events of the run at which it became so, or its append was acknowledged. ``cut``: whether the
    controller has closed the stream below it, so that nobody uploads it.
    """

    node: int
    batch: str
    stream: int
    epoch: int
    base: int
    end: int
    offset: int
    durable: int = NEVER
    acked: int = NEVER
    uploaded: int = NEVER
    trimmed: int = NEVER
    cut: bool = False

    @property
    def counts(self) -> bool:
        """Whether the link matters. One that was neither acknowledged nor uploaded need not be there."""
        return min(self.acked, self.uploaded) < NEVER


def batch_name(at: ChannelOffset) -> str:
    """The name of a batch in the log: the node of the channel, the epoch of its process, and the offset."""
    return f"{at.owner}.{at.wal.wal_epoch}.{at.wal.offset}"


class WrittenWal:
    """The objects that one process has sent to its WAL, in the order of their places."""

    def __init__(self, node: int) -> None:
        self.node = node
        self.places: list[WalPlace] = []
        self.links: dict[WalPlace, list[WrittenLink]] = {}
        self.trims: dict[WalPlace, int] = {}
        """By object: the WAL offset up to which its header trims."""
        self.stored: dict[WalPlace, int] = {}
        """By object: the event at which it was stored."""
        self._durable = 0
        self._trimmed = NOTHING

    def send(self, place: WalPlace, data: bytes) -> None:
        """The process sends an object. It may send the same one again."""
        if place in self.links:
            return
        self.places.append(place)
        self.trims[place] = wal_format.decode_header(data).trim
        self.links[place] = []
        for offset, record in wal_format.decode(data):
            if record.count < 0:
                _, at = decode_link(record)
                link = WrittenLink(
                    self.node, batch_name(at), record.stream, record.epoch, record.base, record.end, offset
                )
                self.links[place].append(link)

    def store(self, place: WalPlace, index: int) -> list[WrittenLink]:
        """An object is stored. Returns the links that are durable now: a link is if all objects before it are, too."""
        self.stored.setdefault(place, index)
        found: list[WrittenLink] = []
        while self._durable < len(self.places) and self.places[self._durable] in self.stored:
            found += self.links[self.places[self._durable]]
            self._durable += 1
        for link in found:
            link.durable = index
        if self.trims[place] > self._trimmed:
            self._trimmed = self.trims[place]
            for link in self:
                if link.offset <= self._trimmed:
                    link.trimmed = min(link.trimmed, index)
        return found

    def __iter__(self) -> Iterator[WrittenLink]:
        return (link for place in self.places for link in self.links[place])


class Links:
    """Goes through the events of a run in their order. ``nodes``: by the name of a process, its node."""

    def __init__(self, nodes: Mapping[str, int]) -> None:
        self._nodes = nodes
        self._wals: dict[str, WrittenWal] = {}
        self._by_base: dict[tuple[str, int, int], WrittenLink] = {}
        self._left: list[WrittenLink] = []
        """The durable links that are neither uploaded nor cut."""

    def all(self) -> list[WrittenLink]:
        """All links, by process and in the order of their places."""
        return [link for wal in self._wals.values() for link in wal]

    def see(self, index: int, event: Event, image: Image) -> None:
        """Take in an event of a broker. ``image``: the metadata at that time."""
        _, name, _, subject = event
        match subject:
            case StoreRequest(_, Put(key, data)) if self._is_own(name, key):
                wal = self._wals.setdefault(name, WrittenWal(self._nodes[name]))
                place = self._place(name, key)
                wal.send(place, data)
                self._by_base |= {(name, link.stream, link.base): link for link in wal.links[place]}
            case StoreEffect() if isinstance(subject.request.operation, Put) and isinstance(subject.answer, PutResult):
                key = subject.request.operation.key
                if self._is_own(name, key):
                    durable = self._wals[name].store(self._place(name, key), index)
                    # One that comes so late that its stream has gone on without it is found by nobody.
                    self._left += [link for link in durable if not self._is_late(link, image)]
            case StepEvent("ack", values):
                link = self._by_base.get((name, values["stream"], values["base"]))
                if link is not None:
                    link.acked = min(link.acked, index)

    def write(self, index: int, image: Image) -> list[WrittenLink]:
        """The controller has written a batch. Returns the links whose batches it shows to be uploaded."""
        found = []
        for link in self._left:
            self._judge(link, index, image)
            if link.uploaded == index:
                found.append(link)
        self._left = [link for link in self._left if link.uploaded == NEVER and not link.cut]
        return found

    def _judge(self, link: WrittenLink, index: int, image: Image) -> None:
        entry, stored = image.active_entry(link.node, link.stream), image.streams.get(link.stream)
        if entry is not None:
            # The stream is sealed, and the node still has to upload what lies below the end of the entry.
            link.cut = link.end > entry.to
            is_uploaded = link.end <= entry.start
        else:
            is_uploaded = stored is None or stored.end >= link.end
            link.cut = not is_uploaded and not _is_open(image, link)
        if is_uploaded:
            link.uploaded = index

    def _is_late(self, link: WrittenLink, image: Image) -> bool:
        stored = image.streams.get(link.stream)
        if image.active_entry(link.node, link.stream) is not None:
            return False
        return stored is None or stored.end > link.base or not _is_open(image, link)

    def _is_own(self, name: str, key: str) -> bool:
        return name in self._nodes and key.startswith(folder_of(self._nodes[name]))

    def _place(self, name: str, key: str) -> WalPlace:
        return wal_format.place_of(key, folder_of(self._nodes[name]))


def _is_open(image: Image, link: WrittenLink) -> bool:
    """Whether the stream of the link is still open on its node, under the epoch of the append."""
    stored = image.streams.get(link.stream)
    return stored is not None and stored.epoch == link.epoch and link.stream in image.opened_on.get(link.node, ())
