"""Remembers the formulas of quantifiers and folds that are written out element by element.

Nested in another one, such a node is asked for once for each element there, although it may not depend on that element.
Equal bindings give the same term, so nothing changes but the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs
import z3

from holdfast.ir.expr import Expr, Fold, Quantified, Read, free_names, walk
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.universe import Reading
from holdfast.lower.smt.values import Value

N = TypeVar("N", Quantified, Fold)
Input = Value | Reading


@attrs.frozen
class ExpressionInputs:
    """What an expression depends on: names, variables, and variables of the state before the step."""

    node: Expr
    names: tuple[str, ...]
    variables: tuple[str, ...]
    old: tuple[str, ...]

    @classmethod
    def of(cls, node: Expr) -> ExpressionInputs:
        """The inputs of an expression."""
        reads = [part for part in walk(node) if isinstance(part, Read)]
        now, before = {part.var for part in reads if not part.old}, {part.var for part in reads if part.old}
        return cls(node, tuple(sorted(free_names(node))), tuple(sorted(now)), tuple(sorted(before)))

    def found(self, at: Bindings) -> tuple[Input, ...]:
        """Their values and functions."""
        names = (at.names[name] if name in at.names else at.maps[name] for name in self.names)
        old = () if at.old is None else (at.old.readings[var] for var in self.old)
        return (*names, *(at.state.readings[var] for var in self.variables), *old)


class FormulaMemo:
    """The formulas so far, by node and inputs."""

    def __init__(self) -> None:
        self._inputs: dict[int, ExpressionInputs] = {}
        """By the id of a node."""
        self._known: dict[tuple[object, ...], tuple[Value, tuple[object, ...]]] = {}

    def value(self, node: N, at: Bindings, write: Callable[[N, Bindings], Value]) -> Value:
        """What ``write`` makes of a node; made once for equal inputs."""
        inputs = self._inputs.get(id(node))
        if inputs is None:
            inputs = self._inputs[id(node)] = ExpressionInputs.of(node)
        used: tuple[Input, ...] = inputs.found(at)
        label = (id(node), *map(_identity, used))
        found = self._known.get(label)
        if found is None:
            # The node and its inputs are stored too: their ids are used again once they are gone.
            found = self._known[label] = (write(node, at), (node, *used))
        return found[0]


def _identity(used: Input) -> object:
    """What tells a number, a term or anything else from others."""
    if isinstance(used, int):
        return used
    return ("", used.get_id()) if isinstance(used, z3.ExprRef) else (None, id(used))
