"""A partition moves to another broker: one lease at any time, nothing acked is lost, and nobody is forgotten.

The six steps: (1) `reassign` writes the record: another replica, no leader. (2) Brokers `observe` an image, and queue a
close or an open. (3) The source, whose log is frozen, drains and `persist`s it, (4) uploads it and sends its closes.
(5) An election follows: the source's, the timer's, or anyone's at any time. (6) The target opens, is refused while the
streams are OPENED, and serves. In G1 it opens first. `parts/registration.py` and `parts/streams.py` are the controller,
`parts/brokers.py` is what a broker holds and how it is recovered, `parts/leases.py` what must hold.

Around them: brokers crash, or are fenced while they run, and come back; workers take over from them; another controller
follows; requests are late or repeated. What lags needs no state: an image that lags is an `observe` that is late, older
ones coalesce with it, a refused open is just not granted yet, and a dead broker that is not fenced yet is like a slow
one, so that `crash` fences it. A late open is one of the broker's newest attempt.

Left out: a second partition (RA-08, RA-12, LP-06), creation, trim, deletion, locks, fast close, cancel, controlled
shutdown, periods of time (RA-21), G1's wait for the meta stream (RA-22), which spares refused requests. A broker that
was taken over from stays fenced until it has restarted.

Where this differs from reassignment.md. Of its guards, RA-05, EL-12 and EL-13 are found by what they keep true at any
time (SP-03, LP-02), before anything is late. The owner check of RA-19 decides nothing: no two brokers have one epoch.
LP-01 needs more than RA-20: ST-24 grants an open that is repeated after the close of its epoch (EX-07), and then the
stream stays OPENED by a broker that does not know (`reopened`). AM-02 (`snapshot_without_flag`) breaks SP-16.
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
    """AM-02: no snapshot has the failover flag, so that a controller that loads one does not know it."""

    tiny = Scope({Node: 2, Stream: 1, Epoch: 5, Offset: 1}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    default = Scope({Node: 2, Stream: 1, Epoch: 7, Offset: 2}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    large = Scope({Node: 3, Stream: 1, Epoch: 7, Offset: 2}, budgets={"reassign": 2, "crash": 1, "isolate": 1})
    two_streams = Scope({Node: 2, Stream: 2, Epoch: 5, Offset: 1}, budgets={"reassign": 1, "crash": 1, "isolate": 1})
    live = Scope(
        {Node: 2, Stream: 1, Epoch: 9, Offset: 1},
        # No open comes late: after one that is repeated, a move need not end (`reopened`).
        budgets={"reassign": 1, "crash": 1, "isolate": 1, "append": 1, "late_open": 0},
    )

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

    # The controller: steps 1 and 5 ----------------------------------------------------------------------------

    @action
    def reassign(self, t: Node) -> None:
        """Step 1. A move to t is accepted."""
        self.accept_reassignment(t)

    @action
    def request_election(self, t: Node) -> None:
        """An operator, the periodic balancing (EL-10) or a late message asks; t is whom the sender has in mind."""
        require(t == self.replica, "SP-12.isr")
        self.accept_election(t)

    @action(fair="weak", per=("n",))
    def ask_election(self, n: Node) -> None:
        """Step 5. The source asks, once its closes are answered; in G1 the target, once it has the log open (EL-07)."""
        closed = all(self.owned_by(s, n) and not self.opened[s] for s in Stream) and not self.frozen[n]
        ready = (self.serves(n) if self.G1 else closed) and self.phase[n] == Phase.UP
        require(ready and (self.replica == n) == self.G1, "RA-18")
        self.accept_election(self.replica)

    @action(fair="weak", per=("earlier",))
    def timer_fires(self, earlier: bool) -> None:
        """Ten seconds have passed since a timer was armed."""
        self.fire_timer(earlier)

    @action
    def change_controller(self) -> None:
        """Another controller takes over. It has the records, and so the registration and the stream table."""
        self.restore_timer()
        if self.snapshot_without_flag:
            self.failover_mode.fill(False)

    # Brokers fail and come back -------------------------------------------------------------------------------

    @action
    def crash(self, n: Node, x: Node) -> None:
        """A process dies, and is fenced when its session has expired."""
        if self.active[n]:
            self.fence(n, x)
        self.end_process(n, Phase.DOWN)

    @action
    def isolate(self, n: Node, x: Node) -> None:
        """A broker that runs is fenced: the controller has not heard it for the time of a session."""
        self.fence(n, x)

    @action(fair="weak", per=("n",))
    def heal(self, n: Node) -> None:
        """It is heard again, and nobody has taken over from it."""
        require(self.phase[n] == Phase.UP and not self.active[n] and not self.taken_over[n], "FO-07.back")
        self.unfence(n)

    @action
    def fail_over(self, n: Node) -> None:
        """A worker begins to recover a fenced broker, dead or alive, that has streams OPENED."""
        require(not self.active[n] and any(self.leased(n, s) for s in Stream), "FO-01")
        require(self.phase[n] != Phase.RECOVERING, "FO-06.newer")
        self.take_wal(n, True)

    @action(fair="weak", per=("n",))
    def restart(self, n: Node) -> None:
        """A broker starts again, fenced. One that finds its WAL taken over halts first."""
        halts = self.phase[n] == Phase.UP and self.taken_over[n]
        require(not self.active[n] and (self.phase[n] == Phase.DOWN or halts), "ID-03")
        self.start_process(n)

    @action(fair="weak", per=("n", "s"))
    def recover(self, n: Node, s: Stream) -> None:
        """The worker or the new process has replayed the WAL of a stream that was left OPENED."""
        require(self.taken_over[n] and self.leased(n, s), "FO-09")
        self.recover_stream(n, s)

    @action(fair="weak", per=("n",))
    def join(self, n: Node) -> None:
        """A restarted broker has closed all that it had left open, and is unfenced."""
        require(self.phase[n] == Phase.RECOVERING and not any(self.leased(n, s) for s in Stream), "FO-08")
        self.begin_serving(n)
        self.unfence(n)

    # What a broker does with the partition: step 2 ------------------------------------------------------------

    @action(fair="weak", per=("n",))
    def observe(self, n: Node) -> None:
        """The newest image is seen, and what it changes is queued; while something is queued, images coalesce."""
        self.see_image(n)

    @action(fair="weak", per=("n",))
    def run_next(self, n: Node) -> None:
        """What is queued begins when the operation before it has ended, whatever its outcome."""
        self.begin_next(n)

    # The target: step 6 ---------------------------------------------------------------------------------------

    @action(fair="weak", per=("n", "s"))
    def open(self, n: Node, s: Stream) -> None:
        """A stream is granted. With the last one, the log is recovered: scanned, unless its flag says clean."""
        require(self.opening[n] and not self.handle[n, s], "CL-01")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)
        self.take_handle(n, s)

    @action
    def open_unheard(self, n: Node, s: Stream) -> None:
        """A stream is granted, and the answer lost; the open is sent again (ST-23)."""
        require(self.opening[n] and not self.handle[n, s], "CL-01.unheard")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)

    @action
    def late_open(self, n: Node, s: Stream) -> None:
        """An openStream arrives for which nobody waits: late, repeated, or of a process that is gone."""
        require(self.tried[n] > Epoch(0), "CL-01.sent")
        self.check_failover(n)
        self.open_stream(s, self.tried[n], n)

    @action(fair="weak", per=("n", "s"))
    def give_up(self, n: Node, s: Stream) -> None:
        """An open is answered with 503, which ends the attempt. 506 does not, however often (RA-21)."""
        require(self.opening[n] and not self.handle[n, s], "CL-01.refused")
        require(self.epoch[s] >= self.tried[n] and self.is_refused(n, s, self.tried[n]), "RA-21")
        self.abandon(n)

    @variant("retry_closes", replaces="give_up")
    def fail_open(self, n: Node, s: Stream) -> None:
        """RA-23 as built: an attempt fails, closes what it has opened, and goes on under the same epoch (AM-20)."""
        require(self.opening[n] and not self.handle[n, s], "RA-23")
        for x in Stream:
            self.close_sent[n, x] = self.tried[n]
            self.handle[n, x] = False

    @action(fair="weak", per=("n",))
    def abort_open(self, n: Node) -> None:
        """A waiter sees an image in which its epoch is no longer the partition's."""
        require(self.opening[n] and self.leader_epoch > self.tried[n], "RA-22.fenced")
        if rule("RA-22"):
            self.abandon(n)

    # The owner, and steps 3 and 4 -----------------------------------------------------------------------------

    @action
    def append(self, n: Node, s: Stream) -> None:
        """A record is accepted."""
        require(not self.opening[n] and self.handle[n, s], "CL-02")
        require(not self.frozen[n], "RA-16.freeze")
        self.pending[n, s] = True

    @action(fair="weak", per=("n", "s"))
    def ack(self, n: Node, s: Stream) -> None:
        """It is durable, the reservation is the process's own, and the producer is told."""
        require(self.pending[n, s], "PL-03")
        require(not self.taken_over[n], "WL-05")
        self.pending[n, s] = False
        self.acked_by[s, self.wal[n, s]] = n
        self.wal[n, s] = self.wal[n, s] + 1

    @action(fair="weak", per=("n", "s"))
    def commit(self, n: Node, s: Stream, a: Offset, b: Offset) -> None:
        """An object with some of what the broker holds is uploaded and committed."""
        require(self.handle[n, s] and a < b and b <= self.wal[n, s], "PL-20")
        self.check_failover(n)
        self.commit_range(s, a, b, n)

    @action(fair="weak", per=("n",))
    def persist(self, n: Node) -> None:
        """Step 3. The frozen log is drained and flushed; then its flag says clean, in the meta stream."""
        require(self.frozen[n] and self.holds_any(n) and not self.clean, "SP-09.frozen")
        require(all(not self.pending[n, s] for s in Stream), "RA-16.drain")
        require(not self.taken_over[n], "WL-05.flag")
        self.flush(n)

    @action(fair="weak", per=("n", "s"))
    def send_close(self, n: Node, s: Stream) -> None:
        """Step 4. What the stream has is committed, and its close is sent."""
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
        """It is answered with 503 or 599, which ends the close too (RA-19)."""
        require(self.closing[n, s] and self.is_refused(n, s, self.close_sent[n, s]), "RA-19")
        self.hear_of_close(n, s)

    @action(idempotent="RA-19")
    def late_close(self, n: Node, s: Stream) -> None:
        """A closeStream arrives for which nobody waits: late, repeated, or of a process that is gone."""
        require(self.close_sent[n, s] > Epoch(0), "CL-07.late")
        self.check_ownership(s, self.close_sent[n, s], n)
        self.close_stream(s)
        self.closed_under[s] = self.close_sent[n, s]

    # Safety (what names no action stands in parts/leases.py) ----------------------------------------------------

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
