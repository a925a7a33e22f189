----------------- MODULE reassignment_implements_stream_log -----------------
(***************************************************************************)
(* Reassignment implements StreamLog.  The holder of a stream is the       *)
(* broker that would ack a record of it: it has a handle, and nobody has   *)
(* taken its WAL over.  The epoch of a stream is used up when its opener   *)
(* hears of it, or can no longer: until then it waits for a lease that     *)
(* nobody has had.  An offset is kept if a committed upload covers it, or  *)
(* if it lies in the WAL of the broker by which the stream is OPENED.      *)
(***************************************************************************)
EXTENDS reassignment_tiny

Holders == [s \in Stream |-> {n \in Node : handle[n, s] /\ ~taken_over[n]}]

Unheard(s) == \E n \in Node : owner[s] = n /\ opening[n] /\ tried[n] = epoch[s] /\ ~handle[n, s]

Newest == [s \in Stream |-> IF Unheard(s) THEN epoch[s] - 1 ELSE epoch[s]]

Acked ==
    [s \in Stream |-> {<<o, acked_by[s, o]>> : o \in {a \in Offset : acked_by[s, a] # Nil}}]

InWal(s, o) == opened[s] /\ o >= end_offset[s] /\ o < wal[owner[s], s]

Kept == [s \in Stream |-> {o \in Offset : covered[s, o] \/ InWal(s, o)}]

AbstractLog ==
    INSTANCE StreamLog WITH
        Resource <- Stream,
        Holder <- Node,
        holders <- Holders,
        newest <- Newest,
        acked <- Acked,
        start <- start_offset,
        kept <- Kept

ImplementsStreamLog == AbstractLog!LogSpec
=============================================================================
