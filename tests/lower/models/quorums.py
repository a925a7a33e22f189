"""Parameters that are whole maps, and starts that choose them, in every place where the language allows them."""

from __future__ import annotations

from enum import Enum

from holdfast.lang import (
    Map,
    Model,
    Nat,
    Record,
    Rel,
    Scope,
    Sort,
    action,
    count,
    init,
    invariant,
    require,
    rule,
    step,
    witness,
)


class Acceptor(Sort):
    """Who votes."""


class Value(Sort):
    """What is voted for."""


class Tag(Enum):
    """What an acceptor is."""

    RED = 1
    BLUE = 2
    GREEN = 3


class Round(Nat):
    """The number of a decision."""


class Ballot(Record):
    """A vote on its way."""

    by: Acceptor
    value: Value


class Quorums(Model):
    """Acceptors vote once, and a value is chosen if two of them have voted for it."""

    tag: Map[Acceptor, Tag]
    """Chosen at the start."""
    near: Rel[Acceptor, Value]
    """Chosen at the start."""
    hint: Map[Acceptor, Value | None]
    """Chosen by an action."""
    vote: Map[Acceptor, Value | None]
    chosen: Value | None
    last: Rel[Acceptor]
    """The quorum of the last decision."""
    round: Round
    leader: Acceptor

    @init
    def begin(self, leader: Acceptor) -> None:
        """Every tag and every relation is possible, but some acceptor is red."""
        self.tag.choose()
        self.near.choose()
        require(any(self.tag[a] == Tag.RED for a in Acceptor), "Q-01")
        self.vote.fill(None)
        self.hint.fill(None)
        self.last.fill(False)
        self.chosen = None
        self.round = Round(0)
        self.leader = leader

    @action
    def cast(self, a: Acceptor, v: Value) -> None:
        """An acceptor votes once."""
        require(self.vote[a] is None, "Q-02")
        require(self.near[a, v] or self.tag[a] != Tag.RED, "Q-03")
        self.vote[a] = v

    def is_quorum(self, members: Rel[Acceptor]) -> bool:
        """Whether these are two or more."""
        return count(members[a] for a in Acceptor) >= 2

    @action
    def decide(self, quorum: Rel[Acceptor], v: Value) -> None:
        """All of a quorum have voted for a value."""
        require(self.is_quorum(quorum), "Q-04")
        require(all(self.vote[a] == v for a in quorum), "Q-05")
        self.chosen = v
        self.last = quorum
        self.last[self.leader] = quorum[self.leader]

    @action
    def advise(self, hints: Map[Acceptor, Value | None], a: Acceptor) -> None:
        """Hints for all but one, which has none."""
        require(self.round == Round(0), "Q-06")
        require(hints[a] is None, "Q-07")
        if rule("Q-08", any(hints[b] == self.vote[b] and hints[b] is not None for b in Acceptor)):
            self.round = self.round + 1
        for b in Acceptor:
            held = hints[b]
            self.hint[b] = held if held is not None else self.vote[a]

    @action
    def lead(self, after: Map[Acceptor, Acceptor], rounds: Map[tuple[Acceptor, Value], Round]) -> None:
        """The leader hands over. Both maps are read at keys that the state holds."""
        require(after[self.leader] != self.leader, "Q-09")
        if self.chosen is not None:
            self.round = rounds[self.leader, self.chosen]
        self.leader = after[self.leader]

    @action
    def deliver(self, sent: Rel[Ballot], v: Value) -> None:
        """Ballots arrive at those who are near, and the leader's own counts as a decision."""
        require(all(self.vote[ballot.by] is None for ballot in sent), "Q-10")
        for ballot in sent:
            self.near[ballot.by, ballot.value] = False
        if rule("Q-11", sent[Ballot(self.leader, v)]):
            self.last[self.leader] = True

    @invariant
    def one_value(self) -> bool:
        """A chosen value has two votes."""
        return self.chosen is None or count(self.vote[a] == self.chosen for a in Acceptor) >= 2

    @step(of="decide")
    def the_last_quorum(self, old: Quorums, quorum: Rel[Acceptor]) -> bool:
        """A decision stores its quorum."""
        return all(self.last[a] == quorum[a] for a in Acceptor) and old.round == self.round

    @witness
    def decided(self) -> bool:
        """Some value is chosen."""
        return self.chosen is not None

    tiny = Scope({Acceptor: 2, Value: 1, Round: 1})
    default = Scope({Acceptor: 3, Value: 1, Round: 1})
