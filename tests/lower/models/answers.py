"""Votes and their answers: records with a truth value as a part, wherever a record may stand."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Bag,
    Map,
    Model,
    Nat,
    Pool,
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
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """Who votes."""


class Term(Nat):
    """A time with one leader."""


class Index(Nat):
    """A place in a sequence, a number of copies, and a number of members."""


class Answer(Record):
    """A vote, or its refusal."""

    src: Node
    granted: bool
    term: Term


class Flags(Record):
    """Two truth values and nothing else."""

    up: bool
    sure: bool


class Answers(Model):
    """Answers are sent, counted, kept in a log and forgotten."""

    sent: Rel[Answer]
    seen: Bag[Answer, Index]
    late: Pool[Answer, Index]
    log: Seq[Answer, Index]
    since: Map[Flags, Term | None]
    known: Rel[Flags]
    leader: Rel[Node]
    term: Term

    tiny = Scope({Node: 1, Term: 1, Index: 1})
    default = Scope({Node: 2, Term: 1, Index: 1})

    @init
    def begin(self, first: Flags) -> None:
        """Nothing is sent; one pair of flags is known."""
        self.sent.fill(False)
        self.seen.clear()
        self.late.fill(False)
        self.log.clear()
        self.since.fill(None)
        self.since[first] = Term(0)
        self.known.fill(False)
        self.known[first] = True
        self.leader.fill(False)
        self.term = Term(0)

    @action
    def answer(self, n: Node) -> None:
        """A computed truth value as a part."""
        made = Answer(n, n not in self.leader and not any(m.granted for m in self.sent), self.term)
        require(made not in self.sent, "AN-01")
        self.sent[made] = True
        if not made.granted:
            self.late[made] = True

    @action
    def count_one(self, m: Answer) -> None:
        """A truth value of a parameter as a condition, and its opposite as a part of a key."""
        require(m in self.sent, "AN-02")
        require(m.granted or m not in self.seen, "AN-03")
        self.seen.add(m)
        if rule("AN-04", Answer(m.src, not m.granted, m.term) in self.sent):
            self.leader[m.src] = m.granted

    @action
    def keep(self, m: Answer) -> None:
        """An entry of a sequence."""
        require(m in self.seen and (len(self.log) == 0 or self.log[Index(0)] != m), "AN-05")
        self.log.append(m)
        self.seen.remove(m)

    @action
    def learn(self, granted: bool, f: Flags) -> None:
        """A truth value that is no part, compared with one; and a loop over all flags."""
        require(f in self.known and granted == f.up, "AN-06")
        for g in Flags:
            if g.up == f.sure and not self.known[g]:
                self.known[g] = True
                self.since[g] = self.term
        self.known[Flags(granted, sure=len(self.log) > 0)] = True

    @action
    def forget(self) -> None:
        """Members of a relation that a truth value selects."""
        last = self.log.last
        require(last is not None and last.granted, "AN-07")
        for m in self.sent:
            if last is not None and m.granted == last.granted:
                self.sent[m] = False
        self.log.pop_first()
        self.term = self.term + 1

    @action
    def deliver(self, m: Answer) -> None:
        """A member of a pool."""
        require(m in self.late and not m.granted, "AN-08")
        self.late[m] = False

    @invariant
    def late_ones_refuse(self) -> bool:
        """AN-09. Only refusals are late."""
        return not any(m.granted for m in self.late)

    @invariant
    def counted(self) -> bool:
        """AN-10. A leader has a vote that was sent, counted or kept."""
        return all(
            any(m.src == n for m in self.sent) or any(m.src == n for m in self.seen) or len(self.log) > 0
            for n in self.leader
        )

    @invariant
    def flags(self) -> bool:
        """AN-11. As many flags are known as have a time."""
        return count(f in self.known for f in Flags) >= count(self.since[f] is not None for f in Flags)

    @step(of="learn")
    def learned(self, old: Self, granted: bool, f: Flags) -> bool:
        """AN-12. What is learned is known."""
        return any(g.up == granted for g in self.known) and old.known[f]

    @witness
    def both(self) -> bool:
        """A node both votes and refuses."""
        return any(m.granted and Answer(m.src, False, m.term) in self.sent for m in self.sent)

    @leads_to
    def delivered(self, m: Answer) -> tuple[bool, bool]:
        """AN-13. A late answer arrives."""
        return m in self.late, m not in self.late
