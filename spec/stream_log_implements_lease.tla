-------------------- MODULE stream_log_implements_lease --------------------
(***************************************************************************)
(* StreamLog of models/stream_log.py implements Lease.  The holder of a    *)
(* stream is the process that would ack an append to it: the stream is     *)
(* open there, and its node's reservation names it.  An epoch is used up   *)
(* as soon as the controller has stored it, and with a stream all of its   *)
(* epochs go.                                                              *)
(***************************************************************************)
EXTENDS stream_log_tiny

Holders == [s \in Stream |-> {p \in Proc : mode[p, s] = "OPEN" /\ reserved[p]}]

Newest == [s \in Stream |-> IF exists[s] THEN epoch[s] ELSE MaxEpoch + 1]

Abstract ==
    INSTANCE Lease WITH
        Resource <- Stream,
        Holder <- Proc,
        holders <- Holders,
        newest <- Newest

ImplementsLease == Abstract!Spec
=============================================================================
