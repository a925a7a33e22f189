------------------------------- MODULE Values -------------------------------
(* A value of every kind that TLC prints, on the way into a deadlock.        *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS a, b

VARIABLES step, flag, text, pair, queue, members, disk, table, deep, wide

vars == <<step, flag, text, pair, queue, members, disk, table, deep, wide>>

Init ==
    /\ step = -1
    /\ flag = FALSE
    /\ text = "a \"quoted\" word, and a \\"
    /\ pair = <<a, 0>>
    /\ queue = <<>>
    /\ members = {}
    /\ disk = [head |-> 0, owner |-> a, log |-> << >>]
    /\ table = (a :> 1 @@ b :> 2)
    /\ deep = [x |-> {<<1, {a}>>, <<2, {}>>}, y |-> [z |-> (1 :> {b} @@ 3 :> {})]]
    /\ wide = [i \in 1..12 |-> [name |-> "a long name for one of many things", number |-> 1000000 * i]]

Advance ==
    /\ step < 1
    /\ step' = step + 1
    /\ flag' = ~flag
    /\ queue' = Append(queue, [to |-> b, value |-> step])
    /\ members' = members \cup {<<a, step>>, <<b, step>>}
    /\ disk' = [disk EXCEPT !.head = @ + 1, !.owner = b, !.log = Append(@, step)]
    /\ table' = [table EXCEPT ![b] = -3]
    /\ pair' = <<b, 1>>
    /\ UNCHANGED <<text, deep, wide>>

Next == Advance
Spec == Init /\ [][Next]_vars
=============================================================================
