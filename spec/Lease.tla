------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* Leases on resources.  At most one holder has a resource at a time, and  *)
(* whoever comes to have it does so under an epoch that is larger than     *)
(* every one before.  So an epoch names one holder for ever, and whatever  *)
(* guards the resource need only remember the largest epoch it has seen.   *)
(*                                                                         *)
(* A holder is one who would act as the holder of the resource: nothing is *)
(* said about who granted the lease, or about what anybody else believes.  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Resource,
    Holder

VARIABLES
    holders,  \* Resource -> who acts as its holder
    newest    \* Resource -> the largest epoch that anybody has had a lease under; 0: nobody has

leases == <<holders, newest>>

TypeOK ==
    /\ holders \in [Resource -> SUBSET Holder]
    /\ newest \in [Resource -> Nat]

\* Nobody has a resource yet, or somebody does, as the first.
Init ==
    /\ holders \in [Resource -> {{}} \cup {{h} : h \in Holder}]
    /\ newest = [r \in Resource |-> Cardinality(holders[r])]

Stay(r) ==
    /\ holders'[r] = holders[r]
    /\ newest'[r] = newest[r]

\* Somebody takes a resource that nobody has.
Acquire(r) ==
    /\ holders[r] = {}
    /\ \E h \in Holder : holders'[r] = {h}
    /\ newest'[r] > newest[r]

\* The holder gives up, or is cut off. The epoch is not used again.
Release(r) ==
    /\ holders[r] # {}
    /\ holders'[r] = {}
    /\ newest'[r] = newest[r]

\* A lease that nobody acts upon: it ended before its holder knew of it.
Waste(r) ==
    /\ holders[r] = {}
    /\ holders'[r] = {}
    /\ newest'[r] > newest[r]

\* A crash may end many leases at once.
Next == \A r \in Resource : Stay(r) \/ Acquire(r) \/ Release(r) \/ Waste(r)

Spec == Init /\ [][Next]_leases

-----------------------------------------------------------------------------
\* What follows

OneHolder == \A r \in Resource : Cardinality(holders[r]) <= 1

\* Whoever is new has a new epoch, and no epoch comes back.
EpochsGrow ==
    [][\A r \in Resource :
           /\ newest'[r] >= newest[r]
           /\ holders'[r] \subseteq holders[r] \/ newest'[r] > newest[r]]_leases

THEOREM Spec => [](TypeOK /\ OneHolder) /\ EpochsGrow
=============================================================================
