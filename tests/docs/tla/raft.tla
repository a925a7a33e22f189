-------------------------------- MODULE raft --------------------------------
\* Raft after its first election: the hand-written counterpart of docs/examples/raft.py.
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Server, Nil, MaxTerm, MaxLen, MaxRestarts

VARIABLES
    currentTerm,
    votedFor,
    log,          \* an entry is its term alone
    role,
    commitIndex,
    msgs,         \* all messages ever sent: each one may be lost, late and repeated
    committed,    \* history: <<index, term>> of each entry that some server has known to be committed
    restarts      \* how often a server has restarted

vars == <<currentTerm, votedFor, log, role, commitIndex, msgs, committed, restarts>>

-----------------------------------------------------------------------------
Term  == 0..MaxTerm
Index == 1..MaxLen

RequestVote   == [type : {"RequestVote"}, src : Server, term : Term, lastIndex : 0..MaxLen, lastTerm : Term]
Vote          == [type : {"Vote"}, src : Server, dst : Server, term : Term]
AppendEntries == [type : {"AppendEntries"}, term : Term, prevIndex : 0..(MaxLen - 1), prevTerm : Term, entry : Term]
Heartbeat     == [type : {"Heartbeat"}, term : Term, prevIndex : Index, prevTerm : Term]
Ack           == [type : {"Ack"}, src : Server, term : Term, index : Index]

TypeOK ==
    /\ currentTerm \in [Server -> Term]
    /\ votedFor \in [Server -> Server \cup {Nil}]
    /\ log \in [Server -> Seq(Term)] /\ \A n \in Server : Len(log[n]) <= MaxLen
    /\ role \in [Server -> {"follower", "candidate", "leader"}]
    /\ commitIndex \in [Server -> 0..MaxLen]
    /\ msgs \subseteq RequestVote \cup Vote \cup AppendEntries \cup Heartbeat \cup Ack
    /\ committed \subseteq Index \X Term
    /\ restarts \in 0..MaxRestarts

\* All have voted for a first server, which leads term 0.
Init ==
    \E first \in Server :
        /\ currentTerm = [n \in Server |-> 0]
        /\ votedFor = [n \in Server |-> first]
        /\ log = [n \in Server |-> <<>>]
        /\ role = [n \in Server |-> IF n = first THEN "leader" ELSE "follower"]
        /\ commitIndex = [n \in Server |-> 0]
        /\ msgs = {[type |-> "Vote", src |-> n, dst |-> first, term |-> 0] : n \in Server}
        /\ committed = {}
        /\ restarts = 0

-----------------------------------------------------------------------------
IsMajority(servers) == 2 * Cardinality(servers) > Cardinality(Server)

TermAt(entries, i) == IF i = 0 THEN 0 ELSE entries[i]
LastTerm(n)        == TermAt(log[n], Len(log[n]))
Has(n, i, t)       == i \in DOMAIN log[n] /\ log[n][i] = t
Agrees(n, m)       == m.prevIndex = 0 \/ Has(n, m.prevIndex, m.prevTerm)

IsElected(n, t) == IsMajority({m.src : m \in {v \in msgs : v.type = "Vote" /\ v.dst = n /\ v.term = t}})

\* Who agrees with the leader n up to its i-th entry.
Replicas(n, i) ==
    {n} \cup {m.src : m \in {a \in msgs : a.type = "Ack" /\ a.term = currentTerm[n] /\ a.index >= i}}

\* What the leader n sends for the i-th of its entries.
Appending(n, entries, i) ==
    [type |-> "AppendEntries", term |-> currentTerm[n],
     prevIndex |-> i - 1, prevTerm |-> TermAt(entries, i - 1), entry |-> entries[i]]

\* A server follows the leader of term t, unless it is that leader or knows of a later term.
Follow(n, t) ==
    /\ t >= currentTerm[n]
    /\ t = currentTerm[n] => role[n] # "leader"
    /\ currentTerm' = [currentTerm EXCEPT ![n] = t]
    /\ votedFor' = [votedFor EXCEPT ![n] = IF t > currentTerm[n] THEN Nil ELSE @]
    /\ role' = [role EXCEPT ![n] = "follower"]

CommitTo(n, i) ==
    /\ commitIndex' = [commitIndex EXCEPT ![n] = i]
    /\ committed' = committed \cup {<<j, log[n][j]>> : j \in 1..i}

-----------------------------------------------------------------------------
\* A server hears nothing of a leader: it begins a term, votes for itself, and asks for votes.
TimeOut(n) ==
    /\ role[n] # "leader"
    /\ currentTerm[n] < MaxTerm
    /\ currentTerm' = [currentTerm EXCEPT ![n] = @ + 1]
    /\ votedFor' = [votedFor EXCEPT ![n] = n]
    /\ role' = [role EXCEPT ![n] = "candidate"]
    /\ msgs' = msgs \cup
           {[type |-> "RequestVote", src |-> n, term |-> currentTerm'[n],
             lastIndex |-> Len(log[n]), lastTerm |-> LastTerm(n)],
            [type |-> "Vote", src |-> n, dst |-> n, term |-> currentTerm'[n]]}
    /\ UNCHANGED <<log, commitIndex, committed, restarts>>

\* A server grants a vote, once in a term, to a candidate whose log lacks nothing that its own log has.
GrantVote(n, m) ==
    LET later    == m.term > currentTerm[n]
        free     == later \/ votedFor[n] \in {Nil, m.src}
        upToDate == \/ m.lastTerm > LastTerm(n)
                    \/ m.lastTerm = LastTerm(n) /\ m.lastIndex >= Len(log[n])
        granted  == free /\ upToDate
    IN  /\ m \in msgs /\ m.type = "RequestVote"
        /\ m.term >= currentTerm[n]
        /\ currentTerm' = [currentTerm EXCEPT ![n] = m.term]
        /\ votedFor' = [votedFor EXCEPT ![n] = IF granted THEN m.src ELSE IF later THEN Nil ELSE @]
        /\ role' = [role EXCEPT ![n] = IF later THEN "follower" ELSE @]
        /\ msgs' = IF granted
                   THEN msgs \cup {[type |-> "Vote", src |-> n, dst |-> m.src, term |-> m.term]}
                   ELSE msgs
        /\ UNCHANGED <<log, commitIndex, committed, restarts>>

\* A candidate with the votes of a majority becomes leader, and sends each entry of its log.
Lead(n) ==
    /\ role[n] = "candidate"
    /\ IsElected(n, currentTerm[n])
    /\ role' = [role EXCEPT ![n] = "leader"]
    /\ msgs' = msgs \cup {Appending(n, log[n], i) : i \in DOMAIN log[n]}
    /\ UNCHANGED <<currentTerm, votedFor, log, commitIndex, committed, restarts>>

\* A client gives the leader an entry.
Request(n) ==
    /\ role[n] = "leader"
    /\ Len(log[n]) < MaxLen
    /\ log' = [log EXCEPT ![n] = Append(@, currentTerm[n])]
    /\ msgs' = msgs \cup {Appending(n, log'[n], Len(log'[n]))}
    /\ UNCHANGED <<currentTerm, votedFor, role, commitIndex, committed, restarts>>

\* A follower makes its log agree with that of the leader, if they agree up to the entry before.
Receive(n, m) ==
    /\ m \in msgs /\ m.type = "AppendEntries"
    /\ Follow(n, m.term)
    /\ IF Agrees(n, m)
       THEN /\ log' = IF Has(n, m.prevIndex + 1, m.entry)
                      THEN log
                      ELSE [log EXCEPT ![n] = Append(SubSeq(@, 1, m.prevIndex), m.entry)]
            /\ msgs' = msgs \cup {[type |-> "Ack", src |-> n, term |-> m.term, index |-> m.prevIndex + 1]}
       ELSE UNCHANGED <<log, msgs>>
    /\ UNCHANGED <<commitIndex, committed, restarts>>

\* A follower learns what is committed, if it has that.
Learn(n, m) ==
    /\ m \in msgs /\ m.type = "Heartbeat"
    /\ Follow(n, m.term)
    /\ IF Agrees(n, m) /\ m.prevIndex > commitIndex[n]
       THEN CommitTo(n, m.prevIndex)
       ELSE UNCHANGED <<commitIndex, committed>>
    /\ UNCHANGED <<log, msgs, restarts>>

\* A leader commits the entries up to an entry of its own term that a majority has.
Advance(n, i) ==
    /\ role[n] = "leader"
    /\ i > commitIndex[n]
    /\ Has(n, i, currentTerm[n])
    /\ IsMajority(Replicas(n, i))
    /\ CommitTo(n, i)
    /\ msgs' = msgs \cup {[type |-> "Heartbeat", term |-> currentTerm[n], prevIndex |-> i, prevTerm |-> log[n][i]]}
    /\ UNCHANGED <<currentTerm, votedFor, log, role, restarts>>

\* A server restarts with its term, its vote and its log.
Restart(n) ==
    /\ restarts < MaxRestarts
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ commitIndex' = [commitIndex EXCEPT ![n] = 0]
    /\ restarts' = restarts + 1
    /\ UNCHANGED <<currentTerm, votedFor, log, msgs, committed>>

Next ==
    \E n \in Server :
        \/ TimeOut(n) \/ Lead(n) \/ Request(n) \/ Restart(n)
        \/ \E m \in msgs : GrantVote(n, m) \/ Receive(n, m) \/ Learn(n, m)
        \/ \E i \in Index : Advance(n, i)

Fairness ==
    \A n \in Server :
        /\ \A m \in RequestVote : WF_vars(GrantVote(n, m))
        /\ \A m \in AppendEntries : WF_vars(Receive(n, m))
        /\ \A m \in Heartbeat : WF_vars(Learn(n, m))
        /\ WF_vars(\E i \in Index : Advance(n, i))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
ElectionSafety ==
    \A t \in Term, m, n \in Server : IsElected(m, t) /\ IsElected(n, t) => m = n

\* Logs that have an entry of the same term in the same place agree up to there.
LogMatching ==
    \A m, n \in Server : \A i \in DOMAIN log[m] :
        Has(n, i, log[m][i]) => SubSeq(log[m], 1, i) = SubSeq(log[n], 1, i)

\* A leader has all committed entries, if no server knows of a later term.
LeaderCompleteness ==
    \A n \in Server :
        role[n] = "leader" /\ (\A m \in Server : currentTerm[m] <= currentTerm[n])
            => \A e \in committed : Has(n, e[1], e[2])

\* A majority has each committed entry.
Durable == \A e \in committed : IsMajority({n \in Server : Has(n, e[1], e[2])})

\* An entry of the leader's own term is committed, or the leader is leader no more.
Commits ==
    \A n \in Server, i \in Index :
        role[n] = "leader" /\ Has(n, i, currentTerm[n]) ~> commitIndex[n] >= i \/ role[n] # "leader"
=============================================================================
