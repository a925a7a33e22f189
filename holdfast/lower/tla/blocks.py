"""An action in the form of TLA+: conditions, and the value of each variable after the step.

The statements of a body change cells one after another, but TLA+ states the new value of a whole variable once. These
classes are the intermediate form. A ``Block`` is a conjunction; its items keep the order of the body's lines.
"""

from __future__ import annotations

import attrs

from holdfast.ir.expr import Expr, Ruled
from holdfast.ir.types import Key


@attrs.frozen
class NamedFunction:
    """The value of a variable before the step, or the value of the definition with that name."""

    name: str


@attrs.frozen
class UpdatedFunction:
    """A function with other values at some keys: ``[of EXCEPT ![keys] = value, ...]``; later changes win."""

    of: NamedFunction
    changes: tuple[tuple[tuple[Expr, ...], Expr], ...]


@attrs.frozen
class MappedFunction:
    r"""A function given by an expression for its values: ``[x \in X |-> body]``."""

    params: tuple[tuple[str, Key], ...]
    body: Expr


@attrs.frozen
class ChosenFunction:
    """One of two functions: ``then`` if the test holds, else ``orelse``."""

    test: Expr
    then: Function
    orelse: Function


Function = NamedFunction | UpdatedFunction | MappedFunction | ChosenFunction
"""The value of a variable with keys."""

Contents = Function | Expr
"""The value of a variable; a variable without keys has an expression."""


@attrs.frozen
class Definition:
    """A LET definition: a name for an expression, or for the value of a variable between two lines of the body."""

    name: str
    value: Contents


@attrs.frozen
class RuleGuard:
    """A rule: it refuses the step if ``cond`` is false. ``note`` is its label with the error of the refusal."""

    cond: Expr
    note: str


@attrs.frozen
class BoundGuard:
    """A bound of the scope: it cuts the step if ``cond`` is false."""

    cond: Expr
    note: str


@attrs.frozen
class NewValue:
    """The value of a variable after the step; ``note`` has the labels of the effects that contribute to it."""

    var: str
    value: Contents
    note: str = ""


@attrs.frozen
class Unchanged:
    """The frame condition: the variables that keep their values."""

    variables: tuple[str, ...]


@attrs.frozen
class Conditional:
    """One of two conjunctions: ``then`` if the test holds, else ``orelse``."""

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
    """The label of a test (empty if it has none), and the test without its label."""
    return (test.label, test.arg) if isinstance(test, Ruled) else ("", test)
