"""A ground: a model prepared for one log, with its sizes, its constants as cells, its literals, and its projection."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from holdfast.check.conform.judge.frame import PROJECTED, Frame
from holdfast.check.conform.judge.order import nat_of
from holdfast.check.conform.judge.projection import Projection
from holdfast.check.conform.judge.window import Windows
from holdfast.check.conform.logs.names import LogNames
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Property
from holdfast.ir.types import BoolType, EnumType, NatType, OptionalType, SortType, Type
from holdfast.lower.layout import Field
from holdfast.lower.outcome import Taken
from holdfast.lower.provenance.reads import ask

NARROW, WIDE = 12, 48
"""The least and the most values that a window has room for, if no option and no constant asks for more."""

SPARE = 4
"""The number of values that a window has room for, besides the constants and one value for each cell."""

SLOTS = 64
"""The limit of elements of a sort in a log, and of numbers of a plain Nat unless an option allows more."""

CODES = 254
"""The most values of a Nat that a cell of one byte can hold, besides None."""


class UnjudgedError(Exception):
    """The log cannot be judged. The message is the reason for the answer ``unknown``."""


class Ground:
    """A frame with the elements that a log names. ``windows``: by Nat, the number of values a window has room for.

    ``projection`` is None if each world has all elements. ``slots``: the number of elements of the projected sort in a
    world. Raises Unjudged for too many elements or too great a number of a plain Nat, and UsageError if an assumption
    is false.
    """

    def __init__(
        self,
        frame: Frame,
        names: LogNames,
        projection: Projection | None,
        slots: int,
        windows: Mapping[str, int],
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.frame = frame
        self.names = names
        self.projection = projection
        self.sort = projection.sort if projection is not None else None
        self.actions = {action.name: action for action in frame.system.actions}
        sizes = self._sizes(slots)
        # The windows come second: their sizes depend on the numbers of cells, and so on the sizes of the sorts.
        sizes |= {nat.name: self._window(nat.name, windows, sizes) - 1 for nat in frame.system.nats}
        sized = frame.sized(sizes, hidden)
        self.system, self.layout, self.machine = sized.system, sized.layout, sized.machine
        self.hidden, self.counting, self._windows = sized.hidden, sized.counting, sized.windows
        self._started: tuple[Windows, dict[bytes, tuple[int, ...]]] | None = None
        self._check_size()

    def _sizes(self, slots: int) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for sort in (each.name for each in self.frame.system.sorts):
            count = slots if sort == self.sort else len(self.names.elements[sort])
            if count > SLOTS:
                remedy = f"try --project {sort}" if sort in PROJECTED else "give it a log of fewer elements"
                if sort == self.sort:
                    remedy = "try a smaller --joint"
                problem = f"the log names {count} elements of {sort}, and there is room for {SLOTS}"
                raise UnjudgedError(f"{problem}; {remedy}")
            if not count and sort in self.names.processes:
                raise UsageError(
                    f"the log names no {sort}, so it shows nothing of what processes do; log the {sort} of each event"
                )
            sizes[sort] = max(count, 1)
        return sizes

    def _window(self, nat: str, windows: Mapping[str, int], sizes: Mapping[str, int]) -> int:
        """The room of a window: the wanted number of values, but at least the values that never leave it."""
        if nat in self.frame.uses.plain:
            return self._all_numbers(nat, windows.get(nat))
        own = {
            value[1]
            for constants in self.names.constants.values()
            for process in constants
            for value in process
            if isinstance(value, tuple) and value[0] == nat
        }
        pinned = len({0, *self.frame.literals[nat], *own})
        if nat in windows:
            return max(windows[nat], pinned)
        cells = sum(self._holding(nat, sizes))
        # Between NARROW and WIDE values, but always SPARE more than the pinned ones.
        return max(min(max(NARROW, pinned + cells + SPARE), WIDE), pinned + SPARE)

    def _all_numbers(self, nat: str, wanted: int | None) -> int:
        """The number of values of a Nat whose numbers are used unchanged.

        They go from 0 to the greatest number in the log and the model, and one further if the model counts the Nat on.
        ``wanted`` is the number that the user asked for, or None. Raises UnjudgedError if there is no room, and
        UsageError if the user says that there are fewer values than the log names.
        """
        uses = self.frame.uses
        greatest: int = max((self.names.greatest.get(nat, 0), *uses.literals.get(nat, ())))
        if nat in uses.ended and wanted is None:
            raise UnjudgedError(f"the log does not tell the last {nat} ({uses.ended[nat]}); say it: --window {nat}=N")
        room = max(greatest + 1 + (nat in uses.rising), wanted or 0)
        if nat in uses.ended and wanted is not None:
            # The model asks for the last value: with more room than was said, that would be another one.
            if greatest >= wanted:
                raise UsageError(
                    f"--window {nat}={wanted}: the last value is {wanted - 1}, and the log or the model names "
                    f"{greatest}; say how many values there are, {greatest + 1} or more"
                )
            room = wanted
        most = CODES if wanted is not None else SLOTS
        if room > most:
            more = f"try --window {nat}={room}" if room <= CODES else "number them from 0 in the log or its mapping"
            raise UnjudgedError(
                f"the log has the number {greatest} of {nat}, whose numbers are the same in log and model, and there "
                f"is room for 0 to {most - 1 - (nat in uses.rising)} ({uses.plain[nat]}); {more}"
            )
        return room

    def _check_size(self) -> None:
        """Raise Unjudged before the first event if loops over a plain Nat make a step too large to compile."""
        for action in self.system.actions if self.frame.uses.plain else ():
            try:
                self.machine.step(action)
            except UsageError as error:
                greatest = ", ".join(f"{nat} 0 to {self.layout.scope.sizes[nat]}" for nat in self.frame.uses.plain)
                raise UnjudgedError(
                    f"there are too many numbers ({greatest}), which are used unchanged: {error}"
                ) from None

    def is_open(self, kind: Type) -> bool:
        """Whether the type has values that no window holds."""
        return isinstance(kind, NatType) and kind.name not in self.frame.uses.plain

    def notes(self) -> list[str]:
        """The verdict's notes on plain Nats, whose numbers are the same in log and model."""
        sizes = self.layout.scope.sizes
        taken = ", ".join(f"{nat} 0 to {sizes[nat]}" for nat in self.frame.uses.plain)
        return [f"numbers used unchanged: {taken}; the model has no others"] if taken else []

    def _holding(self, nat: str, sizes: Mapping[str, int]) -> Iterator[int]:
        """For each variable that holds the Nat, its number of cells. A key that is a Nat counts as one cell."""
        for var in self.frame.system.variables:
            if nat_of(var.value) == nat and var.name not in self.frame.dropped:
                yield prod(_elements(key, sizes) for key in var.keys if not isinstance(key, NatType))

    def start(self) -> tuple[Windows, dict[bytes, tuple[int, ...]]]:
        """The windows, and the initial states of a world, each with arguments of ``@init`` that give it."""
        if self._started is None:
            self._started = self._start()
        windows, states = self._started
        return windows.copy(), dict(states)

    def _start(self) -> tuple[Windows, dict[bytes, tuple[int, ...]]]:
        windows = self._windows.copy()
        wanted = [
            value
            for constants in self.names.constants.values()
            for process in constants
            for value in process
            if isinstance(value, tuple)
        ]
        windows.refer(wanted, set())
        # The constants become cells of the blank state; ``@init`` then runs on it like on any state.
        blank = bytearray(self.layout.blank())
        for sort, constants in self.names.constants.items():
            for number, process in enumerate(constants):
                for var, value in zip(self.names.processes[sort], process, strict=True):
                    code = windows.code(*value) if isinstance(value, tuple) else value
                    cell = self.layout.field(var.name).offset + number
                    optional = isinstance(var.value, OptionalType)
                    blank[cell] = 0 if code is None else code + optional
        start = bytes(blank)
        init = self.system.init
        kinds = [param.type for param in init.params]
        choices = [
            range(len(windows.values[kind.name]) if isinstance(kind, NatType) else self.layout.codes(kind))
            for kind in kinds
        ]
        step = self.machine.step(init)
        states: dict[bytes, tuple[int, ...]] = {}
        for args in itertools.product(*choices):
            outcome = step(start, args)
            if isinstance(outcome, Taken):
                states.setdefault(outcome.state, args)
        self._check_assumptions(states)
        if not states:
            raise UsageError(
                f"{init.at}: no choice of its parameters gives an initial state for the log's processes; "
                "check how the log names them"
            )
        return windows, states

    def _check_assumptions(self, states: Iterable[bytes]) -> None:
        for prop in self.system.of_kind("assume"):
            for state in states:
                if not all(ask(self.layout, prop, state, state, args).holds for args in self._instances(prop)):
                    raise UsageError(
                        f"{prop.at}: the constants that the log gives contradict the assumption {prop.title}; "
                        "check how the log names its processes"
                    )

    def _instances(self, prop: Property) -> Sequence[tuple[int, ...]]:
        return list(itertools.product(*(range(self.layout.codes(param.type)) for param in prop.params)))

    def counted(self, action: str) -> tuple[Field, ...]:
        """The fields that an action counts on; empty for most actions."""
        return tuple(self.layout.field(name) for name in self.frame.uses.counted.get(action, ()))


def _elements(key: EnumType | SortType | BoolType, sizes: Mapping[str, int]) -> int:
    """The number of values of a key."""
    match key:
        case BoolType():
            return 2
        case EnumType(members=members):
            return len(members)
        case SortType(name):
            return sizes[name]
