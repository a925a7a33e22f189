"""The controller's answers wait for the metadata quorum, so that no broker acts on records that are lost.

Facts: streams.md 2 (EX-01 to EX-03), 3. The active controller judges a request on the table in its memory, changes this
table at once, and appends the records to the metadata log. It answers after the quorum has committed them. The next
controller knows the committed records. All others are lost, with the answers that wait for them.

The model has one stream, and brokers that open and close it, each time under an epoch of its own (PT-01). A broker that
has heard no answer sends its request again (EX-07).

The log has no positions: the quorum commits all records at once. That loses no run, since to commit only the oldest
records is to commit before the later requests arrive. In the same way, a new controller commits first what it keeps.

Left out: offsets, and so what two handles do to acked records (`ownership`); a controller that goes on to answer after
another one is elected; copies of a request that arrive after its answer (`reassignment`, AM-20); crashes of brokers.

Where this differs from streams.md 19:

- G-53: only an open that is rolled back violates INV-01. A close that is rolled back leaves the stream OPENED by a
  broker that has forgotten it, and a new owner can only wait (FO-09).
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Map, Model, Rel, Scope, action, init, invariant, require, rule, step, witness
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Epoch


class Table(Enum):
    """The two states of the stream that a controller knows."""

    MEMORY = "what all records of the active controller give"
    COMMITTED = "what the committed records give"


class Phase(Enum):
    """What a broker does with the stream."""

    IDLE = "it has no handle, and waits for nothing"
    OPENING = "it waits for the answer to its open"
    OPEN = "it has a handle, and acks records"
    CLOSING = "it waits for the answer to its close"


class Reply(Enum):
    """The controller's answer to the latest request of a broker."""

    NONE = "there is none"
    WAITING = "it waits until the quorum has committed"
    SENT = "it may arrive at any time"


class MetadataQuorum(Model):
    """A stream in the tables of the controller, and the brokers that open and close it."""

    opened: Rel[Table]
    """The stream is OPENED. Otherwise it is CLOSED."""
    epoch: Map[Table, Epoch]
    """The epoch of the newest open; 0 if nobody has opened the stream."""
    owner: Map[Table, Node | None]
    """The broker of the newest open."""
    leader_epoch: Epoch
    """The newest leader epoch of the partition to which the stream belongs."""
    phase: Map[Node, Phase]
    """What the broker does with the stream."""
    tried: Map[Node, Epoch]
    """The epoch in the broker's requests; 0 before the first assignment."""
    answer: Map[Node, Reply]
    """What has become of the answer to the broker."""

    tiny = Scope({Node: 2, Epoch: 2})
    default = Scope({Node: 3, Epoch: 3})
    deep = Scope({Node: 6, Epoch: 60}, depth=200)

    @init
    def start_closed(self) -> None:
        """Nobody has opened the stream."""
        self.opened.fill(False)
        self.epoch.fill(Epoch(0))
        self.owner.fill(None)
        self.leader_epoch = Epoch(0)
        self.phase.fill(Phase.IDLE)
        self.tried.fill(Epoch(0))
        self.answer.fill(Reply.NONE)

    def leased(self, t: Table, n: Node) -> bool:
        """Whether the stream is OPENED by n, under the epoch of its requests."""
        return self.opened_by(t, n) and self.epoch[t] == self.tried[n]

    def opened_by(self, t: Table, n: Node) -> bool:
        """Whether the stream is OPENED by n, under any epoch."""
        owner = self.owner[t]
        return self.opened[t] and owner is not None and owner == n

    def is_pending(self) -> bool:
        """Whether the memory has records that are not committed. (No pending records cancel out: epochs grow.)"""
        return (
            self.opened[Table.MEMORY] != self.opened[Table.COMMITTED]
            or self.epoch[Table.MEMORY] != self.epoch[Table.COMMITTED]
        )

    # Brokers --------------------------------------------------------------------------------------------------

    @action
    def assign(self, n: Node) -> None:
        """The partition is assigned to a broker, under a new leader epoch (PT-01). The broker begins to open."""
        require(self.phase[n] == Phase.IDLE, "PT-05")
        self.leader_epoch = self.leader_epoch + 1
        self.tried[n] = self.leader_epoch
        self.phase[n] = Phase.OPENING

    @action
    def send_close(self, n: Node) -> None:
        """A broker gives up its handle or its open, or has heard no answer to its close. It sends a close."""
        self.phase[n] = Phase.CLOSING
        self.answer[n] = Reply.NONE

    @action
    def hear_open(self, n: Node) -> None:
        """The answer to an open arrives: from now on the broker has a handle."""
        require(self.phase[n] == Phase.OPENING and self.answer[n] != Reply.NONE, "CL-01.answer")
        self.check_committed(n)
        self.phase[n] = Phase.OPEN
        self.answer[n] = Reply.NONE

    @action
    def hear_close(self, n: Node) -> None:
        """The answer to a close arrives: the broker forgets the stream."""
        require(self.phase[n] == Phase.CLOSING and self.answer[n] != Reply.NONE, "CL-07.answer")
        self.check_committed(n)
        self.phase[n] = Phase.IDLE
        self.answer[n] = Reply.NONE

    @action
    def lose_answer(self, n: Node) -> None:
        """The answer to a broker does not arrive."""
        self.answer[n] = Reply.NONE

    # The active controller ------------------------------------------------------------------------------------

    def check_committed(self, n: Node) -> None:
        """EX-01. The controller sends an answer after the quorum has committed the records before it."""
        require(self.answer[n] != Reply.WAITING, "EX-01")  # G-53

    def answer_without_records(self, n: Node) -> None:
        """EX-02. A request that changes nothing is answered at once, unless records are pending that it may show."""
        self.answer[n] = Reply.SENT
        if rule("EX-02", self.is_pending()):
            self.answer[n] = Reply.WAITING

    @action
    def open(self, n: Node) -> None:
        """An openStream arrives, perhaps again (ST-12, ST-14, ST-17, ST-23)."""
        require(self.phase[n] == Phase.OPENING, "CL-01.sent")
        require(self.epoch[Table.MEMORY] <= self.tried[n], "ST-12", error=E.STREAM_FENCED)
        # No two brokers open under one epoch (PT-01), so the stream is the sender's already (ST-23).
        if self.epoch[Table.MEMORY] == self.tried[n]:
            self.answer_without_records(n)
            return
        require(not self.opened[Table.MEMORY], "ST-14", error=E.STREAM_NOT_CLOSED)
        self.opened[Table.MEMORY] = True
        self.epoch[Table.MEMORY] = self.tried[n]
        self.owner[Table.MEMORY] = n
        self.answer[n] = Reply.WAITING

    @action
    def close(self, n: Node) -> None:
        """A closeStream arrives, perhaps again (ST-36). It changes nothing without a lease (ST-33, ST-38)."""
        require(self.phase[n] == Phase.CLOSING, "CL-07.sent")
        if not self.leased(Table.MEMORY, n):
            self.answer_without_records(n)
            return
        self.opened[Table.MEMORY] = False
        self.answer[n] = Reply.WAITING

    # The quorum -----------------------------------------------------------------------------------------------

    @action
    def commit(self) -> None:
        """The quorum commits all records, and the answers that wait for it are sent."""
        self.opened[Table.COMMITTED] = self.opened[Table.MEMORY]
        self.epoch[Table.COMMITTED] = self.epoch[Table.MEMORY]
        self.owner[Table.COMMITTED] = self.owner[Table.MEMORY]
        for n in Node:
            if self.answer[n] == Reply.WAITING:
                self.answer[n] = Reply.SENT

    @action
    def change_controller(self) -> None:
        """Another controller takes over, with what is committed (EX-03). Answers that wait are lost."""
        self.opened[Table.MEMORY] = self.opened[Table.COMMITTED]
        self.epoch[Table.MEMORY] = self.epoch[Table.COMMITTED]
        self.owner[Table.MEMORY] = self.owner[Table.COMMITTED]
        for n in Node:
            if self.answer[n] == Reply.WAITING:
                self.answer[n] = Reply.NONE

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def one_handle(self) -> bool:
        """INV-01. No two brokers have a handle: they would ack records at the same offsets."""
        return all(m == n or self.phase[m] != Phase.OPEN for n in Node for m in Node if self.phase[n] == Phase.OPEN)

    @invariant
    def handle_is_lease(self) -> bool:
        """INV-01. Where a broker has a handle, the stream is OPENED by it, under the epoch of the handle."""
        return all(self.leased(Table.MEMORY, n) for n in Node if self.phase[n] == Phase.OPEN)

    @invariant
    def owner_knows(self) -> bool:
        """ST-36, FO-09. A stream is OPENED only by a broker that has a handle, or waits for an answer, of its epoch.

        Nobody else closes the stream.
        """
        return all(
            self.phase[n] != Phase.IDLE and self.leased(t, n) for t in Table for n in Node if self.opened_by(t, n)
        )

    @step
    def committed_epoch_grows(self, old: Self) -> bool:
        """INV-04. The committed epoch of the stream never decreases. (That of the memory does, in a rollback.)"""
        return self.epoch[Table.COMMITTED] >= old.epoch[Table.COMMITTED]

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def handed_over(self) -> bool:
        """A broker has a handle, and an older assignment of another broker is over."""
        return any(
            self.phase[m] == Phase.IDLE and Epoch(0) < self.tried[m] and self.tried[m] < self.tried[n]
            for n in Node
            for m in Node
            if self.phase[n] == Phase.OPEN
        )

    @witness
    def answer_is_lost(self) -> bool:
        """EX-07. An open is committed and has no answer: the broker has to send it again."""
        return any(
            self.answer[n] == Reply.NONE and self.leased(Table.COMMITTED, n)
            for n in Node
            if self.phase[n] == Phase.OPENING
        )
