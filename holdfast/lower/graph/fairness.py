"""Fairness: what must happen some time if it stays possible, and what a step does about it.

``@action(fair="weak", per=("n", "s"))`` is one *demand* for each value of ``n`` and ``s``: if some step of the action
with these values stays possible, one is taken some time. With ``"strong"`` it is enough that one is possible again and
again. Only a step that changes the protocol's state counts, for either: one that leaves everything as it is, but for
ghosts and budgets, is as good as none.
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
"""The label of a step that no demand is about. Others are the number of the demand that the step serves."""


@attrs.frozen
class Demand:
    """Fairness for the steps of one action with these values of the parameters that it is ``per``."""

    action: str
    strength: Strength
    values: tuple[tuple[str, Value], ...]

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in self.values)})"


@attrs.frozen
class _Group:
    """The demands of one action: from number ``first`` on, in the order of the values."""

    first: int
    action: Action
    places: tuple[int, ...]
    """Where the action's parameters stand that it is fair per."""
    sizes: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """By how much each value's code counts in the number."""
        return tuple(prod(self.sizes[place + 1 :]) for place in range(len(self.sizes)))


class Demands:
    """All demands of a layout's system, in the order of the actions and of the values of their parameters.

    Raises UsageError for more of them than labels have numbers.
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
        """The number of the demand that a step serves, if it changes something; FREE if there is none."""
        group = self._groups.get(action)
        if group is None:
            return FREE
        return group.first + sum(
            args[place] * stride for place, stride in zip(group.places, group.strides, strict=True)
        )

    def label_text(self, action: str) -> str:
        """The same as an expression over the codes of the action's parameters, for generated functions."""
        group = self._groups.get(action)
        if group is None:
            return str(FREE)
        terms = [
            f"{code_name(group.action.params[place])} * {stride}"
            for place, stride in zip(group.places, group.strides, strict=True)
        ]
        return " + ".join([str(group.first), *terms])


def protocol_cells(layout: Layout) -> list[tuple[int, int]]:
    """From which cell to which (not included) lies what is part of the protocol: no ghosts, no budgets."""
    spans: list[tuple[int, int]] = []
    for field in layout.fields:
        if field.ghost or field.hidden or not field.count:
            continue
        start, end = field.offset, field.offset + field.count
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans
