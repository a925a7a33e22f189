"""``all`` and ``any`` as a model's methods call them: they look at every element.

Python's own end at the first element that decides the result. A model must not depend on the order of elements, and a
computed key of a later element may lie beyond its bound, which cuts the step (see ``maps``). So while a method of a
model runs, the names ``all`` and ``any`` in the model's modules stand for the functions of this file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def every(conditions: Iterable[Any]) -> bool:
    """Whether all conditions hold."""
    return all(list(conditions))


def some(conditions: Iterable[Any]) -> bool:
    """Whether some condition holds."""
    return any(list(conditions))


@contextmanager
def looking_at_all(model: type) -> Iterator[None]:
    """Within this context ``all`` and ``any`` in the modules of a model and of its parts look at every element."""
    package = __name__.rpartition(".")[0]
    modules = {cls.__module__ for cls in model.__mro__ if cls is not object and not cls.__module__.startswith(package)}
    # A module that has such a name keeps it: it is a name of the model, or this context is open already.
    changed = [
        (space, name, function)
        for space in (vars(sys.modules[name]) for name in sorted(modules) if name in sys.modules)
        for name, function in (("all", every), ("any", some))
        if name not in space
    ]
    for space, name, function in changed:
        space[name] = function
    try:
        yield
    finally:
        for space, name, _ in changed:
            del space[name]
