"""Moves are records with a number that may be negative: as fields, in a sequence, and as a parameter."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Int,
    Map,
    Model,
    Nat,
    Record,
    Scope,
    Seq,
    Sort,
    action,
    init,
    invariant,
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """Who moves."""


class Place(Nat):
    """A place in a sequence."""


class Gap(Int, lo=-2, hi=2):
    """How far a move goes."""


class Leap(Record):
    """A move of a node."""

    who: Node
    by: Gap


class Moves(Model):
    """Nodes plan moves, take them back, and turn them round."""

    last: Leap
    plan: Map[Node, Leap | None]
    done: Seq[Leap, Place]
    far: Map[Node, Gap]

    tiny = Scope({Node: 1, Place: 1})
    default = Scope({Node: 2, Place: 1})

    @init
    def begin(self, n: Node) -> None:
        """Nobody has moved."""
        self.last = Leap(n, Gap(0))
        self.plan.fill(None)
        self.done.clear()
        self.far.fill(Gap(0))

    def turned(self, m: Leap) -> Leap:
        """The way back of a move."""
        return Leap(m.who, 0 - m.by)

    @action
    def choose(self, m: Leap) -> None:
        """A move that a parameter names."""
        require(self.plan[m.who] is None and m.by != self.far[m.who] and m != self.last, "MO-01")
        self.plan[m.who] = m

    @action
    def move(self, n: Node) -> None:
        """A sum that may leave the type, and an entry."""
        plan = self.plan[n]
        if plan is not None:
            require(plan.by != 0, "MO-02")
            self.far[n] = self.far[n] + plan.by
            self.done.append(plan)
            self.last = plan
        self.plan[n] = None

    @action
    def turn(self) -> None:
        """A part that is computed, and the entry that it is put back on."""
        last = self.done.last
        if last is not None:
            self.last = self.turned(last)
            if rule("MO-03", last.by < 0):
                self.plan[last.who] = self.turned(last)
            self.done.pop_first()

    @action
    def longer(self) -> None:
        """A part beyond its type cuts the step."""
        self.last = Leap(self.last.who, self.last.by * 2 + 1)

    @invariant
    def near(self) -> bool:
        """MO-04. Nobody plans more than one step forward."""
        return all(self.plan[n] is None or self.plan[n].by <= 1 for n in Node)

    @step(of="turn")
    def goes_back(self, old: Self) -> bool:
        """MO-05. The last move is the way back of the last one that was made."""
        made = old.done.last
        return made is None or self.last == old.turned(made)

    @witness
    def back_and_forth(self) -> bool:
        """A move and its way back are both there."""
        return any(self.plan[n] == self.turned(self.last) and self.last.by < 0 for n in Node)
