------------------------------- MODULE ewd998 -------------------------------
\* Termination detection in a ring (Safra, EWD 998): the hand-written counterpart of docs/examples/ewd998.py.
EXTENDS Integers

\* The number of nodes, of messages that may be on their way to one node, and of messages that a run may send.
CONSTANTS N, MaxInbox, MaxSent

VARIABLES
    active,    \* the nodes that do not rest
    inbox,     \* for each node, how many messages are on their way to it
    balance,   \* for each node, how many messages it has sent, minus how many it has received
    black,     \* the nodes that have received a message since they had the token
    token,     \* where it is, the sum that it carries, and whether it is black
    detected,
    sent       \* how many messages have been sent

vars == <<active, inbox, balance, black, token, detected, sent>>

Node == 0..N-1

TypeOK ==
    /\ active \subseteq Node
    /\ inbox \in [Node -> 0..MaxInbox]
    /\ balance \in [Node -> Int]
    /\ black \subseteq Node
    /\ token \in [at: Node, sum: Int, black: BOOLEAN]
    /\ detected \in BOOLEAN
    /\ sent \in 0..MaxSent

Init ==
    /\ active = Node
    /\ inbox = [n \in Node |-> 0]
    /\ balance = [n \in Node |-> 0]
    /\ black = {}
    /\ token = [at |-> 0, sum |-> 0, black |-> TRUE]
    /\ detected = FALSE
    /\ sent = 0

-----------------------------------------------------------------------------
Send(n, m) ==
    /\ n \in active /\ n # m
    /\ inbox[m] < MaxInbox /\ sent < MaxSent
    /\ inbox' = [inbox EXCEPT ![m] = @ + 1]
    /\ balance' = [balance EXCEPT ![n] = @ + 1]
    /\ sent' = sent + 1
    /\ UNCHANGED <<active, black, token, detected>>

\* A message wakes its receiver and blackens it.
Receive(n) ==
    /\ inbox[n] > 0
    /\ inbox' = [inbox EXCEPT ![n] = @ - 1]
    /\ balance' = [balance EXCEPT ![n] = @ - 1]
    /\ active' = active \cup {n}
    /\ black' = black \cup {n}
    /\ UNCHANGED <<token, detected, sent>>

Rest(n) ==
    /\ active' = active \ {n}
    /\ UNCHANGED <<inbox, balance, black, token, detected, sent>>

\* A node at rest adds its balance and its colour to the token, and turns white.
PassOn ==
    LET n == token.at
    IN  /\ n # 0 /\ n \notin active
        /\ token' = [at |-> n - 1, sum |-> token.sum + balance[n], black |-> token.black \/ n \in black]
        /\ black' = black \ {n}
        /\ UNCHANGED <<active, inbox, balance, detected, sent>>

\* The first node has learnt from the token that the work is over.
Conclusive ==
    /\ 0 \notin active \cup black
    /\ ~token.black
    /\ token.sum + balance[0] = 0

\* The first node sends a new token around.
Probe ==
    /\ token.at = 0 /\ ~Conclusive
    /\ token' = [at |-> N - 1, sum |-> 0, black |-> FALSE]
    /\ black' = black \ {0}
    /\ UNCHANGED <<active, inbox, balance, detected, sent>>

Detect ==
    /\ token.at = 0 /\ Conclusive
    /\ detected' = TRUE
    /\ UNCHANGED <<active, inbox, balance, black, token, sent>>

Next ==
    \/ \E n, m \in Node : Send(n, m)
    \/ \E n \in Node : Receive(n) \/ Rest(n)
    \/ PassOn \/ Probe \/ Detect

Fairness == WF_vars(PassOn) /\ WF_vars(Probe) /\ WF_vars(Detect)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
Terminated == active = {} /\ \A n \in Node : inbox[n] = 0

\* TD-01. Once termination is detected, every node rests and no message is on its way.
DetectionIsRight == detected => Terminated

\* TD-02. Termination is detected.
Detects == Terminated ~> detected
=============================================================================
