"""The model file of a run that explains a log: the model in the sizes of the log.

It inherits everything from the model and adds a scope. In that scope, the code of a Nat is the index of a number among
all numbers that the log mentions.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.names import Code
from holdfast.ir.system import Scope, System
from holdfast.ir.types import EnumType, IntType, OptionalType, Scalar
from holdfast.lower.element_names import classes_of_scopes

SCOPE = "log"

WRITTEN = '"""The sizes of a log. Written by holdfast conform --run."""'
"""The first line of a model file; ``--run`` replaces no file that begins otherwise."""

Numbers = Mapping[str, list[int]]
"""By Nat, all numbers that a log mentions, ascending."""


def scope_of(system: System, world: World, numbers: Numbers) -> Scope:
    """The scope of a world, with codes for all numbers of the log."""
    sizes = {**world.ground.layout.scope.sizes, **{nat: max(len(values) - 1, 1) for nat, values in numbers.items()}}
    given = {
        var.name: tuple(_given(var.value, process[place], numbers) for process in world.ground.names.constants[sort])
        for sort, variables in world.ground.names.processes.items()
        for place, var in enumerate(variables)
    }
    return Scope(SCOPE, sizes, {}, given, system.init.at)


def model_file(system: System, runs: Iterable[tuple[str, World, Numbers]]) -> str:
    """The text of the file: a class for each run, under the given name."""
    classes = classes_of_scopes(system.python)
    imports = sorted({f"from {cls.__module__} import {cls.__name__}" for cls in (system.python, *classes.values())})
    module = system.python.__module__
    # A model file that belongs to no package is loaded by its path.
    alone = module.startswith("_model_")
    lines = [
        WRITTEN,
        "",
        *(["from holdfast.ir.load import load_model"] if alone else []),
        "from holdfast.lang import Scope",
        *(["", f"load_model({str(sys.modules[module].__file__)!r})", ""] if alone else []),
        *imports,
    ]
    for name, world, numbers in runs:
        lines += ["", "", f"class {name}({system.python.__name__}):", *_class(system, world, numbers, classes)]
    return "\n".join([*lines, ""])


def _class(system: System, world: World, numbers: Numbers, known: Iterable[str]) -> Iterator[str]:
    """The lines of the class of one run."""
    scope = scope_of(system, world, numbers)
    sizes = ", ".join(f"{name}: {size}" for name, size in scope.sizes.items() if name in known)
    yield f'    """{system.name} in the sizes of a log."""'
    yield ""
    yield from (f"    # {line}" for line in _names(world, numbers))
    yield f"    {SCOPE} = Scope({{{sizes}}}, given={scope.given!r})"


def _names(world: World, numbers: Numbers) -> Iterator[str]:
    """Comment lines: the log's names for the elements and numbers of the model file."""
    for sort, elements in world.ground.layout.elements.items():
        called = world.ground.names.called(sort)
        if sort == world.ground.sort:
            called = [called[stream] for stream, _ in sorted(world.slots.items(), key=lambda each: each[1])]
        if called:
            pairs = (f"{name} is {json.dumps(other)}" for name, other in zip(elements, called, strict=False))
            yield f"{sort}: {', '.join(pairs)}"
    for nat, values in numbers.items():
        yield f"{nat}: {', '.join(f'{place} is {value}' for place, value in enumerate(values))}"


def _given(kind: Scalar, value: Code, numbers: Numbers) -> bool | int | str | None:
    match kind, value:
        case OptionalType(of), _:
            return None if value is None else _given(of, value, numbers)
        case EnumType(members=members), int():
            return members[value]
        case IntType(lo=lo), int():
            return value + lo
        case _, (nat, number):
            return bisect_left(numbers[nat], number)
        case _, int():
            return bool(value) if str(kind) == "bool" else value
        case _:
            return None
