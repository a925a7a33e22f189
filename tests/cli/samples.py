"""A small model that the tests of the command line check, break and mutate."""

from __future__ import annotations

COUNTER = '''\
"""Counters that only grow."""

from __future__ import annotations

from holdfast.lang import Map, Model, Nat, Scope, Sort, action, init, invariant, require, witness


class Node(Sort): ...


class Count(Nat): ...


class Counter(Model):
    """Each node has a counter."""

    value: Map[Node, Count]

    tiny = Scope({Node: 2, Count: 2})
    default = Scope({Node: 2, Count: 3})

    @init
    def zero(self) -> None:
        self.value.fill(Count(0))

    @action
    def grow(self, n: Node, c: Count) -> None:
        require(c > self.value[n], "CT-01")
        self.value[n] = c

    @invariant
    def grown_is_positive(self) -> bool:
        """CT-10. A counter that is above one is above zero."""
        return all(self.value[n] > Count(0) for n in Node if self.value[n] > Count(1))

    @witness
    def grown(self) -> bool:
        """Some counter has grown."""
        return any(self.value[n] == Count(2) for n in Node)
'''

EXPLOSION = '''\
"""Far more states than any test waits for."""

from __future__ import annotations

from holdfast.lang import Map, Model, Nat, Scope, Sort, action, init, invariant


class Node(Sort): ...


class Count(Nat): ...


class Explosion(Model):
    """Each node has three counters that change freely."""

    a: Map[Node, Count]
    b: Map[Node, Count]
    c: Map[Node, Count]

    large = Scope({Node: 4, Count: 9})

    @init
    def zero(self) -> None:
        self.a.fill(Count(0))
        self.b.fill(Count(0))
        self.c.fill(Count(0))

    @action
    def change(self, n: Node, x: Count, y: Count, z: Count) -> None:
        self.a[n] = x
        self.b[n] = y
        self.c[n] = z

    @invariant
    def bounded(self) -> bool:
        """EX-01. A counter stays below its bound."""
        return all(self.a[n] <= Count(9) for n in Node)
'''
