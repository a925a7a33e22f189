"""The limits for the sizes of a scope: what is larger cannot be listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property, Scope, System
from holdfast.ir.types import Choice, Scalar

MOST_VALUES = 1 << 16
"""The limit for the elements of a sort, the values of a parameter or a key, and the cells of a variable.

More would take too much memory and time before a limit on the states of a search could stop it.
"""

MOST_CHOICES = 1 << 18
"""The number of choices that all parameters of an action, or of ``@init``, may have together.

An engine goes through them before it looks at its budget again. A judge of a log does not: the log names the arguments.
"""


def refuse_sizes(system: System, scope: Scope, codes: Callable[[Scalar | Choice], int]) -> None:
    """Raise UsageError for a sort, variable or parameter with more than ``MOST_VALUES`` values or cells.

    ``codes`` gives the number of values of a type.
    """
    counts = [(f"sort {sort} has {scope.size(sort)} elements", scope.size(sort)) for sort in system.sorts]
    for var in system.variables:
        cells = prod(scope.size(key) for key in var.keys)
        counts.append((f"{var.name} has {cells} cells", cells))
    chosen: list[Action | Property] = [system.init, *system.actions, *system.properties]
    for of in chosen:
        for param in of.params:
            count = codes(param.type)
            counts.append((f"parameter {param.name} of {of.name} has {_shown(count)} values", count))
    _refuse(scope, counts, MOST_VALUES)


def refuse_choices(actions: Iterable[Action], scope: Scope, codes: Callable[[Scalar | Choice], int]) -> None:
    """Raise UsageError for one of these actions with more than ``MOST_CHOICES``; ``@init`` counts as one."""
    counts = []
    for action in actions:
        count = prod(codes(param.type) for param in action.params)
        counts.append((f"the parameters of {action.name} have {_shown(count)} choices together", count))
    _refuse(scope, counts, MOST_CHOICES)


def _refuse(scope: Scope, counts: Sequence[tuple[str, int]], limit: int) -> None:
    for what, count in counts:
        if count > limit:
            raise UsageError(
                f"scope {scope.name}: {what}, and the limit is {limit:,}; choose a smaller scope, or a smaller type"
            )


def _shown(count: int) -> str:
    # Python refuses to print a number of thousands of digits.
    return str(count) if count.bit_length() < 200 else f"about 2 to the power of {count.bit_length() - 1}"
