------------------------------- MODULE Table -------------------------------
(* The stream table of tests/check/models/table.py without its rule ST-14: *)
(* a process may open a stream that another one still holds.               *)
EXTENDS Naturals, TLC

CONSTANTS n1, n2, p1, p2, s1, None, MaxEpoch

Proc == {p1, p2}
Stream == {s1}
NodeOf == (p1 :> n1 @@ p2 :> n2)

VARIABLES opened, owner, epoch, handle, used

Init ==
    /\ opened = {}
    /\ owner = [s \in Stream |-> None]
    /\ epoch = [s \in Stream |-> 0]
    /\ handle = [p \in Proc, s \in Stream |-> 0]
    /\ used = {}

open(p, s, e) ==
    /\ e > epoch[s]
    /\ opened' = opened \cup {s}
    /\ owner' = [owner EXCEPT ![s] = NodeOf[p]]
    /\ epoch' = [epoch EXCEPT ![s] = e]
    /\ handle' = [handle EXCEPT ![p, s] = e]
    /\ used' = used \cup {<<p, s, e>>}

close(p, s, e) ==
    /\ e > 0 /\ epoch[s] = e /\ <<p, s, e>> \in used
    /\ opened' = opened \ {s}
    /\ handle' = [handle EXCEPT ![p, s] = 0]
    /\ UNCHANGED <<owner, epoch, used>>

Next == \E p \in Proc, s \in Stream, e \in 0..MaxEpoch : open(p, s, e) \/ close(p, s, e)
Spec == Init /\ [][Next]_<<opened, owner, epoch, handle, used>>

SomeOpen == opened # {}
EpochsStay == [][epoch' = epoch]_epoch
OneHandle == \A s \in Stream : \A p, q \in Proc : handle[p, s] > 0 /\ handle[q, s] > 0 => p = q
=============================================================================
