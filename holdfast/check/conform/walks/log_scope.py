"""The sizes of a walk that writes a log: more processes and streams than work at the same time.

A crashed process stays crashed, and a deleted stream stays deleted, so a long walk needs new processes and streams from
time to time. The scope has all of them from the start. A walk makes requests only of elements that have *appeared*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from holdfast.check.conform.judge.order import Uses, nat_of
from holdfast.check.conform.logs.names import processes
from holdfast.ir.system import Scope, System, Var
from holdfast.ir.types import NatType, SortType

PER_ELEMENT = 100
"""A sort whose elements get used up has one more element for each N events of a log."""

MOST = 16
"""The limit of elements of a sort whose elements serve for long, like processes and streams."""

MOST_SHORT = 20
"""The limit of elements of a sort whose elements serve once, like requests."""

NARROW, WIDE = 48, 200
"""The least and the most numbers of a Nat that a walk keeps at once; pinned numbers are not counted.

A walk is faster if a Nat that keys cells has few numbers. But a crashed process keeps its numbers, so there are at
least as many numbers as cells that can hold one.
"""

IDS, PLACES = 3, 7
"""The greatest number of a plain Nat: first if no action counts on it, then if one does."""


class LogScope:
    """The scope of a walk with a given number of events.

    ``most``: for each sort whose elements get used up, the limit of its elements. ``first``: for each sort or plain
    Nat, the number of its elements or numbers that appear at the start.
    """

    def __init__(
        self, system: System, scope: Scope, uses: Uses, streams: int, events: int, most: Mapping[str, int]
    ) -> None:
        self.system = system
        self.uses = uses
        kept = [var for var in system.variables if not var.ghost]
        keyed = {str(nat_of(key)) for var in kept for key in var.keys}
        sizes = dict(scope.sizes)
        self.first: dict[str, int] = {}
        self.homes: dict[str, tuple[SortType, Sequence[int]]] = {}
        """The home of each process: the sort of its first constant that is an element, such as Node, and its values."""
        given = dict(scope.given)
        constants = processes(system)
        for sort in (each.name for each in system.sorts):
            first = self.first[sort] = streams if sort == "Stream" else sizes[sort]
            sizes[sort] = max(first, min(most.get(sort, 0), first + events // PER_ELEMENT))
            if sort in constants:
                times = sizes[sort] // first
                sizes[sort] = first * times
                given |= {var.name: _repeated(var, given[var.name], times) for var in constants[sort]}
                for var in constants[sort]:
                    if isinstance(var.value, SortType) and sort not in self.homes:
                        self.homes[sort] = var.value, [int(value or 0) for value in given[var.name]]
        self.pinned = {
            nat.name: range(max((*uses.literals.get(nat.name, ()), *self._constants(nat.name, given)), default=0) + 1)
            for nat in system.nats
        }
        for nat in (each.name for each in system.nats):
            if nat in uses.plain:
                self.first[nat] = scope.sizes[nat] + 1
                sizes[nat] = max(scope.sizes[nat], PLACES if uses.rising else IDS)
            else:
                room = min(max(NARROW, self._cells(nat, sizes | {"Stream": streams})), WIDE) if nat in keyed else WIDE
                sizes[nat] = len(self.pinned[nat]) + room - 1
        self.scope = Scope("log", sizes, {}, given, scope.at)

    def _constants(self, nat: str, given: dict[str, tuple[bool | int | str | None, ...]]) -> list[int]:
        """The numbers of the Nat among the constants."""
        return [
            value
            for var in self.system.variables
            if var.given and nat_of(var.value) == nat
            for value in given[var.name]
            if isinstance(value, int)
        ]

    def _cells(self, nat: str, sizes: Mapping[str, int]) -> int:
        """The number of cells that hold a number of the Nat. Fields with a number as a key are not counted."""
        return sum(
            prod(sizes[str(key)] for key in var.keys)
            for var in self.system.variables
            if not var.ghost and nat_of(var.value) == nat and all(isinstance(key, SortType) for key in var.keys)
        )

    def appearing(self) -> list[str]:
        """The sorts and plain Nats of which more elements or numbers can appear later."""
        return [name for name, first in self.first.items() if first < self.count(name)]

    def count(self, name: str) -> int:
        """The number of elements of a sort, or of numbers of a plain Nat."""
        return self.scope.size(NatType(name) if name in self.uses.plain else SortType(name))


def _repeated(var: Var, values: Sequence[bool | int | str | None], times: int) -> tuple[bool | int | str | None, ...]:
    """The constants of ``times`` as many processes. Each repetition has higher numbers: the next incarnations."""
    if nat_of(var.value) is None:
        return tuple(values) * times
    step = max((value for value in values if isinstance(value, int)), default=0)
    return tuple(
        value + turn * step if isinstance(value, int) and value else value for turn in range(times) for value in values
    )
