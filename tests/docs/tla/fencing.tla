------------------------------ MODULE fencing ------------------------------
\* Leases with fencing tokens: the hand-written counterpart of docs/examples/fencing.py.
EXTENDS Naturals

CONSTANTS Client, Nobody, MaxToken

VARIABLES
    holder,   \* the client that has the lease, or Nobody
    newest,   \* the token of the newest lease
    token,    \* for each client, the token that it believes it holds; 0 if none
    seen,     \* the newest token that the storage has seen
    hasRead,  \* the clients that have read under their lease
    current   \* the clients that have read what the storage still has; history for NothingLost

vars == <<holder, newest, token, seen, hasRead, current>>

TypeOK ==
    /\ holder \in Client \cup {Nobody}
    /\ newest \in 0..MaxToken
    /\ token \in [Client -> 0..MaxToken]
    /\ seen \in 0..MaxToken
    /\ hasRead \subseteq Client
    /\ current \subseteq Client

Init ==
    /\ holder = Nobody
    /\ newest = 0
    /\ token = [c \in Client |-> 0]
    /\ seen = 0
    /\ hasRead = {}
    /\ current = {}

----------------------------------------------------------------------------
\* The service grants the lease to c, with a new token.
Acquire(c) ==
    /\ holder = Nobody
    /\ newest < MaxToken
    /\ holder' = c
    /\ newest' = newest + 1
    /\ token' = [token EXCEPT ![c] = newest']
    /\ hasRead' = hasRead \ {c}
    /\ UNCHANGED <<seen, current>>

\* The lease ends, and its holder may not notice.
Expire ==
    /\ holder' = Nobody
    /\ UNCHANGED <<newest, token, seen, hasRead, current>>

\* The storage refuses a token that is older than one it has seen.
Read(c) ==
    /\ token[c] > 0
    /\ token[c] >= seen
    /\ seen' = token[c]
    /\ hasRead' = hasRead \cup {c}
    /\ current' = current \cup {c}
    /\ UNCHANGED <<holder, newest, token>>

Write(c) ==
    /\ c \in hasRead
    /\ token[c] >= seen
    /\ seen' = token[c]
    /\ current' = {c}
    /\ UNCHANGED <<holder, newest, token, hasRead>>

\* A client notices that its lease has ended, or needs it no more.
GiveUp(c) ==
    /\ holder' = IF holder = c THEN Nobody ELSE holder
    /\ token' = [token EXCEPT ![c] = 0]
    /\ hasRead' = hasRead \ {c}
    /\ UNCHANGED <<newest, seen, current>>

Next == Expire \/ \E c \in Client : Acquire(c) \/ Read(c) \/ Write(c) \/ GiveUp(c)

Spec == Init /\ [][Next]_vars /\ WF_vars(Expire)

----------------------------------------------------------------------------
\* No write of another client comes between a client's read and its write.
NothingLost == [][\A c \in Client : Write(c) => c \in current]_vars

FreeAgain == []<>(holder = Nobody)
============================================================================
