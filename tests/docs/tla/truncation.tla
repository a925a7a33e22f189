----------------------------- MODULE truncation -----------------------------
\* Truncation of logs in Kafka (KIP-101, 279, 320): the hand-written counterpart of docs/examples/truncation.py.
EXTENDS Integers, Sequences

CONSTANTS Replica, MaxEpoch, MaxLen

VARIABLES
    newest,      \* the epoch of the newest election
    leader,      \* for each epoch, whom the controller has elected
    isr,         \* for each epoch, who is in sync, or was at its end
    epoch,       \* for each replica, the newest epoch that it has heard of
    log,         \* a record is the epoch in which its leader appended it
    hw,          \* for each replica, its high watermark: how many records it knows to be committed
    truncating,  \* the followers that have to truncate before they fetch
    acked,       \* for each leader and follower, how many records the follower had at its last fetch
    committed    \* history: <<index, epoch>> of the records that have been below the high watermark of a leader

controller == <<newest, leader, isr>>
vars == <<controller, epoch, log, hw, truncating, acked, committed>>

Epoch == 0..MaxEpoch
Length == 0..MaxLen

TypeOK ==
    /\ newest \in Epoch
    /\ leader \in [Epoch -> Replica]
    /\ isr \in [Epoch -> SUBSET Replica]
    /\ epoch \in [Replica -> Epoch]
    /\ log \in [Replica -> Seq(Epoch)]
    /\ hw \in [Replica -> Length]
    /\ truncating \subseteq Replica
    /\ acked \in [Replica -> [Replica -> Length]]
    /\ committed \subseteq (1..MaxLen) \X Epoch

Min(S) == CHOOSE m \in S : \A n \in S : m <= n
Max(S) == CHOOSE m \in S : \A n \in S : m >= n

Leads(r) == leader[epoch[r]] = r
Epochs(r) == {log[r][i] : i \in DOMAIN log[r]}
Has(r, i, e) == i \in DOMAIN log[r] /\ log[r][i] = e

\* Where the epochs up to e end in the log of r.
End(r, e) == Max({0} \cup {i \in DOMAIN log[r] : log[r][i] <= e})

Init ==
    /\ newest = 0
    /\ \E first \in Replica : leader = [e \in Epoch |-> first]
    /\ isr = [e \in Epoch |-> Replica]
    /\ epoch = [r \in Replica |-> 0]
    /\ log = [r \in Replica |-> <<>>]
    /\ hw = [r \in Replica |-> 0]
    /\ truncating = {}
    /\ acked = [r \in Replica |-> [f \in Replica |-> 0]]
    /\ committed = {}

-----------------------------------------------------------------------------
\* The controller elects a replica that is in sync.
Elect(r) ==
    /\ newest < MaxEpoch
    /\ r \in isr[newest]
    /\ newest' = newest + 1
    /\ leader' = [leader EXCEPT ![newest'] = r]
    /\ isr' = [isr EXCEPT ![newest'] = isr[newest]]
    /\ UNCHANGED <<epoch, log, hw, truncating, acked, committed>>

\* A replica hears of the newest election.
Learn(r) ==
    /\ epoch[r] < newest
    /\ epoch' = [epoch EXCEPT ![r] = newest]
    /\ truncating' = IF leader[newest] = r THEN truncating \ {r} ELSE truncating \cup {r}
    /\ acked' = [acked EXCEPT ![r] = [f \in Replica |-> 0]]
    /\ UNCHANGED <<controller, log, hw, committed>>

Restart(f) ==
    /\ ~Leads(f)
    /\ truncating' = truncating \cup {f}
    /\ UNCHANGED <<controller, epoch, log, hw, acked, committed>>

\* The high watermark of a leader after a step: all replicas in sync have the records below it.
Raised(r) == Max({hw[r], Min({Len(log'[r])} \cup {acked'[r][f] : f \in isr'[epoch[r]] \ {r}})})

Commit(r) == committed' = committed \cup {<<i, log'[r][i]>> : i \in 1..hw'[r]}

AppendRecord(r) ==
    /\ Leads(r)
    /\ Len(log[r]) < MaxLen
    /\ log' = [log EXCEPT ![r] = Append(@, epoch[r])]
    /\ UNCHANGED <<controller, epoch, truncating, acked>>
    /\ hw' = [hw EXCEPT ![r] = Raised(r)]
    /\ Commit(r)

\* KIP-279. The leader tells its largest epoch that is at most the follower's last one, and where it ends.
Truncate(f) ==
    LET l == leader[epoch[f]]
        last == IF log[f] = <<>> THEN 0 ELSE log[f][Len(log[f])]
        known == Max({0} \cup {e \in Epochs(l) : e <= last})
    IN  /\ f \in truncating
        /\ epoch[l] = epoch[f]
        /\ log' = [log EXCEPT ![f] = SubSeq(@, 1, Min({End(l, known), End(f, known)}))]
        /\ truncating' = IF known < last THEN truncating ELSE truncating \ {f}
        /\ UNCHANGED <<controller, epoch, hw, acked, committed>>

\* A follower tells how much it has, and gets the next record, and the high watermark as it was before.
Fetch(f) ==
    LET l == leader[epoch[f]]
        n == Len(log[f])
    IN  /\ f # l
        /\ f \notin truncating
        /\ epoch[l] = epoch[f]
        /\ acked' = [acked EXCEPT ![l][f] = n]
        /\ log' = IF n < Len(log[l]) THEN [log EXCEPT ![f] = Append(@, log[l][n + 1])] ELSE log
        /\ UNCHANGED <<controller, epoch, truncating>>
        /\ hw' = [hw EXCEPT ![l] = Raised(l), ![f] = Min({hw[l], Len(log'[f])})]
        /\ Commit(l)

\* The controller lets only the leader of the newest epoch change the set of replicas in sync.
Shrink(r, f) ==
    /\ Leads(r) /\ f # r /\ epoch[r] = newest
    /\ isr' = [isr EXCEPT ![newest] = @ \ {f}]
    /\ UNCHANGED <<newest, leader, epoch, log, truncating, acked>>
    /\ hw' = [hw EXCEPT ![r] = Raised(r)]
    /\ Commit(r)

Expand(r, f) ==
    /\ Leads(r) /\ f # r /\ epoch[r] = newest
    /\ acked[r][f] >= hw[r]
    /\ acked[r][f] >= End(r, newest - 1)
    /\ isr' = [isr EXCEPT ![newest] = @ \cup {f}]
    /\ UNCHANGED <<newest, leader, epoch, log, hw, truncating, acked, committed>>

Next ==
    \E r \in Replica :
        \/ Elect(r) \/ Learn(r) \/ Restart(r) \/ AppendRecord(r) \/ Truncate(r) \/ Fetch(r)
        \/ \E f \in Replica : Shrink(r, f) \/ Expand(r, f)

Fairness == \A r \in Replica : WF_vars(Learn(r)) /\ WF_vars(Truncate(r)) /\ SF_vars(Fetch(r))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
\* TR-01. Every replica that is in sync has every committed record.
CommittedKept == \A r \in isr[newest] : \A <<i, e>> \in committed : Has(r, i, e)

\* TR-02. Two logs are the same below the smaller high watermark.
SameBelow == \A r, f \in Replica, e \in Epoch : \A i \in 1..Min({hw[r], hw[f]}) : Has(r, i, e) = Has(f, i, e)

\* TR-03. A follower that has truncated has a prefix of the log of its leader.
Prefixes ==
    \A r, f \in Replica :
        Leads(r) /\ epoch[r] = epoch[f] /\ f \notin truncating =>
            Len(log[f]) <= Len(log[r]) /\ log[f] = SubSeq(log[r], 1, Len(log[f]))

\* TR-04. The leader of the newest epoch is in sync.
LeaderInSync == leader[newest] \in isr[newest]

\* TR-05. A committed record reaches every replica. It stays committed, so => under []<> says as much as ~>.
ReachesAll == \A r \in Replica, i \in 1..MaxLen, e \in Epoch : []<>(<<i, e>> \in committed => Has(r, i, e))
=============================================================================
