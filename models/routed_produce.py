"""Routed produce: a batch is appended in the order of its connection, with its own link, and sent again until it is.

Facts: zone-routing.md 2, 7. A producer sends a batch to its proxy. The proxy appends it to its channel as a record with
an epoch, and sends the place of the record to the main. The main tests the epoch, reads the record, and puts it into
the stripe of its order hint. A stripe hands its records to one append loop, in the order in which they came. The loop
sets the write context of its thread to the record. The append of the batch takes the context, and stores the batch as a
link to that record. The append of the index data follows on the same thread. A batch of a transaction may wait for a
check before its append, and goes on with any thread. The proxy translates the main's answer for the producer, which
sends the batch again after a retriable code.

Merged, since nobody sees the state in between:

- The append to the channel and the request: the channel completes appends in order, and requests come in order (ZR-23).
- The append of a batch and the durable link. `route_epoch` has them apart (M-04).
- The record G of the controller and its application at the main. The proxy applies it later.
- A request with several records: here each record has a request of its own. If a request fails although some of its
  records are appended (ZR-26), the answers to these records are lost.

Loosened: a producer sends its batches in any order, and checks end in any order, on any thread.

Left out: the links after their append, crashes of the main and the count of requests (`route_epoch`); acks=0 (ZR-30);
local writes (ZR-25), which reach the append loop without a request; other errors of one partition (ZR-26).

Where this differs from zone-routing.md:

- I-9 needs an exception. While a batch waits for the check of its transaction, a batch that came later may be appended.
  The sequences of an idempotent producer keep the right order of its batches then (ZR-28).
- M-21 has two halves: the context leaves the thread with the batch that waits, and comes back with it. Without one of
  them no link is wrong. Without the second one alone, a batch is stored in full.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Scope, action, liveness, outcomes, redundant, require, rule, step, witness
from models.parts.produce_requests import Answer, Connection, Epoch, Phase, Producer, ProduceRequests, Record, Sequence
from models.parts.threads import Thread


class RoutedProduce(ProduceRequests):
    """Producers, one proxy, and the append loops of one main."""

    tiny = Scope(
        {Connection: 1, Sequence: 1, Record: 3, Thread: 2, Epoch: 3},
        budgets={"bump": 1, "fail_read": 1, "lose": 1},
    )
    default = Scope(
        {Connection: 2, Sequence: 1, Record: 3, Thread: 2, Epoch: 3},
        budgets={"bump": 0, "fail_read": 0, "lose": 1},
    )
    # A record for each batch, and one for the batch whose answer is lost: otherwise a batch waits for a free record.
    live = Scope(
        {Connection: 2, Sequence: 0, Record: 3, Thread: 2, Epoch: 3},
        budgets={"bump": 1, "fail_read": 1, "lose": 1},
    )
    deep = Scope(
        {Connection: 2, Sequence: 7, Record: 16, Thread: 3, Epoch: 20},
        budgets={"bump": 8, "fail_read": 8, "lose": 8},
        depth=200,
    )

    # A producer and the proxy ---------------------------------------------------------------------------------

    @action(fair="weak", per=("c", "s"))
    def produce(self, r: Record, c: Connection, s: Sequence, kind: Producer, t: Thread) -> None:
        """A producer sends a batch, for the first time or again, and the proxy forwards it.

        Each time the batch becomes a new record of the channel, with the channel's epoch of this moment.
        ``t``: the append loop that the order hint selects.
        """
        require(kind != Producer.UNKNOWN and self.producer[c] in (Producer.UNKNOWN, kind), "ZR-28.producer")
        require(self.loop[c] is None or self.is_loop_of(c, t), "ZR-15")
        again = self.answer[c, s] in (Answer.LEADER_NOT_AVAILABLE, Answer.OUT_OF_ORDER_SEQUENCE_NUMBER)
        require(again or self.answer[c, s] == Answer.UNSENT, "ZR-27.retry")
        require(self.phase[r] == Phase.FREE, "ZR-27.record")
        self.producer[c] = kind
        self.loop[c] = t
        self.answer[c, s] = Answer.AWAITED
        for q in Record:
            self.ahead[q, r] = self.phase[q] != Phase.FREE and self.connection[q] == c and q != r
        self.phase[r] = Phase.SENT
        self.connection[r] = c
        self.sequence[r] = s
        self.tag[r] = self.channel_epoch
        self.awaited[r] = True

    @action(fair="weak")
    def apply(self) -> None:
        """The proxy applies the record G that the main has applied (ZR-58)."""
        self.channel_epoch = self.current

    @action
    def lose(self, r: Record) -> None:
        """A timeout or a disconnect: the proxy does not wait for the answer to r any more. The main goes on."""
        require(self.awaited[r], "ZR-27.lost")
        self.lost[self.connection[r], self.sequence[r]] = True
        self.answer[self.connection[r], self.sequence[r]] = Answer.LEADER_NOT_AVAILABLE
        self.awaited[r] = False

    def reply(self, r: Record, code: Answer) -> None:
        """The main's answer to r reaches the producer, if the proxy still waits for it."""
        if self.awaited[r]:
            self.answer[self.connection[r], self.sequence[r]] = code
        self.awaited[r] = False

    # The main admits and reads --------------------------------------------------------------------------------

    @action
    def bump(self) -> None:
        """The main applies a new record G, which fences one more epoch (ZR-55)."""
        self.fenced = self.fenced + 1
        self.current = self.current + 1

    @action(fair="weak", per=("r",))
    def arrive(self, r: Record) -> None:
        """A request arrives, after all that were sent before it. If its epoch is fenced, it fails."""
        require(self.phase[r] == Phase.SENT, "ZR-22")
        require(not any(self.ahead[q, r] and self.phase[q] == Phase.SENT for q in Record), "ZR-23")
        if rule("M-01", self.tag[r] <= self.fenced):
            self.fail_request(r)
        else:
            self.phase[r] = Phase.ADMITTED
            self.tag[r] = Epoch(0)

    @action(fair="weak", per=("r",))
    def read(self, r: Record) -> None:
        """A read of the channel ends. All reads run at once, and end in any order."""
        require(self.phase[r] == Phase.ADMITTED, "ZR-28.read")
        self.phase[r] = Phase.READ

    @action
    def fail_read(self, r: Record) -> None:
        """A read of the channel fails, and with it the request."""
        require(self.phase[r] == Phase.ADMITTED, "ZR-26.fail")
        self.fail_request(r)

    def fail_request(self, r: Record) -> None:
        """The main answers UNKNOWN_SERVER_ERROR (ZR-26), and the proxy makes a retriable code of it (ZR-27)."""
        if rule("M-24"):
            self.reply(r, Answer.LEADER_NOT_AVAILABLE)
        else:
            self.reply(r, Answer.UNKNOWN_SERVER_ERROR)
        self.free(r)

    def free(self, r: Record) -> None:
        """Nothing comes of r any more. Later records do not wait for it (ZR-28)."""
        self.phase[r] = Phase.FREE
        self.sequence[r] = Sequence(0)
        self.tag[r] = Epoch(0)
        for q in Record:
            self.ahead[q, r] = False
        for q in Record:
            self.ahead[r, q] = False

    # The main appends -----------------------------------------------------------------------------------------

    @action(fair="strong", per=("r",))
    def start_append(self, r: Record, t: Thread) -> None:
        """A stripe hands a record to its append loop, which sets the write context and begins the append."""
        require(self.phase[r] == Phase.READ, "ZR-28")
        require(not any(self.ahead[q, r] and self.is_in_stripe(q) for q in Record), "M-22")
        require(self.is_loop_of(self.connection[r], t), "M-22.loop")
        self.occupy(r, t)
        self.phase[r] = Phase.STARTED
        self.context[t] = r

    def occupy(self, r: Record, t: Thread) -> None:
        """A thread without an append goes on with the append of r."""
        require(self.runs[t] is None, "ZR-28.thread")
        self.runs[t] = r

    @action
    def check(self, r: Record, t: Thread) -> None:
        """The append waits until its transaction is checked. Meanwhile the thread takes other records."""
        require(self.phase[r] == Phase.STARTED and self.is_run_by(r, t), "M-21.check")
        require(self.is_idempotent(r), "M-21.transaction")
        self.phase[r] = Phase.CHECKED
        self.runs[t] = None
        if self.carries_context():
            self.context[t] = None

    @action(fair="strong", per=("r",))
    def resume(self, r: Record, t: Thread) -> None:
        """The check ends, and the append goes on with any thread."""
        require(self.phase[r] == Phase.CHECKED, "M-21.resume")
        self.occupy(r, t)
        self.phase[r] = Phase.RESUMED
        if self.carries_context():
            self.context[t] = r

    def carries_context(self) -> bool:
        """Whether the write context leaves the thread with the append that waits, and comes back with it."""
        if rule("M-21"):
            return True
        return False

    @action(fair="weak", per=("r",))
    def append(self, r: Record, t: Thread) -> None:
        """The log appends a batch, and stores it as a link to the record in the write context.

        Of an idempotent producer, it acks a batch again that it has, and refuses a batch behind a gap.
        """
        require(self.phase[r] in (Phase.STARTED, Phase.RESUMED) and self.is_run_by(r, t), "ZR-31.append")
        if rule("ZR-29", self.is_idempotent(r) and self.in_log[self.connection[r], self.sequence[r]]):
            self.runs[t] = None
            self.reply(r, Answer.NONE)
            self.free(r)
        elif rule("ZR-28.sequence", self.is_idempotent(r) and self.has_gap(r)):
            self.runs[t] = None
            self.reply(r, Answer.OUT_OF_ORDER_SEQUENCE_NUMBER)
            self.free(r)
        else:
            self.phase[r] = Phase.APPENDED
            self.in_log[self.connection[r], self.sequence[r]] = True
            self.link[r] = self.context[t]
            if any(self.ahead[r, q] and self.phase[q] == Phase.APPENDED for q in Record):
                self.overtaken = True
        if rule("M-20"):
            self.context[t] = None

    @action(fair="weak", per=("r",))
    def append_index(self, r: Record, t: Thread) -> None:
        """The log appends the index data of the batch, with the write context as it is. Then the thread is free."""
        require(self.phase[r] == Phase.APPENDED and self.is_run_by(r, t), "M-20.index")
        self.index_link[r] = self.context[t]
        self.runs[t] = None

    @action(fair="weak", per=("r",))
    def acknowledge(self, r: Record) -> None:
        """The link of r is durable, and the main answers."""
        require(self.phase[r] == Phase.APPENDED and self.awaited[r], "ZR-31")
        self.reply(r, Answer.NONE)

    # What names an action (the other properties stand in parts/produce_requests.py) ---------------------------

    @step(of="arrive")
    def admitted_above_fence(self, old: Self, r: Record) -> bool:
        """I-3. A request is admitted above the fence that its main knows."""
        return self.phase[r] != Phase.ADMITTED or old.tag[r] > old.fenced

    @step(of="append")
    def appended_in_order(self, old: Self, r: Record, t: Thread) -> bool:
        """I-9. No batch is appended behind a later one of its connection, unless its transaction was checked."""
        return (old.phase[r] == Phase.RESUMED and self.is_idempotent(r)) or all(
            old.phase[q] != Phase.APPENDED for q in Record if old.ahead[r, q] and self.phase[r] == Phase.APPENDED
        )

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def read_out_of_order(self) -> bool:
        """ZR-28. A record is read, while an earlier one in its stripe is not."""
        return any(
            self.ahead[r, q] and self.phase[r] == Phase.ADMITTED and self.phase[q] == Phase.READ
            for r in Record
            for q in Record
        )

    @witness
    def checked_at_once(self) -> bool:
        """M-21. Two batches wait for the checks of their transactions."""
        return any(
            r != q and self.phase[r] == Phase.CHECKED and self.phase[q] == Phase.CHECKED for r in Record for q in Record
        )

    @witness
    def is_twice_in_log(self) -> bool:
        """ZR-29. A batch is appended twice, since the answer to the first attempt was lost."""
        return any(r != q and self.is_same_append(r, q) for r in Record for q in Record)

    @witness
    def was_overtaken(self) -> bool:
        """I-9. A batch whose transaction was checked is appended behind a later one of its connection."""
        return self.overtaken

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "M-24": liveness("V-2", "the producer gives up a batch whose epoch is fenced, or whose read fails"),
            "ZR-28.thread": liveness("V-2", "a batch loses its thread to another one, and is never appended"),
            "M-21@check": redundant(with_="M-21@resume"),
            "M-21@resume": redundant(with_="M-21@check"),
        }
    )
