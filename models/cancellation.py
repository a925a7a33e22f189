"""A move is taken back: the partition returns to where it came from, and nothing acked is lost or acked twice.

This model extends the six steps of `reassignment` with a marker and one request:

- The record of a move stores where the partition was, its origin (CA-41). This is the marker of the move.
- A `cancel` is accepted while nobody has been elected. It writes one more record under a new epoch (CA-40): the origin
  has the partition again, and leads at once or after an election (CA-44).
- The origin ends a close that it has begun, and opens again (CA-46). The clean flag, which its closes write into the
  meta stream, outlives each of them.

The marker carries the leader epoch of the latest start, and counts while that is the present epoch. Each record that
elects or re-targets raises the epoch, and so clears the marker without a write of its own.

A cancel may come before the origin knows of the move, while it drains and uploads, between two closes, or after the
last one; with the origin dead, or all brokers; twice; before or after the timer, a second move, or another controller.

Left out: all that `reassignment` leaves out; fast close (CA-50); several replicas. `replica_reassignment` has the rows
on in-sync replicas and KIP-236's records (CA-03, CA-04, CA-22, the min-ISR half of CA-26).

Where reassignment.md 7 is silent or differs:

- If a second reassignment already targets the origin, a later cancel is answered with 85.
- CA-54: so is a cancel after the target was fenced, since the partition has failed over.
- A cancel names no move. A late cancel takes back the next move (docs/findings/CA-20.md).
- CA-41: without it nothing is lost, as section 10 says.
- 10.1: its run to offset reuse (`restore_epoch`) needs no second start.
- LP-05 needs more than section 7. An open that is repeated after the close of its epoch keeps the origin out
  (docs/findings/LP-05.md). Without such an open LP-05 holds, and LP-07 with it.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Flag,
    Ghost,
    Scope,
    action,
    equivalent,
    init,
    invariant,
    leads_to,
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
from models.parts.nodes import Node
from models.parts.registration import R
from models.parts.streams import Epoch, Offset, Stream
from models.reassignment import Reassignment


class CancelAnswer(Enum):
    """The error code of a cancel that finds no move to take back (reassignment.md 11)."""

    NO_REASSIGNMENT_IN_PROGRESS = 85


class Cancellation(Reassignment):
    """One partition, its moves, and cancels that take moves back."""

    restore_epoch: Flag
    """Without CA-40: a cancel restores the whole registration of before the move, and the leader epoch too."""

    tiny = Scope(
        {Node: 2, Stream: 1, Epoch: 4, Offset: 1}, budgets={"reassign": 1, "cancel": 1, "crash": 1, "isolate": 1}
    )
    default = Scope(
        {Node: 3, Stream: 1, Epoch: 4, Offset: 1},
        budgets={"reassign": 2, "cancel": 1, "crash": 0, "isolate": 1, "append": 1},
    )
    two_streams = Scope(
        {Node: 2, Stream: 2, Epoch: 5, Offset: 1}, budgets={"reassign": 1, "cancel": 1, "crash": 0, "isolate": 1}
    )
    large = Scope(
        {Node: 2, Stream: 1, Epoch: 7, Offset: 1}, budgets={"reassign": 2, "cancel": 2, "crash": 1, "isolate": 1}
    )
    live = Scope(
        {Node: 2, Stream: 1, Epoch: 9, Offset: 1},
        # No open comes late: after one that is repeated, a move need not end (`reopened`).
        budgets={"reassign": 1, "cancel": 1, "crash": 0, "isolate": 1, "append": 1, "late_open": 0},
    )
    deep = Scope(
        {Node: 4, Stream: 2, Epoch: 60, Offset: 12},
        budgets={"reassign": 12, "cancel": 8, "crash": 8, "isolate": 8},
        depth=200,
    )

    origin: Node
    """The broker that had the partition before the moves in progress. Without meaning if no move is in progress."""
    moved_under: Epoch
    """The leader epoch of the latest start; 0 if there was none. Together with `origin`, the marker of CA-41."""

    cancelled_under: Ghost[Epoch]
    """The leader epoch of the latest cancel; 0 if there was none."""

    @init
    def start_moves(self, first: Node) -> None:
        """No move is in progress, and there was none."""
        self.origin = first
        self.moved_under = Epoch(0)
        self.cancelled_under = Epoch(0)

    def moves(self) -> bool:
        """Whether a move is in progress: the marker has the present leader epoch, and names another broker."""
        return self.moved_under == self.leader_epoch and self.origin != self.replica

    def was_cancelled(self) -> bool:
        """Whether the newest record is the record of a cancel."""
        return self.cancelled_under == self.leader_epoch

    def is_whole(self, n: Node) -> bool:
        """Whether n has every stream OPENED, or every stream is CLOSED."""
        return all(self.leased(n, s) for s in Stream) or not any(self.opened[s] for s in Stream)

    def is_settled(self) -> bool:
        """Whether the replica leads and serves, and no other broker does anything with the partition."""
        others_rest = all(
            not self.opening[n] and not self.frozen[n] and not self.holds_any(n) for n in Node if n != self.replica
        )
        return self.led_by(self.replica) and self.serves(self.replica) and others_rest

    def check_cancel(self) -> None:
        """CA-42, CA-43, CA-52. A cancel is refused without a move, or from an active target to a dead origin."""
        require(self.origin != self.replica, "CA-20", error=CancelAnswer.NO_REASSIGNMENT_IN_PROGRESS)
        require(self.moved_under == self.leader_epoch, "CA-41", error=CancelAnswer.NO_REASSIGNMENT_IN_PROGRESS)
        # CA-05: if origin and target are both dead, a return to the origin costs nothing.
        alive = self.active[self.origin] or not self.active[self.replica]
        require(alive, "CA-43", error=R.INVALID_REPLICA_ASSIGNMENT)

    # The controller -------------------------------------------------------------------------------------------

    def keep_origin(self) -> None:
        """The record of a start stores where the partition is. A second start keeps the first origin (CA-53)."""
        if rule("CA-53", self.moves()):
            pass
        else:
            self.origin = self.replica

    @action
    def reassign(self, t: Node) -> None:
        """Step 1. The controller accepts a move of the partition to t, and writes the marker."""
        self.keep_origin()
        self.accept_reassignment(t)
        self.moved_under = self.leader_epoch

    @action
    def cancel(self, direct: bool) -> None:
        """The controller takes back the move in progress: AlterPartitionReassignments without replicas.

        `direct`: the origin leads at once. That needs the origin active, and no partition that is half open. Otherwise
        nobody leads, as after a start.
        """
        self.check_cancel()
        require(not direct or self.active[self.origin], "CA-44.active")
        require(not direct or self.is_whole(self.origin), "CA-44.whole")
        self.assign(self.origin)
        self.leader = self.origin if direct else None
        if rule("CA-51", self.leader is None and not self.G1):
            self.timer = True
        self.cancelled_under = self.leader_epoch

    @action(variant="log_grain")
    def reassign_to_leaving(self, t: Node) -> None:
        """In G1 a move may target a broker that shuts down. Its process may have ended already."""
        require(self.G1 and not self.active[t] and t != self.replica, "RA-02.leaving")
        self.keep_origin()
        self.assign(t)
        self.leader = None
        self.moved_under = self.leader_epoch

    @action(variant="log_grain")
    def renew(self, n: Node) -> None:
        """The replica asks for the next leader epoch (CA-47). A move in progress goes on under the new epoch."""
        require(self.replica == n, "CA-47.replica")
        moves = self.moved_under == self.leader_epoch
        self.leader_epoch = self.leader_epoch + 1
        if moves:
            self.moved_under = self.leader_epoch

    @variant("restore_epoch", replaces="cancel")
    def undo(self, direct: bool) -> None:
        """The controller writes the record of before the start again.

        No other record has come in between, since that would have cleared the marker. So the epoch before is one less.
        """
        self.check_cancel()
        require(direct and self.active[self.origin], "CA-44.undo")
        self.replica = self.origin
        self.leader = self.origin
        self.leader_epoch = self.leader_epoch - 1
        self.timer = False
        self.cancelled_under = self.leader_epoch

    # The brokers ----------------------------------------------------------------------------------------------

    @action(fair="weak", per=("n",))
    def observe(self, n: Node) -> None:
        """Step 2. A broker sees the newest image, and queues the close or the open that it asks for (RA-11, RA-13).

        With `restore_epoch` it opens again under an epoch that was given back. Otherwise the origin would not serve.
        """
        queues = self.queued_close[n] or self.queued_open[n] > Epoch(0)
        idle = self.phase[n] == Phase.UP and not queues and not self.opening[n] and not self.serves(n)
        if self.restore_epoch and idle and self.led_by(n) and self.tried[n] == self.leader_epoch:
            self.queued_open[n] = self.leader_epoch
        else:
            self.see_image(n)

    @variant("abort_close", replaces="run_next")
    def resume(self, n: Node) -> None:
        """Without CA-46: an origin that gets the partition back while it closes goes on with its remaining handles."""
        if self.frozen[n] and self.holds_any(n) and self.queued_open[n] > Epoch(0):
            self.frozen[n] = False
            self.queued_open[n] = Epoch(0)
        else:
            self.begin_next(n)

    # Safety (properties without a cancel stand in `reassignment` and its parts) -------------------------------

    @invariant
    def moves_without_leader(self) -> bool:
        """CA-41. While a move may be taken back nobody leads."""
        return not self.moves() or self.leader is None

    @step(of="reassign")
    def origin_is_kept(self, old: Self) -> bool:
        """SP-13, CA-53. The origin is who had the partition before the first of several moves."""
        return self.origin == (old.origin if old.moves() else old.replica)

    @step(of="cancel")
    def returns_to_origin(self, old: Self) -> bool:
        """SP-13. A cancel gives the partition back to its origin, and only while a move is in progress."""
        return old.moves() and self.replica == old.origin and not self.moves()

    @step(of="cancel")
    def cancelled_in_time(self, old: Self) -> bool:
        """SP-13, CA-42. An election is not taken back."""
        return old.leader is None

    @step(of="cancel")
    def stays_online(self, old: Self) -> bool:
        """CA-43, CA-26. No cancel takes the partition from an active broker to one that is not."""
        return self.active[self.replica] or not old.active[old.replica]

    @step(of="cancel")
    def leads_what_is_whole(self, old: Self) -> bool:
        """CA-44. Who leads with the cancel need not wait for the closes of half a partition."""
        return all(self.is_whole(n) for n in Node if self.led_by(n))

    @step
    def chosen_is_active(self, old: Self) -> bool:
        """SP-12, RA-02, CA-05. A broker is active when it becomes leader, or replica in the place of an active one."""
        return all(
            (old.replica == n or self.replica != n or not old.active[old.replica])
            and (old.led_by(n) or not self.led_by(n))
            for n in Node
            if not self.active[n]
        )

    @invariant
    def no_acked_loss(self) -> bool:
        """SP-05, SP-14. What was acked is committed, or its WAL is that of the owner, and the stream OPENED."""
        return all(all(self.is_safe(s, o) for o in Offset) for s in Stream)

    # Liveness -------------------------------------------------------------------------------------------------

    @leads_to
    def cancel_ends(self, n: Node) -> tuple[bool, bool]:
        """LP-05. After a cancel the origin leads and serves some time, if it is active and keeps the partition."""
        return (
            self.was_cancelled() and self.replica == n,
            (self.led_by(n) and self.serves(n)) or not self.active[n] or self.replica != n,
        )

    @leads_to
    def storms_end(self) -> tuple[bool, bool]:
        """LP-07. After the last move or cancel, the replica comes to lead and serve, and no other broker acts."""
        return not self.is_settled(), self.is_settled()

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def went_unnoticed(self) -> bool:
        """RA-13, CA-45. The move was cancelled before the origin knew of it: the origin leads, its log never closed."""
        return any(self.led_by(n) and self.serves(n) and self.tried[n] < self.cancelled_under for n in Node)

    @witness
    def cancelled_in_upload(self) -> bool:
        """CA-46. The origin has the partition again, and what it drains is not committed yet."""
        return any(
            self.was_cancelled() and self.frozen[n] and any(self.wal[n, s] > self.end_offset[s] for s in Stream)
            for n in Node
            if self.replica == n and self.active[n]
        )

    @witness
    def cancelled_after_close(self) -> bool:
        """CA-47. After a cancel the origin serves, under a newer epoch, streams that it had closed itself."""
        return any(
            self.led_by(n)
            and self.serves(n)
            and self.tried[n] == self.cancelled_under
            and any(self.range_start[s] > Offset(0) for s in Stream)
            for n in Node
        )

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
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
        "ST-12@open": equivalent("an attempt under an epoch that has passed needs more epochs; see `reassignment`"),
        "ST-12@open_unheard": equivalent("an attempt under an epoch that has passed needs more epochs"),
        "ST-21": equivalent("no two brokers have one epoch (RA-05)"),
        "CK-02.node": equivalent("no two brokers have one epoch (RA-05)"),
        "CS-26": equivalent("who has a handle has the lease, or is refused by its flag (CK-01.flag)"),
        "CS-28": equivalent("who has a handle has the lease, or is refused by its flag (CK-01.flag)"),
        "CS-29a@recover": equivalent("the replay begins at the end"),
        "CL-01.sent": equivalent("an epoch of 0 is refused anyway (ST-12)"),
        "CL-01.unheard": liveness("LP-04", "an open that nobody waits for is a late one (`reopened`)"),
        "CL-07.sent": redundant("CK-02.epoch_old", "a close that nobody waits for is a late one"),
        "CK-02.epoch_old@close": equivalent("who waits for a close has no newer lease (RA-11)"),
        "CK-02.epoch_new@close": redundant("CK-02.node", "who waits for a close has no older lease (RA-11)"),
        "CS-29b": equivalent("one offset is written; `reassignment` has two"),
        "CL-07.late": equivalent("an epoch of 0 is refused anyway (CK-02)"),
        "G1": sound("the target opens first; streams have the same rules"),
    })  # fmt: skip
