"""Raft: servers elect a leader for each term, and the leader makes their logs equal.

D. Ongaro and J. Ousterhout, *In search of an understandable consensus algorithm* (USENIX ATC 2014), figure 2. Messages
are relations that never shrink, so each one may be lost, late and repeated. So a server sends a message once, when it
has something new to say. An entry is its term alone: together with its place, a term identifies an entry. A leader
counts the answers themselves, and keeps no matchIndex. It has no nextIndex either: once elected, it sends each entry of
its log. AppendEntries carries one entry, and one without an entry carries the commit index. A run begins behind the
first election, that of term 0. Left out: clients and state machines, messages with several entries, answers that
refuse, and changes of the membership.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import (
    Flag,
    Ghost,
    Map,
    Model,
    Nat,
    Record,
    Rel,
    Scope,
    Seq,
    Sort,
    action,
    count,
    init,
    invariant,
    leads_to,
    missing,
    outcomes,
    require,
    rule,
    witness,
)


class Server(Sort): ...


class Term(Nat): ...


class Index(Nat): ...


class Role(Enum):
    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


class RequestVote(Record):
    src: Server
    term: Term
    last_term: Term
    last: Index


class Vote(Record):
    src: Server
    dst: Server
    term: Term


class AppendEntries(Record):
    """One entry. There is one leader in a term, so the term says who sent it."""

    term: Term
    prev: Index
    prev_term: Term
    entry: Term


class Heartbeat(Record):
    """An AppendEntries with no entry: those up to prev are committed."""

    term: Term
    prev: Index
    prev_term: Term


class Ack(Record):
    """The log of a server agrees with that of the leader up to an index."""

    src: Server
    term: Term
    index: Index


class Raft(Model):
    """The servers, and the messages between them."""

    term: Map[Server, Term]
    voted_for: Map[Server, Server | None]
    log: Map[Server, Seq[Term, Index]]
    role: Map[Server, Role]
    commit: Map[Server, Index]
    """How many entries of its log a server knows to be committed."""
    requests: Rel[RequestVote]
    votes: Rel[Vote]
    appends: Rel[AppendEntries]
    heartbeats: Rel[Heartbeat]
    acks: Rel[Ack]
    committed: Ghost[Rel[Index, Term]]
    """The entries that some server has known to be committed."""

    count_replicas: Flag
    """A leader also commits what a majority has if the entry is of an earlier term."""
    blind_vote: Flag
    """A vote does not depend on logs."""
    forget_vote: Flag
    """A restart loses the vote."""

    tiny = Scope({Server: 3, Term: 1, Index: 1}, budgets={"restart": 1})
    default = Scope({Server: 3, Term: 1, Index: 2}, budgets={"restart": 1})
    figure8 = Scope(
        {Server: 3, Term: 3, Index: 1},
        budgets={"time_out": 3, "vote": 5, "lead": 3, "request": 2, "receive": 1, "advance": 1, "restart": 0},
    )
    deep = Scope({Server: 3, Term: 4, Index: 2}, depth=100)

    @init
    def start_elected(self, first: Server) -> None:
        """All have voted for a first server, which leads term 0, and every log is empty."""
        self.term.fill(Term(0))
        self.voted_for.fill(first)
        self.log.clear()
        self.commit.fill(Index(0))
        self.requests.fill(False)
        self.votes.fill(False)
        for n in Server:
            self.role[n] = Role.LEADER if n == first else Role.FOLLOWER
            self.votes[Vote(n, first, Term(0))] = True
        self.appends.fill(False)
        self.heartbeats.fill(False)
        self.acks.fill(False)
        self.committed.fill(False)

    @action
    def time_out(self, n: Server) -> None:
        """A server hears nothing of a leader: it begins a term, votes for itself, and asks for votes."""
        require(self.role[n] != Role.LEADER)
        self.term[n] += 1
        self.voted_for[n] = n
        self.role[n] = Role.CANDIDATE
        self.requests[RequestVote(n, self.term[n], self.term_at(n, self.length(n)), self.length(n))] = True
        self.votes[Vote(n, n, self.term[n])] = True

    @action(fair="weak", per=("n", "m"))
    def vote(self, n: Server, m: RequestVote) -> None:
        """A server grants a vote, once in a term, to a candidate whose log lacks nothing that its own log has."""
        require(self.requests[m] and m.term >= self.term[n])
        self.hear(n, m.term)
        if rule("one_vote", self.voted_for[n] is not None and self.voted_for[n] != m.src):
            return
        if self.is_behind(n, m.last_term, m.last) and not self.blind_vote:
            return
        self.voted_for[n] = m.src
        self.votes[Vote(n, m.src, m.term)] = True

    @action
    def lead(self, n: Server) -> None:
        """A candidate with the votes of a majority becomes leader."""
        require(self.role[n] == Role.CANDIDATE)
        require(self.is_elected(n, self.term[n]), "majority_votes")
        self.role[n] = Role.LEADER
        for i in Index:
            self.send(n, i)

    @action
    def request(self, n: Server) -> None:
        """A client gives the leader an entry."""
        require(self.role[n] == Role.LEADER, "leader_appends")
        self.log[n].append(self.term[n])
        self.send(n, self.length(n) - 1)

    @action(fair="weak", per=("n", "m"))
    def receive(self, n: Server, m: AppendEntries) -> None:
        """A follower makes its log agree with that of the leader, if they agree up to the entry before."""
        require(self.appends[m])
        self.follow(n, m.term)
        if rule("agree_before", not self.agrees(n, m.prev, m.prev_term)):
            return
        if rule("keep", self.log[n][m.prev] == m.entry):
            pass
        else:
            self.log[n].truncate(m.prev)
            self.log[n].append(m.entry)
        self.acks[Ack(n, m.term, m.prev + 1)] = True

    @action(fair="weak", per=("n", "m"))
    def learn(self, n: Server, m: Heartbeat) -> None:
        """A follower learns what is committed, if it has that."""
        require(self.heartbeats[m])
        self.follow(n, m.term)
        if rule("agree_on_commit", not self.agrees(n, m.prev, m.prev_term)):
            return
        self.commit_to(n, max(self.commit[n], m.prev))

    @action(fair="weak", per=("n",))
    def advance(self, n: Server, k: Index) -> None:
        """A leader commits the entries up to an entry of its own term that a majority has."""
        require(self.role[n] == Role.LEADER and self.commit[n] < k <= self.length(n))
        require(self.is_replicated(n, k), "majority_has")
        require(self.log[n][k - 1] == self.term[n] or self.count_replicas)
        self.commit_to(n, k)
        self.heartbeats[Heartbeat(self.term[n], k, self.term_at(n, k))] = True

    @action
    def restart(self, n: Server) -> None:
        """A server restarts with its term, its vote and its log."""
        self.role[n] = Role.FOLLOWER
        self.commit[n] = Index(0)
        if self.forget_vote:
            self.voted_for[n] = None

    def hear(self, n: Server, t: Term) -> None:
        """A server that hears of a later term is a follower in it."""
        if t > self.term[n]:
            self.term[n] = t
            self.voted_for[n] = None
            self.role[n] = Role.FOLLOWER

    def follow(self, n: Server, t: Term) -> None:
        """A server follows the leader of a term, unless it is that leader or knows of a later term."""
        require(self.role[n] != Role.LEADER or self.term[n] != t)
        require(t >= self.term[n], "no_late_entry")
        self.hear(n, t)
        self.role[n] = Role.FOLLOWER

    def agrees(self, n: Server, k: Index, t: Term) -> bool:
        """Whether the k-th entry of a log is of a term."""
        return k == 0 or self.log[n][k - 1] == t

    def send(self, n: Server, prev: Index) -> None:
        """A leader sends the entry behind prev, if there is one."""
        if prev < self.length(n):
            entry = self.term_at(n, prev + 1)
            self.appends[AppendEntries(self.term[n], prev, self.term_at(n, prev), entry)] = True

    def commit_to(self, n: Server, k: Index) -> None:
        """A server knows that its first k entries are committed."""
        self.commit[n] = k
        for i in Index:
            entry = self.log[n][i]
            if i < k and entry is not None:
                self.committed[i, entry] = True

    def length(self, n: Server) -> Index:
        """How many entries a log has."""
        return Index(len(self.log[n]))

    def term_at(self, n: Server, k: Index) -> Term:
        """The term of the k-th entry of a log; 0 if there is none."""
        entry = self.log[n][k - 1]
        return Term(0) if entry is None else entry

    def is_behind(self, n: Server, last_term: Term, last: Index) -> bool:
        """Whether a log with this end lacks something that the log of n may have."""
        own = self.term_at(n, self.length(n))
        return last_term < own or (last_term == own and last < self.length(n))

    def is_elected(self, n: Server, t: Term) -> bool:
        """Whether a majority votes for n."""
        return 2 * count(self.votes[Vote(m, n, t)] for m in Server) > len(Server)

    def is_replicated(self, n: Server, k: Index) -> bool:
        """Whether a majority agrees with the leader n up to its k-th entry."""
        return 2 * count(
            m == n or any(self.acks[Ack(m, self.term[n], i)] for i in Index if i >= k) for m in Server
        ) > len(Server)

    @invariant
    def election_safety(self) -> bool:
        """RF-01. At most one server has the votes of a majority in a term."""
        return all(
            m == n or not self.is_elected(m, t) or not self.is_elected(n, t)
            for t in Term for m in Server for n in Server
        )  # fmt: skip

    @invariant
    def log_matching(self) -> bool:
        """RF-02. Logs that have an entry of the same term in the same place agree up to there."""
        return all(
            self.log[m][j] == self.log[n][j]
            for m in Server for n in Server for i in Index for j in Index
            if j <= i and self.log[m][i] is not None and self.log[m][i] == self.log[n][i]
        )  # fmt: skip

    @invariant
    def leader_completeness(self) -> bool:
        """RF-03. A leader has all committed entries, if no server knows of a later term."""
        return all(
            self.log[n][i] == t
            for n in Server for i in Index for t in Term
            if self.committed[i, t] and self.role[n] == Role.LEADER
            and all(self.term[m] <= self.term[n] for m in Server)
        )  # fmt: skip

    @invariant
    def durable(self) -> bool:
        """RF-04. A majority has each committed entry, so no other one is ever committed in its place."""
        return all(
            2 * count(self.log[n][i] == t for n in Server) > len(Server)
            for i in Index for t in Term if self.committed[i, t]
        )  # fmt: skip

    @leads_to
    def commits(self, n: Server, k: Index) -> tuple[bool, bool]:
        """RF-05. An entry of the leader's own term is committed, or the leader is leader no more."""
        return (
            self.role[n] == Role.LEADER and self.log[n][k] == self.term[n],
            self.commit[n] > k or self.role[n] != Role.LEADER,
        )

    @witness
    def leader_changes(self) -> bool:
        """A leader of a later term has an entry of an earlier one, and a follower knows that it is committed."""
        return any(
            self.role[n] == Role.LEADER and self.term[n] > 0 and self.log[n].first == 0
            for n in Server if any(self.role[m] == Role.FOLLOWER and self.commit[m] > 0 for m in Server)
        )  # fmt: skip

    @witness
    def all_commit(self) -> bool:
        """Everybody knows that a full log is committed."""
        return all(self.commit[n] == Index.last for n in Server)

    mutants = outcomes(
        {
            "count_replicas": missing("the elections of figure 8, which scope figure8 has"),
            "no_late_entry@learn": missing(
                "the time lost by a leader that follows a late heartbeat, which tells the truth"
            ),
        }
    )
