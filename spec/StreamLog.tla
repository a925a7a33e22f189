----------------------------- MODULE StreamLog -----------------------------
(***************************************************************************)
(* Logs that one holder at a time appends to, under a lease.  An append is *)
(* acked once, by the holder, at an offset that was not acked before.      *)
(* What was acked is never taken back, and it stays readable from wherever *)
(* the log keeps it, until it is trimmed: acked is for ever.               *)
(*                                                                         *)
(* The log of a resource is what was acked and is not trimmed: pairs of an *)
(* offset and the one who acked it, which stands for the record's          *)
(* contents.                                                               *)
(***************************************************************************)
EXTENDS Lease

VARIABLES
    acked,  \* Resource -> pairs <<offset, who acked it>>, from the start on
    start,  \* Resource -> what lies below this offset is trimmed
    kept    \* Resource -> the offsets that can be read, or will be once a takeover ends

log == <<acked, start, kept>>

Offsets(pairs) == {pair[1] : pair \in pairs}

From(offset, pairs) == {pair \in pairs : pair[1] >= offset}

LogTypeOK ==
    /\ \A r \in Resource : acked[r] \subseteq Nat \X Holder
    /\ start \in [Resource -> Nat]
    /\ kept \in [Resource -> SUBSET Nat]

LogInit ==
    /\ Init
    /\ acked = [r \in Resource |-> {}]
    /\ start = [r \in Resource |-> 0]
    /\ kept = [r \in Resource |-> {}]

\* The holder acks one record or more. (Of those below the start nothing is said.)
Ack(r) ==
    LET new == acked'[r] \ acked[r] IN
    /\ acked[r] \subseteq acked'[r]
    /\ new # {}
    /\ Offsets(new) \cap Offsets(acked[r]) = {}
    /\ \A pair \in new : pair[1] >= start[r] /\ pair[2] \in holders[r]
    /\ start'[r] = start[r]
    /\ holders'[r] = holders[r]

\* What lies below the new start is trimmed; or nothing happens to the log.
Trim(r) ==
    /\ start'[r] >= start[r]
    /\ acked'[r] = From(start'[r], acked[r])

\* The whole log goes, at once, while nobody holds it.
Remove(r) ==
    /\ holders[r] = {}
    /\ acked'[r] = {}
    /\ start'[r] = 0

\* Where a log is kept may change at any time, as long as nothing of it is lost.
Readable(r) == Offsets(acked[r]) \subseteq kept[r]

LogNext ==
    \A r \in Resource :
        /\ Ack(r) \/ Trim(r) \/ Remove(r)
        /\ Readable(r)'

LogSpec == Spec /\ LogInit /\ [][LogNext]_<<leases, log>>

-----------------------------------------------------------------------------
\* What follows

AckedOnce ==
    \A r \in Resource : \A one, other \in acked[r] : one[1] = other[1] => one = other

AckedIsForEver ==
    [][\A r \in Resource :
           \/ From(start'[r], acked[r]) \subseteq acked'[r]
           \/ holders[r] = {} /\ acked'[r] = {}]_<<leases, log>>

THEOREM LogSpec => [](AckedOnce /\ \A r \in Resource : Readable(r)) /\ AckedIsForEver
=============================================================================
