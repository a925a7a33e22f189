"""A model whose every name is one that generated TLA+ has a use of its own for."""

# ruff: noqa: N801, N802, N803, PLC2401
from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Ghost,
    Int,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    count,
    eventually_always,
    final,
    init,
    invariant,
    leads_to,
    require,
    step,
    witness,
)


class Next(Sort, prefix="n"):
    """The word for any step; its elements are n1 and n2, as a field, a parameter and a member are called."""


class Int_(Int, lo=-1, hi=1):
    """Beside the module Integers."""


class Cardinality(Nat):
    """What FiniteSets defines."""


class VIEW(Enum):
    """A word of a configuration; its members are words of TLA+ and elements of the sort."""

    Nil = 1
    TRUE = 2
    n1 = 3
    É = 4


class Spec(Model):
    """What a generated module calls the behaviour of the model."""

    vars: Map[Next, VIEW]
    n1: Next | None
    m: bool
    S: Int_
    default: Cardinality
    x: Map[tuple[Next, Cardinality], Next | None]
    broken: Rel[Next]
    debt: Ghost[bool]
    Naturals: bool
    DebtInit: bool
    CheckedNext: bool
    names_tiny: bool

    tiny = Scope({Next: 2, Cardinality: 1}, budgets={"go": 2})

    @init
    def Init(self, CHOOSE: bool) -> None:
        """Any start."""
        require(not CHOOSE, "NA-01")
        self.vars.fill(VIEW.Nil)
        self.n1 = None
        self.m = CHOOSE
        self.S = Int_(0)
        self.default = Cardinality(0)
        self.x.fill(None)
        self.broken.fill(False)
        self.debt = False
        self.Naturals = False
        self.DebtInit = False
        self.CheckedNext = False
        self.names_tiny = False

    @action(fair="weak", per=("n1", "d"), idempotent="NA-10")
    def go(self, n1: Next, d: Next, f: Cardinality) -> None:
        """The parameters are called like an element, and like what helpers and debts bind."""
        require(not any(self.broken[x] for x in Next) or self.n1 is not None, "NA-02")
        self.x[n1, f] = d
        self.x[n1, Cardinality(0)] = n1
        self.n1 = n1
        self.vars[n1] = VIEW.n1
        self.S = max((Int_(0) if self.broken[n] else Int_(-1) for n in Next), default=Int_(0))
        self.m = sum(1 for y in Next if self.broken[y]) > 0

    @action
    def Go(self, UNCHANGED: bool, n_2: Next) -> None:
        """Called as the operator of the action above is."""
        require(self.n1 is not None and self.n1 == n_2, "NA-03")
        if UNCHANGED:
            self.broken[n_2] = True
        self.debt = True

    @action(fair="strong", per=("broken",))
    def CheckedGo(self, broken: Next, CheckedGo_2: bool) -> None:
        """Called as the action that is checked is."""
        require(self.vars[broken] == VIEW.n1 and CheckedGo_2, "NA-04")
        self.vars[broken] = VIEW.É

    @invariant
    def CONSTRAINT(self) -> bool:
        """NA-20. A word of a configuration: TLC would leave states out, and check nothing."""
        return count(self.vars[n] == VIEW.É for n in Next) <= 2

    @invariant
    def Holds(self) -> bool:
        """NA-21. What wraps a condition."""
        return self.default <= 1 or self.m

    @step
    def nothing(self, old: Self) -> bool:
        """NA-22. What is said while no step has broken anything."""
        return not self.debt or old.debt or self.n1 is not None

    @step(of="Go")
    def always(self, old: Self, UNCHANGED: bool) -> bool:
        """NA-23. The prefix of a formula."""
        return UNCHANGED or all(self.broken[n] == old.broken[n] for n in Next)

    @leads_to
    def TypeOK(self, n1: Next) -> tuple[bool, bool]:
        """NA-24. What says the types of all variables."""
        return self.vars[n1] == VIEW.n1, self.vars[n1] == VIEW.É

    @leads_to
    def Owed(self) -> tuple[bool, bool]:
        """NA-25. One side of what is owed."""
        return self.debt, self.debt

    @eventually_always
    def Lasting(self, DebtsSettle: Next) -> bool:
        """NA-28. What tells the debts that must be met for good."""
        return self.vars[DebtsSettle] == VIEW.n1

    @witness
    def vars_(self) -> bool:
        """NA-26. All variables, again."""
        return self.debt

    @final
    def NotStuck(self) -> bool:
        """NA-27. What says that there is a step."""
        return True
