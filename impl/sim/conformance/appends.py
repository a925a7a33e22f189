"""The lines for the writes of a process into the WAL of its own node: appends, trims, and the failure of its storage.

Some lines are known only when the run is over:

- The line of a batch stands where its object and all objects before it are stored. That may be after its sender has
  crashed.
- The models have one append under way at a time. So all batches that were never acknowledged, and that a process finds
  when it takes the WAL over, are one batch. Its line stands right before the storage fails, or before the next process
  takes over. If a recovery commits that batch in parts, the last part has the line.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from impl.broker import wal_format
from impl.broker.messages import StepEvent, StoreRequest
from impl.broker.wal_format import WalPlace, WalRecord, folder_of
from impl.sim.conformance.lines import AT, BEFORE, LineCollector, Processes, Who, identity
from impl.sim.conformance.requests import Requests
from impl.sim.conformance.takeovers import NEVER, Takeover, Takeovers
from impl.sim.event_log import Event, StoreEffect
from impl.store.interface import Put, PutResult


class Writer:
    """The writes of one process into the WAL of its own node."""

    def __init__(self) -> None:
        self.sent: dict[WalPlace, bytes] = {}
        """By place in the WAL: the bytes of the object that the process has sent."""
        self.stored: dict[WalPlace, int] = {}
        """By place in the WAL: the event at which the object was stored."""
        self.acks: dict[tuple[int, int], int] = {}
        """By stream and base offset: the event of the read of the reservation that allowed the ack."""
        self.failed = NEVER

    def batches(self) -> dict[int, list[tuple[int, WalRecord]]]:
        """By stream: its batches, each with the event at which its object and all before it are stored."""
        found: dict[int, list[tuple[int, WalRecord]]] = defaultdict(list)
        latest = 0
        for place in sorted(self.sent):
            # A batch counts as stored when the objects before it are stored, too.
            latest = max(latest, self.stored.get(place, NEVER))
            for _, record in wal_format.decode(self.sent[place]):
                if record.stream != wal_format.MARKER:
                    found[record.stream].append((latest, record))
        return dict(sorted(found.items()))

    def trims(self, until: int) -> list[tuple[int, int, int]]:
        """The trims before the event ``until``: the event that stores the header, the stream, the end of the trim."""
        records = [each for place in sorted(self.sent) for each in wal_format.decode(self.sent[place])]
        found: list[tuple[int, int, int]] = []
        trimmed: dict[int, int] = {}
        for place, index in sorted(self.stored.items(), key=lambda each: each[1]):
            trim = wal_format.decode_header(self.sent[place]).trim
            ends = {each.stream: each.base + each.count for offset, each in records if offset <= trim}
            for stream, end in ends.items():
                if index < until and stream != wal_format.MARKER and end > trimmed.get(stream, 0):
                    trimmed[stream] = end
                    found.append((index, stream, end))
        return found


class Appends:
    """Goes through the events of brokers in their order; ``finish`` adds the lines."""

    def __init__(self, lines: LineCollector, processes: Processes, requests: Requests, takeovers: Takeovers) -> None:
        self._lines, self._processes = lines, processes
        self._requests, self._takeovers = requests, takeovers
        self._writers: dict[str, Writer] = defaultdict(Writer)

    def see(self, index: int, event: Event) -> None:
        """Note the puts and acks of one event of a broker. Only a failure of the WAL gives a line at once."""
        now, name, _, subject = event
        match subject:
            case StoreRequest(_, Put(key, data)) if key.startswith(self._folder(name)):
                self._writers[name].sent[wal_format.place_of(key, self._folder(name))] = data
            case StoreEffect() if isinstance(subject.request.operation, Put) and isinstance(subject.answer, PutResult):
                key = subject.request.operation.key
                if key.startswith(self._folder(name)):
                    self._writers[name].stored.setdefault(wal_format.place_of(key, self._folder(name)), index)
            case StepEvent("ack", values):
                at = self._takeovers.read_of(index, name, now)
                self._writers[name].acks[values["stream"], values["base"]] = at
            case StepEvent("fail", _):
                writer = self._writers[name]
                if writer.failed == NEVER:
                    writer.failed = index
                    self._requests.failed[name] = index
                    self._lines.add(index, "storage.failed", self._processes.own(name))

    def finish(self, takeovers: dict[int, list[Takeover]]) -> None:
        """Add the lines of appends and trims. ``takeovers``: those that the models have, by node."""
        for name, writer in self._writers.items():
            own = self._processes.own(name)
            # The process writes from its own takeover until its storage fails, or until the next process takes over.
            begun = min((each.reserved for each in takeovers[own["node"]] if each.who == own), default=NEVER)
            later = [each for each in takeovers[own["node"]] if each.reserved > begun and each.who != own]
            ends = min((writer.failed, *(each.reserved for each in later[:1])))
            found = self._found_until(later)
            for batches in writer.batches().values():
                self._add_batches(name, writer, batches, found, ends)
            for index, stream, end in writer.trims(ends):
                self._add_trim(index, name, stream, end)

    def _add_batches(
        self, name: str, writer: Writer, batches: list[tuple[int, WalRecord]], found: int, ends: int
    ) -> None:
        """Add the lines of a stream.

        ``found``: the last event at which a stored object is still found by a process that takes the WAL over.
        ``ends``: the event at which the storage ends.
        """
        who, acked = self._processes.own(name), 0
        left: list[WalRecord] = []
        for stored, record in batches:
            at = writer.acks.get((record.stream, record.base))
            if at is None:
                if stored < found:
                    left.append(record)
                continue
            for base, end in self._pieces(record):
                if stored < NEVER:
                    self._put(max(stored, acked), AT, who, record, base, end)
                reserved = self._takeovers.is_reserved(name, at)
                self._add(at, "append.acked", AT, who, record, base, end, reserved=reserved)
                acked = at
        if left:
            base, end = left[0].base, left[-1].base + left[-1].count
            self._put(ends, BEFORE, who, left[0], base, end)
            self._requests.join_commits(left[0].stream, ends, base, end)

    def _pieces(self, record: WalRecord) -> list[tuple[int, int]]:
        """A batch in the pieces into which trims will cut it (AM-08), since the models trim between batches."""
        end = record.base + record.count
        cuts = sorted(cut for cut in self._requests.trims.get(record.stream, ()) if record.base < cut < end)
        return list(pairwise([record.base, *cuts, end]))

    def _put(self, at: int, place: int, who: Who, record: WalRecord, base: int, end: int) -> None:
        for event in ("append.accepted", "append.stored"):
            self._add(at, event, place, who, record, base, end)

    def _add(
        self, at: int, event: str, place: int, who: Who, record: WalRecord, base: int, end: int, **more: bool
    ) -> None:
        fields = {"stream": record.stream, "streamEpoch": record.epoch, "base": base, "end": end}
        self._lines.add(at, event, who, place=place, **fields, **more)

    def _add_trim(self, index: int, name: str, stream: int, end: int) -> None:
        """Add the line of a trim.

        The trim may follow the close of the stream. The legacy model forgets the stream at the close. So the line
        stands right before the close, if a commit before it covers the trim.
        """
        at, place = index, AT
        leases = self._requests.leases.get((name, stream), [])
        closed = max((close for _, close in leases if close < index), default=None)
        is_open = any(begin < index <= close for begin, close in leases)
        if not is_open and closed is not None:
            commits = self._requests.commits.get(stream, [])
            if any(committed < closed and to >= end for committed, to in commits):
                at, place = closed, BEFORE
        self._lines.add(at, "wal.trimmed", self._processes.own(name), place=place, stream=stream, end=end)

    def _found_until(self, later: list[Takeover]) -> int:
        """The event until which a stored append is found by some process that takes the WAL over.

        Once one of these processes has emptied the WAL, or has closed the streams that it recovered, the later ones
        look for nothing. An object that is stored late does not count if such a process has put another one in its
        place. Two processes that stand for the same failed one share an identity, and are one process to the models.
        """
        found, ended = -1, None
        closed = {who for who, _, _ in self._requests.recovered}
        for number, each in enumerate(later):
            others = [other for other in later[:number] if other.who != each.who]
            if ended not in (None, identity(each.who)) or any(other.stored < each.listed for other in others):
                break
            found = max(found, each.listed)
            if each.reset < NEVER or identity(each.who) in closed:
                ended = identity(each.who)
        return found

    def _folder(self, name: str) -> str:
        return folder_of(self._processes.of[name][0])
