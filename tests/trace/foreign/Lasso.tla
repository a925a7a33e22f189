------------------------------- MODULE Lasso -------------------------------
(* A token that goes round for ever and never comes home, or stops.          *)
EXTENDS Naturals

CONSTANT Fair

VARIABLES at, home

Init == at = 0 /\ home = FALSE

Leave == at = 0 /\ at' = 1 /\ UNCHANGED home
Round == at > 0 /\ at' = (at % 3) + 1 /\ UNCHANGED home
Return == at = 3 /\ at' = 0 /\ home' = TRUE

Next == Leave \/ Round \/ Return
Spec == Init /\ [][Next]_<<at, home>> /\ (Fair => WF_<<at, home>>(Leave \/ Round))

ComesHome == <>home
=============================================================================
