------------------------- MODULE chain_replication -------------------------
\* Chain replication: the hand-written counterpart of docs/examples/chain_replication.py.
EXTENDS Naturals, Sequences

CONSTANTS Node, Update, MaxLen

ASSUME Node \subseteq Nat  \* the order of the numbers is that of the chain

VARIABLES
    up,      \* the nodes that have not failed
    log,     \* for each node, the updates that it has
    passed,  \* for each node, how many updates it has handed to its successor
    acked,   \* for each node, how many updates the tail has, as the node knows
    seen     \* the updates that queries have answered, with their places; history for AnswersLast

vars == <<up, log, passed, acked, seen>>

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y

ChainHead == Min(up)
ChainTail == Max(up)
Successor(n) == Min({m \in up : m > n})
Predecessor(n) == Max({m \in up : m < n})

IsPrefix(s, t) == Len(s) <= Len(t) /\ s = SubSeq(t, 1, Len(s))

TypeOK ==
    /\ up \subseteq Node
    /\ log \in [Node -> Seq(Update)]
    /\ passed \in [Node -> 0..MaxLen]
    /\ acked \in [Node -> 0..MaxLen]
    /\ seen \subseteq (1..MaxLen) \X Update

Init ==
    /\ up = Node
    /\ log = [n \in Node |-> <<>>]
    /\ passed = [n \in Node |-> 0]
    /\ acked = [n \in Node |-> 0]
    /\ seen = {}

----------------------------------------------------------------------------
\* A client sends an update to the head.
Submit(u) ==
    /\ Len(log[ChainHead]) < MaxLen
    /\ log' = [log EXCEPT ![ChainHead] = Append(@, u)]
    /\ UNCHANGED <<up, passed, acked, seen>>

\* A node hands its next update to its successor.
Forward(n) ==
    /\ n \in up \ {ChainTail}
    /\ passed[n] < Len(log[n])
    /\ log' = [log EXCEPT ![Successor(n)] = Append(@, log[n][passed[n] + 1])]
    /\ passed' = [passed EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<up, acked, seen>>

\* A node learns from its successor how much the tail has.
Acknowledge(n) ==
    /\ n \in up
    /\ acked' = [acked EXCEPT ![n] = IF n = ChainTail THEN Len(log[n]) ELSE acked[Successor(n)]]
    /\ UNCHANGED <<up, log, passed, seen>>

Answer == {<<i, log[ChainTail][i]>> : i \in DOMAIN log[ChainTail]}

\* A client asks the tail.
Query ==
    /\ seen' = seen \cup Answer
    /\ UNCHANGED <<up, log, passed, acked>>

\* A node fails, though not the last one. If it is in the middle, its predecessor goes on with what its successor lacks.
Fail(n) ==
    /\ n \in up
    /\ up # {n}
    /\ up' = up \ {n}
    /\ passed' = IF n \in {ChainHead, ChainTail}
                 THEN passed
                 ELSE LET p == Predecessor(n)
                      IN  [passed EXCEPT ![p] = Max({acked[p], Len(log[Successor(n)])})]
    /\ UNCHANGED <<log, acked, seen>>

Next ==
    \/ \E u \in Update : Submit(u)
    \/ \E n \in Node : Forward(n) \/ Acknowledge(n) \/ Fail(n)
    \/ Query

Fairness == \A n \in Node : WF_vars(Forward(n)) /\ WF_vars(Acknowledge(n))

Spec == Init /\ [][Next]_vars /\ Fairness

----------------------------------------------------------------------------
\* What a node has, every node before it has in the same places.
Prefixes == \A m, n \in up : m < n => IsPrefix(log[n], log[m])

\* What a query has answered, every later tail has.
AnswersLast == seen \subseteq Answer

\* A node learns that the tail has what it has, or it fails.
Acknowledged ==
    \A n \in Node, k \in 1..MaxLen : (n \in up /\ Len(log[n]) = k) ~> (acked[n] >= k \/ n \notin up)
============================================================================
