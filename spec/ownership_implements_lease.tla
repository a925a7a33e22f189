--------------------- MODULE ownership_implements_lease ---------------------
(***************************************************************************)
(* Ownership implements Lease.  The holders of a stream are the processes  *)
(* that would ack an append to it now: they have an open handle, and their *)
(* node's reservation names them.  Its newest epoch is the largest that    *)
(* any process has opened it under, or has given up again.  Neither is     *)
(* what the controller's table says: it is what processes do.              *)
(***************************************************************************)
EXTENDS ownership_tiny

Holders == [s \in Stream |-> {p \in Proc : handle[p, s] > 0 /\ reserved[p]}]

Newest ==
    [s \in Stream |->
        CHOOSE e \in Epoch :
            /\ \A p \in Proc : handle[p, s] <= e /\ close_sent[p, s] <= e
            /\ \E p \in Proc : handle[p, s] = e \/ close_sent[p, s] = e]

Abstract ==
    INSTANCE Lease WITH
        Resource <- Stream,
        Holder <- Proc,
        holders <- Holders,
        newest <- Newest

ImplementsLease == Abstract!Spec
=============================================================================
