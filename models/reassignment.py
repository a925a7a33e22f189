"""A partition moves to another broker: one lease at any time, nothing acked is lost, and nobody is forgotten.

The six steps of a move:

- Step 1: `reassign` writes the record, with another replica and no leader.
- Step 2: brokers `observe` an image, and queue a close or an open.
- Step 3: the source freezes its log, drains it, and `persist`s it.
- Step 4: the source uploads its log and sends its closes.
- Step 5: an election follows, asked for by the source, the timer, or anybody at any time.
- Step 6: the target opens, is refused while the streams are OPENED, and then serves. In G1 it opens first.

`parts/registration.py` and `parts/streams.py` model the controller, `parts/brokers.py` the brokers and their recovery;
`parts/leases.py` has the properties. At any time brokers crash, or are fenced while they run, and come back; failover
workers take over from them; another controller follows; requests are late or repeated.

Delays need no state. A late image is a late `observe`, and older images coalesce with it. A refused open is an open
that is not granted yet. A dead broker that is not fenced yet is like a slow one, so `crash` fences at once. A late open
belongs to the broker's newest attempt.

Left out: a second partition (RA-08, RA-12, LP-06), creation, trim, deletion, locks, fast close, cancel, controlled
shutdown, periods of time (RA-21), and G1's wait for the meta stream (RA-22), which only avoids refused requests. A
broker that was taken over from stays fenced until it has restarted.

Where this differs from reassignment.md:

- RA-05, EL-12, EL-13: without them SP-03 or LP-02 breaks at once, before any request is late.
- RA-19: the owner check decides nothing, since no two brokers have one epoch.
- LP-01 needs more than RA-20. ST-24 grants an open that is repeated after the close of its epoch (EX-07). Then the
  stream stays OPENED by a broker that does not know it (`reopened`).
- AM-02 (`snapshot_without_flag`) breaks SP-16.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Flag,
    Scope,
    action,
    equivalent,
    liveness,
    missing,
    outcomes,
    redundant,
    require,
    rule,
    sound,
    step,
    variant,
    witness,
)
from models.parts.brokers import Phase
from models.parts.log_grain import LogGrain
from models.parts.nodes import Node
from models.parts.streams import Epoch, Offset, Stream


class Reassignment(LogGrain):
    """One partition, and the brokers between which it moves."""

    snapshot_without_flag: Flag
    """AM-02: snapshots lack the failover flag, so a controller that loads one forgets it."""

    tiny = Scope({Node: 2, Stream: 1, Epoch: 5, Offset: 1}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    default = Scope({Node: 2, Stream: 1, Epoch: 7, Offset: 2}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    large = Scope({Node: 3, Stream: 1, Epoch: 7, Offset: 2}, budgets={"reassign": 2, "crash": 1, "isolate": 1})
    two_streams = Scope({Node: 2, Stream: 2, Epoch: 5, Offset: 1}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    live = Scope(
        {Node: 2, Stream: 1, Epoch: 9, Offset: 1},
        # No open comes late: after one that is repeated, a move need not end (`reopened`).
        budgets={"reassign": 1, "crash": 1, "isolate": 1, "append": 1, "late_open": 0},
    )
    deep = Scope(
        {Node: 4, Stream: 2, Epoch: 60, Offset: 12}, budgets={"reassign": 12, "crash": 8, "isolate": 8}, depth=200
    )

    # The controller: steps 1 and 5 ----------------------------------------------------------------------------

    @action
    def reassign(self, t: Node) -> None:
        """Step 1. The controller accepts a move of the partition to t."""
        self.accept_reassignment(t)

    @action
    def request_election(self, t: Node) -> None:
        """An operator, the periodic balancing (EL-10) or a late message asks that t becomes leader."""
        require(t == self.replica, "SP-12.isr")
        self.accept_election(t)

    @action(fair="weak", per=("n",))
    def ask_election(self, n: Node) -> None:
        """Step 5. The source asks for an election, once its closes are answered.

        In G1 the target asks, once it has the log open (EL-07).
        """
        closed = all(self.owned_by(s, n) and not self.opened[s] for s in Stream) and not self.frozen[n]
        ready = (self.serves(n) if self.G1 else closed) and self.phase[n] == Phase.UP
        # In G0 the source asks, which is not the replica any more; in G1 the target asks, which is the replica.
        require(ready and (self.replica == n) == self.G1, "RA-18")
        self.accept_election(self.replica)

    @action(fair="weak", per=("earlier",))
    def timer_fires(self, earlier: bool) -> None:
        """Ten seconds have passed since a timer was armed, and it fires."""
        self.fire_timer(earlier)

    @action
    def change_controller(self) -> None:
        """Another controller takes over. It has the registration and the stream table, but no timers."""
        self.restore_timer()
        if self.snapshot_without_flag:
            self.failover_mode.fill(False)

    # Brokers fail and come back -------------------------------------------------------------------------------

    @action
    def crash(self, n: Node, x: Node) -> None:
        """The process of n dies. The controller fences n when its session expires, and its partition goes to x."""
        if self.active[n]:
            self.fence(n, x)
        self.end_process(n, Phase.DOWN)

    @action
    def isolate(self, n: Node, x: Node) -> None:
        """The controller fences a running broker that it has not heard for a session. Its partition goes to x."""
        self.fence(n, x)

    @action(fair="weak", per=("n",))
    def heal(self, n: Node) -> None:
        """The controller hears from a fenced broker again, and nobody has taken over from it."""
        require(self.phase[n] == Phase.UP and not self.active[n] and not self.taken_over[n], "FO-07.back")
        self.unfence(n)

    @action
    def fail_over(self, n: Node) -> None:
        """A failover worker begins to recover a fenced broker, dead or alive, that has streams OPENED (FO-01)."""
        require(not self.active[n] and any(self.leased(n, s) for s in Stream), "FO-01")
        require(self.phase[n] != Phase.RECOVERING, "FO-06.newer")
        self.take_wal(n, True)

    @action(fair="weak", per=("n",))
    def restart(self, n: Node) -> None:
        """A fenced broker starts its next process. A process that finds its WAL taken over halts first."""
        halts = self.phase[n] == Phase.UP and self.taken_over[n]
        require(not self.active[n] and (self.phase[n] == Phase.DOWN or halts), "ID-03")
        self.start_process(n)

    @action(fair="weak", per=("n", "s"))
    def recover(self, n: Node, s: Stream) -> None:
        """The worker or the new process has replayed the WAL of a stream left OPENED, and closes the stream (FO-09)."""
        require(self.taken_over[n] and self.leased(n, s), "FO-09")
        self.recover_stream(n, s)

    @action(fair="weak", per=("n",))
    def join(self, n: Node) -> None:
        """A restarted broker has closed all streams that it had left open, and is unfenced (FO-08)."""
        require(self.phase[n] == Phase.RECOVERING and not any(self.leased(n, s) for s in Stream), "FO-08")
        self.begin_serving(n)
        self.unfence(n)

    # What a broker does with the partition: step 2 ------------------------------------------------------------

    @action(fair="weak", per=("n",))
    def observe(self, n: Node) -> None:
        """Step 2. A broker sees the newest image, and queues the close or the open that it asks for (RA-11, RA-13)."""
        self.see_image(n)

    @action(fair="weak", per=("n",))
    def run_next(self, n: Node) -> None:
        """A broker begins its queued operation, once the operation before it has ended with any outcome (RA-11)."""
        self.begin_next(n)

    # The target: step 6 ---------------------------------------------------------------------------------------

    @action(fair="weak", per=("n", "s"))
    def open(self, n: Node, s: Stream) -> None:
        """Step 6. The controller grants a stream, and the target hears it. With the last stream it recovers the log."""
        require(self.opening[n] and not self.handle[n, s], "CL-01")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)
        self.take_handle(n, s)

    @action
    def open_unheard(self, n: Node, s: Stream) -> None:
        """The controller grants a stream, and the answer is lost. The target sends the open again (ST-23)."""
        require(self.opening[n] and not self.handle[n, s], "CL-01.unheard")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)

    @action
    def late_open(self, n: Node, s: Stream) -> None:
        """An openStream arrives for which nobody waits: it is late, repeated, or of a process that has ended."""
        require(self.tried[n] > Epoch(0), "CL-01.sent")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)

    @action(fair="weak", per=("n", "s"))
    def give_up(self, n: Node, s: Stream) -> None:
        """The target's open is answered with 503, and the target gives up. It repeats an open after 506 (RA-21)."""
        require(self.opening[n] and not self.handle[n, s], "CL-01.refused")
        # An open above the stream's epoch is granted, or answered with 506 while the stream is OPENED.
        require(self.epoch[s] >= self.tried[n] and self.is_refused(n, s, self.tried[n]), "RA-21")
        self.abandon(n)

    @variant("retry_closes", replaces="give_up")
    def fail_open(self, n: Node, s: Stream) -> None:
        """RA-23 as built: a failed attempt closes what it has opened, and goes on under the same epoch (AM-20)."""
        require(self.opening[n] and not self.handle[n, s], "RA-23")
        for x in Stream:
            self.close_sent[n, x] = self.tried[n]
            self.handle[n, x] = False

    @action(fair="weak", per=("n",))
    def abort_open(self, n: Node) -> None:
        """A waiting target sees an image with a newer leader epoch, and gives up (RA-22)."""
        require(self.opening[n] and self.leader_epoch > self.tried[n], "RA-22.fenced")
        if rule("RA-22"):
            self.abandon(n)

    # The owner, and steps 3 and 4 -----------------------------------------------------------------------------

    @action
    def append(self, n: Node, s: Stream) -> None:
        """A broker accepts a record while it has the log open and does not close it, whoever leads."""
        require(not self.opening[n] and self.handle[n, s], "CL-02")
        require(not self.frozen[n], "RA-16.freeze")
        self.pending[n, s] = True

    @action(fair="weak", per=("n", "s"))
    def ack(self, n: Node, s: Stream) -> None:
        """A broker acks its pending record: the record is durable, and the reservation still names the process."""
        require(self.pending[n, s], "PL-03")
        require(not self.taken_over[n], "WL-05")
        self.pending[n, s] = False
        self.acked_by[s, self.wal[n, s]] = n
        self.wal[n, s] = self.wal[n, s] + 1

    @action(fair="weak", per=("n", "s"))
    def commit(self, n: Node, s: Stream, a: Offset, b: Offset) -> None:
        """A broker uploads an object with some of its records, and the controller commits it."""
        require(self.handle[n, s] and a < b and b <= self.wal[n, s], "PL-20")
        self.check_failover(n)
        self.commit_range(s, a, b, n)

    @action(fair="weak", per=("n",))
    def persist(self, n: Node) -> None:
        """Step 3. The source has drained its frozen log. It flushes the log, and sets the flag in the meta stream."""
        require(self.frozen[n] and self.holds_any(n) and not self.clean, "SP-09.frozen")
        require(all(not self.pending[n, s] for s in Stream), "RA-16.drain")
        require(not self.taken_over[n], "WL-05.flag")
        self.flush(n)

    @action(fair="weak", per=("n", "s"))
    def send_close(self, n: Node, s: Stream) -> None:
        """Step 4. The source has committed all records of a stream, and sends its close."""
        require(self.frozen[n] and self.handle[n, s] and self.clean, "CL-07")
        require(self.wal[n, s] <= self.end_offset[s], "RA-17")
        self.ask_to_close(n, s)

    @action(fair="weak", per=("n", "s"))
    def close(self, n: Node, s: Stream) -> None:
        """A closeStream arrives, and its sender hears the answer."""
        require(self.closing[n, s], "CL-07.sent")
        self.check_ownership(s, self.close_sent[n, s], n)
        self.close_stream(s)
        self.closed_under[s] = self.close_sent[n, s]
        self.hear_of_close(n, s)

    @action(fair="weak", per=("n", "s"))
    def close_in_vain(self, n: Node, s: Stream) -> None:
        """A closeStream is answered with 503 or 599, which ends the close too (RA-19)."""
        require(self.closing[n, s] and self.is_refused(n, s, self.close_sent[n, s]), "RA-19")
        self.hear_of_close(n, s)

    @action(idempotent="RA-19")
    def late_close(self, n: Node, s: Stream) -> None:
        """A closeStream arrives for which nobody waits: it is late, repeated, or of a process that has ended."""
        require(self.close_sent[n, s] > Epoch(0), "CL-07.late")
        self.check_ownership(s, self.close_sent[n, s], n)
        self.close_stream(s)
        self.closed_under[s] = self.close_sent[n, s]

    # Safety (properties that name no action stand in parts/leases.py) -----------------------------------------

    @step(of="ack")
    def acked_once(self, old: Self, n: Node, s: Stream) -> bool:
        """SP-06. No offset is acked twice."""
        return old.acked_by[s, old.wal[n, s]] is None

    @step(of="commit")
    def committed_once(self, old: Self, s: Stream, a: Offset, b: Offset) -> bool:
        """SP-04. No offset is committed twice."""
        return not any(old.covered[s, o] for o in Offset if a <= o and o < b)

    @step(of="late_close")
    def closed_by_its_owner(self, old: Self, n: Node, s: Stream) -> bool:
        """SP-16. A late close ends no lease but that of its sender and epoch."""
        return not old.opened[s] or (old.leased(n, s) and old.epoch[s] == old.close_sent[n, s])

    @step(of="close_in_vain")
    def lease_was_lost(self, old: Self, n: Node, s: Stream) -> bool:
        """RA-19. A close ends without effect only where its sender has lost the lease."""
        return not old.leased(n, s) or old.epoch[s] != old.close_sent[n, s]

    @step(of="ask_election")
    def asks_in_time(self, old: Self, n: Node) -> bool:
        """RA-18, EL-07. The source asks for an election when all its streams are CLOSED; in G1 a target that serves."""
        return old.serves(n) if self.G1 else not any(old.opened[s] for s in Stream)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def moved(self) -> bool:
        """A broker leads and serves above what another has left."""
        return any(
            self.serves(n) and self.led_by(n) and all(self.range_start[s] > Offset(0) for s in Stream) for n in Node
        )

    @witness
    def elected_early(self) -> bool:
        """EL-09. A broker leads while another one still acks."""
        return any(
            any(self.can_ack(n, s) for s in Stream) for n in Node if not self.led_by(n) and self.leader is not None
        )

    @witness
    def went_unnoticed(self) -> bool:
        """RA-13. The partition has gone from its leader and come back, and the log was open all the time."""
        return any(self.serves(n) and self.led_by(n) and self.leader_epoch > self.tried[n] + 3 for n in Node)

    @witness
    def came_back(self) -> bool:
        """A broker serves again above what it has left itself, under a newer epoch."""
        return any(
            any(o < self.range_start[s] for s in Stream for o in Offset if self.is_acked_by(n, s, o))
            for n in Node
            if self.serves(n)
        )

    @witness
    def reopened(self) -> bool:
        """ST-24. A repeated open has come after the close of its epoch: OPENED, and nobody will close it."""
        return any(
            all(
                not self.active[n] or not (self.opening[n] or self.frozen[n] or self.serves(n))
                for n in Node
                if self.leased(n, s)
            )
            for s in Stream
            if self.opened[s] and self.closed_under[s] == self.epoch[s]
        )

    @witness
    def zombie(self) -> bool:
        """A broker believes that it serves, while another one does."""
        return any(any(self.serves(m) and self.active[m] for m in Node if m != n) for n in Node if self.serves(n))

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "RA-04": missing("clients: they follow the leader, away from a broker that still serves"),
            "RA-22": liveness("LP-04", "a waiter whose epoch has passed is refused with 506 for ever"),
            "ST-13": liveness("LP-04", "an open whose answer was lost is refused with 506 for ever"),
            "ST-13@open_unheard": missing("who hears the refusal: an open that is heard comes too (ST-13@open)"),
            "ST-13@late_open": missing("who hears the refusal: nobody waits for the answer"),
            "EL-08.leader@timer_fires": equivalent("a timer runs only while nobody leads"),
            "ST-11": equivalent("no stream is deleted here"),
            "CK-02.missing": equivalent("no stream is deleted here"),
            "CS-20": equivalent("no stream is deleted here"),
            "CS-21": equivalent("nothing is trimmed here"),
            "ST-20": equivalent("every stream has a range from the start"),
            "CK-02.no_range": equivalent("every stream has a range from the start"),
            "CS-27": equivalent("every stream has a range from the start"),
            "ST-21": equivalent("no two brokers have one epoch (RA-05)"),
            "CK-02.node": equivalent("no two brokers have one epoch (RA-05)"),
            "CS-26": equivalent("who has a handle has the lease, or is refused by its flag (CK-01.flag)"),
            "CS-28": equivalent("who has a handle has the lease, or is refused by its flag (CK-01.flag)"),
            "CS-29a@recover": equivalent("the replay begins at the end"),
            "CS-29b@recover": equivalent("the replay begins at the end"),
            "CL-01.sent": equivalent("an epoch of 0 is refused anyway (ST-12)"),
            "CL-01.unheard": liveness("move_ends", "an open that nobody waits for opens what was closed (`reopened`)"),
            "CL-07.sent": redundant("CK-02.epoch_old", "a close that nobody waits for is a late one"),
            "CK-02.epoch_old@close": equivalent("who waits for a close has no newer lease (RA-11)"),
            "CK-02.epoch_new@close": redundant("CK-02.node", "who waits for a close has no older lease (RA-11)"),
            "CL-07.late": equivalent("an epoch of 0 is refused anyway (CK-02)"),
            "G1": sound("the target opens first; streams have the same rules"),
        }
    )
