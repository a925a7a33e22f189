"""Fairness: the demands of a system, and the demand that a step serves.

``@action(fair="weak", per=("n", "s"))`` is one *demand* for each pair of values of ``n`` and ``s``: if the action has a
step with these values in every state from some point on, such a step is taken at some time. With ``"strong"``, it is
enough that the action has such a step again and again.

Only a step that changes the protocol's state counts, as enabled and as taken. A step that changes only ghosts and
budgets counts as no step.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import Literal

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action
from holdfast.lower.layout import Layout, Value
from holdfast.lower.python.interpreter import Args
from holdfast.lower.python.names import code_name

Strength = Literal["weak", "strong"]

FREE = 0xFFFF
"""The label of a step that serves no demand. Any other label is the number of the demand that the step serves."""


@attrs.frozen
class Demand:
    """Fairness for the steps of one action with these values of its ``per`` parameters."""

    action: str
    strength: Strength
    values: tuple[tuple[str, Value], ...]

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in self.values)})"


@attrs.frozen
class _Group:
    """The demands of one action: they are numbered from ``first`` on, in the order of the values."""

    first: int
    action: Action
    places: tuple[int, ...]
    """The positions of the ``per`` parameters among the action's parameters."""
    sizes: tuple[int, ...]
    """The number of values of each ``per`` parameter."""

    @property
    def strides(self) -> tuple[int, ...]:
        """The factor of each value's code in the number of a demand."""
        return tuple(prod(self.sizes[place + 1 :]) for place in range(len(self.sizes)))


class Demands:
    """All demands of a layout's system, in the order of the actions and of the values of their parameters.

    ``each`` has them by number. Raises UsageError for more than ``FREE`` demands: a label has 16 bits.
    """

    def __init__(self, layout: Layout) -> None:
        self._groups: dict[str, _Group] = {}
        found: list[Demand] = []
        for action in layout.system.actions:
            if action.fair is None:
                continue
            names = [param.name for param in action.params]
            places = tuple(names.index(name) for name in action.per)
            types = [action.params[place].type for place in places]
            sizes = tuple(layout.codes(kind) for kind in types)
            self._groups[action.name] = _Group(len(found), action, places, sizes)
            if len(found) + prod(sizes) > FREE:
                raise UsageError(
                    f"scope {layout.scope.name}: {layout.system.name} demands fairness of more than {FREE:,} instances "
                    f"of actions; make {action.name} fair per fewer parameters, or choose a smaller scope"
                )
            for codes in itertools.product(*(range(size) for size in sizes)):
                values = (layout.decode_value(kind, code) for kind, code in zip(types, codes, strict=True))
                found.append(Demand(action.name, action.fair, tuple(zip(action.per, values, strict=True))))
        self.each = tuple(found)

    def label(self, action: str, args: Args) -> int:
        """The label of a step that changes the protocol's state: the number of the demand it serves, or FREE."""
        group = self._groups.get(action)
        if group is None:
            return FREE
        return group.first + sum(
            args[place] * stride for place, stride in zip(group.places, group.strides, strict=True)
        )

    def label_text(self, action: str) -> str:
        """``label`` as an expression over the codes of the action's parameters, for generated functions."""
        group = self._groups.get(action)
        if group is None:
            return str(FREE)
        terms = [
            f"{code_name(group.action.params[place])} * {stride}"
            for place, stride in zip(group.places, group.strides, strict=True)
        ]
        return " + ".join([str(group.first), *terms])


def protocol_cells(layout: Layout) -> list[tuple[int, int]]:
    """The spans of cells of the protocol (no ghosts, no budgets): the first cell, and the one behind the last."""
    spans: list[tuple[int, int]] = []
    for field in layout.fields:
        if field.ghost or field.hidden or not field.count:
            continue
        start, end = field.offset, field.offset + field.count
        # Neighbouring fields become one span: generated code then compares one slice.
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans
