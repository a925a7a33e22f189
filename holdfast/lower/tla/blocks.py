"""An action as TLA+ sees it: conditions, and what each variable is afterwards.

The statements of a body change cells one after another; TLA+ says once what a whole variable becomes. Between the two
stand these values: a ``Block`` is a conjunction, whose items keep the order of the body's lines.
"""

from __future__ import annotations

import attrs

from holdfast.ir.expr import Expr, Ruled
from holdfast.ir.types import Key


@attrs.frozen
class Named:
    """A variable as it was before the step, or the definition of that name."""

    name: str


@attrs.frozen
class Updated:
    """A function with other values at some keys: ``[of EXCEPT ![keys] = value, ...]``, one after another."""

    of: Named
    changes: tuple[tuple[tuple[Expr, ...], Expr], ...]


@attrs.frozen
class Mapped:
    r"""A function by its values: ``[x \in X |-> body]``."""

    params: tuple[tuple[str, Key], ...]
    body: Expr


@attrs.frozen
class ChosenFunction:
    """One of two functions."""

    test: Expr
    then: Function
    orelse: Function


Function = Named | Updated | Mapped | ChosenFunction
"""What a variable with keys holds."""

Contents = Function | Expr
"""What a variable holds; one without keys has an expression."""


@attrs.frozen
class Definition:
    """A name for an expression, or for what a variable holds in the midst of the body."""

    name: str
    value: Contents


@attrs.frozen
class RuleGuard:
    """A rule: without it there is no step. ``note`` is its label with the error of a refusal."""

    cond: Expr
    note: str


@attrs.frozen
class BoundGuard:
    """A bound of the scope: beyond it the step is cut."""

    cond: Expr
    note: str


@attrs.frozen
class NewValue:
    """What a variable is after the step; ``note`` has the labels of the effects that had a part in it."""

    var: str
    value: Contents
    note: str = ""


@attrs.frozen
class Unchanged:
    """The frame: what stays as it was."""

    variables: tuple[str, ...]


@attrs.frozen
class Conditional:
    """One of two conjunctions."""

    test: Expr
    note: str
    then: Block
    orelse: Block


Item = RuleGuard | BoundGuard | NewValue | Unchanged | Conditional


@attrs.frozen
class Block:
    """A conjunction, with the definitions that its items use."""

    definitions: tuple[Definition, ...]
    items: tuple[Item, ...]


def labelled(test: Expr) -> tuple[str, Expr]:
    """The label of a test, or nothing, and the test itself."""
    return (test.label, test.arg) if isinstance(test, Ruled) else ("", test)
