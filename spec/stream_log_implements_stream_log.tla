------------------ MODULE stream_log_implements_stream_log ------------------
(***************************************************************************)
(* StreamLog of models/stream_log.py implements StreamLog.  Leases are as  *)
(* in stream_log_implements_lease, but for their holders: who acks is      *)
(* known by its node.  An offset is kept if a committed upload covers it,  *)
(* or if it lies above the end of an OPENED stream, in the WAL of the node *)
(* that has it open, or will recover it.                                   *)
(***************************************************************************)
EXTENDS stream_log_implements_lease

HolderNodes == [s \in Stream |-> {node_of[p] : p \in Holders[s]}]

Acked ==
    [s \in Stream |->
        {<<o, acked_by[s, o]>> : o \in {a \in Offset : a >= start_offset[s] /\ acked_by[s, a] # Nil}}]

InWal(s, o) == opened[s] /\ o >= end_offset[s] /\ wal[owner[s], s, o] # Nil

Kept == [s \in Stream |-> {o \in Offset : covered[s, o] \/ InWal(s, o)}]

AbstractLog ==
    INSTANCE StreamLog WITH
        Resource <- Stream,
        Holder <- Node,
        holders <- HolderNodes,
        newest <- Newest,
        acked <- Acked,
        start <- start_offset,
        kept <- Kept

ImplementsStreamLog == AbstractLog!LogSpec
=============================================================================
