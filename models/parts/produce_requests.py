"""Batches of producers, the channel records of one proxy, and the append loops of one main, with their properties.

Facts: zone-routing.md 2. The properties are those of zone-routing.md 7 that name no action.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Ghost, Map, Model, Nat, Rel, Sort, init, invariant, leads_to, step
from models.parts.threads import Thread


class Connection(Sort):
    """The connection of one producer to the proxy, for one partition. Its batches share an order hint (ZR-15)."""


class Sequence(Nat):
    """The number of a batch on its connection."""


class Record(Sort):
    """A record of the proxy's channel, with the request for it: one attempt to append one batch."""


class Epoch(Nat):
    """A RouteEpoch."""


class Producer(Enum):
    """What a producer puts into its batches."""

    UNKNOWN = "nothing was sent"
    PLAIN = "no sequence"
    IDEMPOTENT = "a sequence, and perhaps a transaction"


class Answer(Enum):
    """What the producer of a batch knows of it: the error code of the last answer, if there was one."""

    UNSENT = "unsent"
    AWAITED = "awaited"
    NONE = "0"
    LEADER_NOT_AVAILABLE = "5"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "45"
    UNKNOWN_SERVER_ERROR = "-1"


class Phase(Enum):
    """How far a record has come, from the proxy to the log of the main."""

    FREE = "free"
    SENT = "sent"
    ADMITTED = "admitted"
    READ = "read"
    STARTED = "started"
    CHECKED = "checked"
    RESUMED = "resumed"
    APPENDED = "appended"


class ProduceRequests(Model):
    """Producers with their batches, a proxy with the records of its channel, and a main with its append loops."""

    producer: Map[Connection, Producer]
    """The kind of the producer of c."""
    answer: Map[tuple[Connection, Sequence], Answer]
    """What the producer of c knows of batch s."""
    loop: Map[Connection, Thread | None]
    """The append loop that the order hint of c selects; None before c has sent a batch."""

    phase: Map[Record, Phase]
    """How far r has come. A record of which nothing comes is free again."""
    connection: Map[Record, Connection]
    """The connection from which the proxy received the batch of r."""
    sequence: Map[Record, Sequence]
    """The number of the batch of r; 0 while r is free."""
    ahead: Rel[Record, Record]
    """(r, q): the proxy received r before q from the same connection. Neither is free."""
    tag: Map[Record, Epoch]
    """The route epoch of r (ZR-20); 0 once the main has tested it."""
    awaited: Rel[Record]
    """The proxy waits for the main's answer to r."""

    channel_epoch: Epoch
    """The current epoch of the record G that the proxy has applied."""
    fenced: Epoch
    """The fenced epoch of the record G that the main has applied."""
    current: Epoch
    """The current epoch of that record."""

    runs: Map[Thread, Record | None]
    """The record whose append occupies the thread."""
    context: Map[Thread, Record | None]
    """The write context of the thread: the next append of the thread is stored as a link to this record."""

    in_log: Rel[Connection, Sequence]
    """The batch is in the log."""
    link: Ghost[Map[Record, Record | None]]
    """The record to which the WAL entry for the batch of r is a link; None if the entry has the batch in full."""
    index_link: Ghost[Map[Record, Record | None]]
    """The same for the WAL entry with the index data of that batch."""
    lost: Ghost[Rel[Connection, Sequence]]
    """The proxy gave up an attempt to append the batch before it had the main's answer."""
    overtaken: Ghost[bool]
    """A batch was appended behind one that the proxy received later from the same connection."""

    @init
    def start_requests(self, c: Connection) -> None:
        """Nothing was sent, and the proxy's epoch is the oldest one that is not fenced."""
        self.producer.fill(Producer.UNKNOWN)
        self.answer.fill(Answer.UNSENT)
        self.loop.fill(None)
        self.phase.fill(Phase.FREE)
        self.connection.fill(c)
        self.sequence.fill(Sequence(0))
        self.ahead.fill(False)
        self.tag.fill(Epoch(0))
        self.awaited.fill(False)
        self.channel_epoch = Epoch(1)
        self.fenced = Epoch(0)
        self.current = Epoch(2)
        self.runs.fill(None)
        self.context.fill(None)
        self.in_log.fill(False)
        self.link.fill(None)
        self.index_link.fill(None)
        self.lost.fill(False)
        self.overtaken = False

    # What the rules speak of ----------------------------------------------------------------------------------

    def is_idempotent(self, r: Record) -> bool:
        """Whether the batch of r has a sequence."""
        return self.producer[self.connection[r]] == Producer.IDEMPOTENT

    def is_attempt(self, r: Record, c: Connection, s: Sequence) -> bool:
        """Whether r is an attempt to append batch s of connection c."""
        return self.connection[r] == c and self.sequence[r] == s

    def is_in_stripe(self, r: Record) -> bool:
        """Whether r has arrived at its stripe, and has not left it."""
        return self.phase[r] in (Phase.ADMITTED, Phase.READ)

    def is_loop_of(self, c: Connection, t: Thread) -> bool:
        """Whether the order hint of c selects t."""
        selected = self.loop[c]
        return selected is not None and selected == t

    def is_run_by(self, r: Record, t: Thread) -> bool:
        """Whether the append of r occupies t."""
        running = self.runs[t]
        return running is not None and running == r

    def has_gap(self, r: Record) -> bool:
        """Whether a batch with a smaller sequence than that of r is not in the log."""
        return any(not self.in_log[self.connection[r], s] for s in Sequence if s < self.sequence[r])

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def stored_with_own_link(self) -> bool:
        """I-13. A batch that is stored as a link is stored as a link to its own record."""
        return all(self.link[r] == r for r in Record if self.link[r] is not None)

    @invariant
    def index_is_stored_in_full(self) -> bool:
        """I-13. Index data is stored in full, never as a link."""
        return all(self.index_link[r] is None for r in Record)

    @invariant
    def acked_is_appended(self) -> bool:
        """I-8. A batch that was acked is in the log."""
        return all(self.in_log[c, s] for c in Connection for s in Sequence if self.answer[c, s] == Answer.NONE)

    @step
    def acked_stays_acked(self, old: Self) -> bool:
        """I-8. A batch that was acked is not answered again."""
        return all(
            self.answer[c, s] == Answer.NONE for c in Connection for s in Sequence if old.answer[c, s] == Answer.NONE
        )

    @invariant
    def appended_once(self) -> bool:
        """I-8. A batch is appended twice only if an answer was lost (ZR-29) and its producer is not idempotent."""
        return all(
            self.lost[self.connection[r], self.sequence[r]] and not self.is_idempotent(r)
            for r in Record
            for q in Record
            if r != q and self.is_same_append(r, q)
        )

    def is_same_append(self, r: Record, q: Record) -> bool:
        """Whether r and q are both appended, for one batch."""
        both = self.phase[r] == Phase.APPENDED and self.phase[q] == Phase.APPENDED
        return both and self.is_attempt(q, self.connection[r], self.sequence[r])

    @invariant
    def sequences_have_no_gap(self) -> bool:
        """I-8. If a batch of an idempotent producer is appended, so is every batch with a smaller sequence."""
        return all(not self.has_gap(r) for r in Record if self.phase[r] == Phase.APPENDED and self.is_idempotent(r))

    @leads_to
    def produced(self, c: Connection, s: Sequence) -> tuple[bool, bool]:
        """V-2. A batch that was sent is acked some time."""
        return self.answer[c, s] != Answer.UNSENT, self.answer[c, s] == Answer.NONE
