------------------ MODULE ownership_implements_stream_log ------------------
(***************************************************************************)
(* Ownership implements StreamLog.  Leases are as in                       *)
(* ownership_implements_lease.  An offset is kept if a committed upload    *)
(* covers it, or if the WAL of the node that acked it will still be        *)
(* uploaded: the stream is OPENED by that node, and ends below the offset. *)
(***************************************************************************)
EXTENDS ownership_implements_lease

Acked ==
    [s \in Stream |->
        {<<o, acked_by[s, o]>> : o \in {a \in Offset : a >= start_offset[s] /\ acked_by[s, a] # Nil}}]

InWal(s, o) ==
    /\ acked_by[s, o] # Nil
    /\ opened[s]
    /\ owner[s] = node_of[acked_by[s, o]]
    /\ o >= end_offset[s]

Kept == [s \in Stream |-> {o \in Offset : covered[s, o] \/ InWal(s, o)}]

AbstractLog ==
    INSTANCE StreamLog WITH
        Resource <- Stream,
        Holder <- Proc,
        holders <- Holders,
        newest <- Newest,
        acked <- Acked,
        start <- start_offset,
        kept <- Kept

ImplementsStreamLog == AbstractLog!LogSpec
=============================================================================
