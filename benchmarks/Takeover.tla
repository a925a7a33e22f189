------------------------------ MODULE Takeover ------------------------------
(***************************************************************************)
(* Streams that are taken over under epochs, with requests that come late  *)
(* and more than once: takeover.py, written again by hand. Actions and     *)
(* properties have its names and stand in its order. Where the Python      *)
(* model would assign beyond a bound of its scope, a guard stands here.    *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS Node, Stream,  \* sets of model values
          MaxEpoch,      \* the largest epoch
          Moves,         \* how many moves there may be
          None           \* "no node"

Epoch == 0..MaxEpoch

VARIABLES opened, epoch, owner, assigned, openSent, closeSent, handle, movesLeft

controller == <<opened, epoch, owner>>
network == <<openSent, closeSent>>
vars == <<opened, epoch, owner, assigned, openSent, closeSent, handle, movesLeft>>

Init ==
    /\ opened = [s \in Stream |-> FALSE]
    /\ epoch = [s \in Stream |-> 0]
    /\ owner = [s \in Stream |-> None]
    /\ assigned = [s \in Stream |-> None]
    /\ openSent = [n \in Node, s \in Stream |-> 0]
    /\ closeSent = [n \in Node, s \in Stream |-> 0]
    /\ handle = [n \in Node, s \in Stream |-> 0]
    /\ movesLeft = Moves

(***************************************************************************)
(* Actions                                                                 *)
(***************************************************************************)
Move(s, n) ==
    /\ assigned[s] # n
    /\ movesLeft > 0
    /\ assigned' = [assigned EXCEPT ![s] = n]
    /\ movesLeft' = movesLeft - 1
    /\ UNCHANGED <<controller, network, handle>>

SendOpen(n, s, e) ==
    /\ assigned[s] = n
    /\ handle[n, s] = 0
    /\ e > epoch[s]
    /\ e > openSent[n, s]
    /\ openSent' = [openSent EXCEPT ![n, s] = e]
    /\ UNCHANGED <<controller, closeSent, handle, assigned, movesLeft>>

ReceiveOpen(n, s, heard) ==
    LET e == openSent[n, s] IN
    /\ e > 0
    /\ epoch[s] <= e
    /\ heard => e > closeSent[n, s] /\ handle[n, s] = 0
    /\ IF epoch[s] = e THEN owner[s] = n ELSE ~opened[s]
    /\ epoch' = [epoch EXCEPT ![s] = e]
    /\ owner' = [owner EXCEPT ![s] = n]
    /\ opened' = [opened EXCEPT ![s] = TRUE]
    /\ handle' = IF heard THEN [handle EXCEPT ![n, s] = e] ELSE handle
    /\ UNCHANGED <<network, assigned, movesLeft>>

SendClose(n, s) ==
    /\ handle[n, s] > 0
    /\ assigned[s] # n
    /\ closeSent' = [closeSent EXCEPT ![n, s] = handle[n, s]]
    /\ handle' = [handle EXCEPT ![n, s] = 0]
    /\ UNCHANGED <<controller, openSent, assigned, movesLeft>>

ReceiveClose(n, s) ==
    /\ closeSent[n, s] > 0
    /\ epoch[s] = closeSent[n, s]
    /\ owner[s] = n
    /\ opened' = [opened EXCEPT ![s] = FALSE]
    /\ UNCHANGED <<epoch, owner, network, handle, assigned, movesLeft>>

\* The guard is no \E: TLC would make a step of each stream that it holds for, and count these equal steps apart.
Crash(n) ==
    /\ {s \in Stream : handle[n, s] > 0} # {}
    /\ handle' = [m \in Node, s \in Stream |-> IF m = n THEN 0 ELSE handle[m, s]]
    /\ UNCHANGED <<controller, network, assigned, movesLeft>>

Recover(n, s) ==
    /\ opened[s]
    /\ owner[s] = n
    /\ handle[n, s] = 0
    /\ epoch[s] > closeSent[n, s]
    /\ closeSent' = [closeSent EXCEPT ![n, s] = epoch[s]]
    /\ UNCHANGED <<controller, openSent, handle, assigned, movesLeft>>

Next ==
    \/ \E s \in Stream, n \in Node : Move(s, n)
    \/ \E n \in Node, s \in Stream, e \in Epoch : SendOpen(n, s, e)
    \/ \E n \in Node, s \in Stream, heard \in BOOLEAN : ReceiveOpen(n, s, heard)
    \/ \E n \in Node, s \in Stream : SendClose(n, s)
    \/ \E n \in Node, s \in Stream : ReceiveClose(n, s)
    \/ \E n \in Node : Crash(n)
    \/ \E n \in Node, s \in Stream : Recover(n, s)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Properties                                                              *)
(***************************************************************************)
\* INV-01. No two nodes have an open handle on one stream.
OneWriter == \A s \in Stream : \A n, m \in Node : handle[n, s] > 0 /\ handle[m, s] > 0 => n = m

\* INV-01. Who has an open handle has the stream open under its epoch.
HandlesAreCurrent ==
    \A s \in Stream : \A n \in Node :
        handle[n, s] > 0 => opened[s] /\ owner[s] = n /\ epoch[s] = handle[n, s]

\* INV-01. An OPENED stream has a current range.
OpenedHasOwner == \A s \in Stream : opened[s] => owner[s] # None

\* CL-07. A node closes what it has opened, under no epoch that the controller has not seen.
ClosesFollowOpens ==
    \A s \in Stream : \A n \in Node : closeSent[n, s] <= openSent[n, s] /\ closeSent[n, s] <= epoch[s]

\* INV-04. The epoch of a stream never decreases.
EpochsGrow == [][\A s \in Stream : epoch'[s] >= epoch[s]]_vars
=============================================================================
