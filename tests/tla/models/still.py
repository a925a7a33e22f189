"""A model without actions: nothing ever happens."""

from __future__ import annotations

from holdfast.lang import Map, Model, Scope, Sort, init, invariant


class Node(Sort):
    """What could move."""


class Still(Model):
    """Nodes that never move."""

    moved: Map[Node, bool]

    tiny = Scope({Node: 2})

    @init
    def nowhere(self) -> None:
        self.moved.fill(False)

    @invariant
    def none_moves(self) -> bool:
        """XX-10. No node moves."""
        return not any(self.moved[n] for n in Node)
