"""The names of the elements of Sorts: ``n1``, ``n2``."""

from __future__ import annotations

from collections import Counter

from holdfast.ir.errors import UsageError
from holdfast.ir.marks import ScopeMark
from holdfast.ir.system import Scope, System


def classes_of_scopes(model: type) -> dict[str, type]:
    """The Sorts and Nats that the scopes of a model mention, by name."""
    # In reverse, so that a scope of a subclass overrides one of its bases.
    marks = [mark for base in reversed(model.__mro__) for mark in vars(base).values() if isinstance(mark, ScopeMark)]
    return {cls.__name__: cls for mark in marks for cls in mark.sizes}


def element_names(system: System, scope: Scope) -> dict[str, tuple[str, ...]]:
    """The names of the elements of each Sort: its prefix and a number, such as ``n1`` and ``n2``.

    Sorts that share a prefix use their whole names, in lower case. Raises UsageError if two elements would have one
    name.
    """
    classes = classes_of_scopes(system.python)
    prefixes = {
        sort.name: getattr(classes.get(sort.name), "prefix", "") or sort.name[0].lower() for sort in system.sorts
    }
    shared = {prefix for prefix, times in Counter(prefixes.values()).items() if times > 1}
    elements = {
        name: tuple(
            f"{name.lower() if prefix in shared else prefix}{number + 1}" for number in range(scope.sizes[name])
        )
        for name, prefix in prefixes.items()
    }
    owners: dict[str, str] = {}
    for sort, names in elements.items():
        for name in names:
            # With two elements of one name, a trace could not be read back, and TLC would take the two for one.
            if owners.setdefault(name, sort) != sort:
                raise UsageError(
                    f"scope {scope.name}: an element of {owners[name]} and one of {sort} are both called {name}; give "
                    f'one of them another prefix: class {sort}(Sort, prefix="x")'
                )
    return elements
