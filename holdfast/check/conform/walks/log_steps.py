"""The steps of a walk that writes a log: random requests, and the model's outcomes.

No bound ends the numbers of such a walk. Windows hold the numbers in use, as those of a judge do, and a walk that needs
a larger number counts on by one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import attrs

from holdfast.check.conform.judge.machine import LogMachine
from holdfast.check.conform.judge.order import nat_of
from holdfast.check.conform.judge.window import FullError, Windows
from holdfast.check.conform.walks.log_scope import LogScope
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Param
from holdfast.ir.types import NatType, OptionalType, Plain, SortType
from holdfast.lower.layout import Field, Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken

DRAWS = 12
"""The number of random arguments that are tried for an action."""

ANY = 1 / 16
"""The share of requests whose arguments are drawn without regard to their effect."""

MOVED = 1 / 8
"""The share of numbers in such a request that are increased a little."""

NEAR = 0.85
"""The probability bound below which a number is taken from a cell of the other arguments, if there is such a cell."""

NEW = 0.1
"""The probability of a number that is greater than all numbers of the state."""

END = 0.25
"""The probability that the second number of a range is drawn from those just above the first, held by a cell or not."""

AT_WORK = 0.9
"""The probability that an element is drawn from those at work, and not from all that have appeared."""

ROUNDS = 4
"""The most rounds in which the windows take in numbers to which a request counts."""

STARTS = 10_000
"""The number of random arguments that are tried for the start."""


@attrs.frozen
class LogStep:
    """A request and its outcome. ``windows`` are for both states; ``error`` is None if the step was taken."""

    action: Action
    args: tuple[int, ...]
    old: bytes
    new: bytes
    windows: Windows
    error: str | None = None


_Way = tuple[int, Sequence[int] | None]
"""How arguments give a key: by the argument at this place, or by an element of its own, such as a process's node."""

_Cell = tuple[int, bool, tuple[tuple[_Way, int], ...]]
"""The offset of a field, whether its values are Optional, and for each key the way to it and its stride."""

_Near = tuple[int, int | None, list[_Cell]]
"""A parameter of a Nat, the first parameter of the same Nat before it, and the cells that its numbers come from."""


class LogSteps:
    """Random steps of a model, one after another. Callers may reset ``state`` and ``windows`` to those of a step."""

    def __init__(self, sizes: LogScope, chance: random.Random) -> None:
        self.sizes, self.chance, self.uses = sizes, chance, sizes.uses
        self.layout = Layout(sizes.system, sizes.scope, frozenset())
        self.machine = LogMachine(self.layout)
        self.counted = {
            name: [self.layout.field(var) for var in variables] for name, variables in self.uses.counted.items()
        }
        self.places = {
            nat: [
                cell
                for field in self.layout.fields
                if nat_of(field.type) == nat
                for cell in range(field.offset, field.offset + field.count)
            ]
            for nat in self.uses.rising
        }
        """The cells of each rising plain Nat."""
        self._nears: dict[str, list[_Near]] = {}
        self.restart()

    def restart(self) -> None:
        """Restart in a random initial state."""
        self.appeared = dict(self.sizes.first)
        self.at_work: dict[str, Sequence[int]] = {}
        """By sort, the elements to which most requests go."""
        self.unused: dict[str, int] = {}
        """By Nat, the greatest number of its window, if no cell holds it."""
        self.windows = Windows(self.layout, self.sizes.pinned, self.uses.plain)
        self.state = self.layout.blank()
        self.state = self._start()

    def _start(self) -> bytes:
        init = self.sizes.system.init
        step = self.machine.step(init)
        for _ in range(STARTS):
            args = tuple(self.chance.choice(self._choices(param.plain)) for param in init.params)
            outcome = step(self.layout.blank(), args)
            if isinstance(outcome, Taken):
                return outcome.state
        raise UsageError(
            f"{init.at}: {STARTS:,} random choices of its parameters give no initial state; loosen its requires"
        )

    def step(self, action: Action) -> LogStep | None:
        """A random request of an action; None if the draws found nothing to log."""
        anyhow = self.chance.random() < ANY
        if anyhow:
            args: tuple[int, ...] | None = tuple(
                self.chance.choice(self._choices(param.plain)) for param in action.params
            )
        else:
            self._add_greatest(action)
            args = self._draw(action)
        if args is None:
            return None
        try:
            return self._request(action, args, moved=anyhow)
        except FullError:
            return None

    def _add_greatest(self, action: Action) -> None:
        """For each Nat among the parameters of an action, add a number to its window above all others."""
        for nat in dict.fromkeys(param.type.name for param in action.params if isinstance(param.type, NatType)):
            last = self.windows.values[nat][-1]
            if nat in self.uses.plain or self.unused.get(nat) == last:
                continue
            wanted = [(nat, last + self.chance.randint(1, 3))]
            try:
                self.windows, self.state = self._referred(wanted, self.windows, self.state)
            except FullError:
                continue
            # Noted, so that one unused number at a time is enough; `_request` removes the note when it is used.
            self.unused[nat] = wanted[0][1]

    def again(self, step: LogStep) -> LogStep | None:
        """Make the same request again, right after a step."""
        try:
            return self._request(step.action, step.args, moved=False)
        except FullError:
            return None

    def _request(self, action: Action, args: tuple[int, ...], *, moved: bool) -> LogStep | None:
        numbers = self._numbers(action, args, moved)
        windows, state = self._referred(numbers, self.windows, self.state)
        # A number that the outcome counts to must be in the window; taking it in may change the outcome, so repeat.
        for _ in range(ROUNDS):
            args = tuple(
                code if number is None else windows.code(*number) or 0
                for code, number in zip(args, numbers, strict=True)
            )
            outcome = self.machine.step(action)(state, args)
            following = self._next(action, state, outcome, windows)
            if not following:
                break
            windows, state = self._referred([*numbers, *following], windows, state)
        else:
            return None
        if isinstance(outcome, Taken):
            self.state, self.windows = outcome.state, windows
            for nat, number in (each for each in numbers if each is not None):
                if self.unused.get(nat) == number:
                    del self.unused[nat]
            return LogStep(action, args, state, outcome.state, windows)
        if isinstance(outcome, Refused) and outcome.error is not None:
            self.state, self.windows = state, windows
            return LogStep(action, args, state, state, windows, outcome.error)
        return None

    def _referred(
        self, numbers: Sequence[tuple[str, int] | None], windows: Windows, state: bytes
    ) -> tuple[Windows, bytes]:
        wanted = [number for number in numbers if number is not None]
        if all(windows.code(*number) is not None for number in wanted):
            return windows, state
        windows = windows.copy()
        (state,) = windows.refer(wanted, {state})
        return windows, state

    def _numbers(self, action: Action, args: tuple[int, ...], moved: bool) -> list[tuple[str, int] | None]:
        """The numbers among the arguments. ``moved``: increase some by one or two."""
        found: list[tuple[str, int] | None] = []
        for param, code in zip(action.params, args, strict=True):
            if isinstance(param.type, NatType) and param.type.name not in self.uses.plain:
                number = self.windows.values[param.type.name][code]
                found.append(
                    (param.type.name, number + (moved and self.chance.random() < MOVED and self.chance.randint(1, 2)))
                )
            else:
                found.append(None)
        return found

    def _next(self, action: Action, state: bytes, outcome: Outcome, windows: Windows) -> list[tuple[str, int]]:
        """The numbers to which the outcome counts, if the windows lack them."""
        fields = self.counted.get(action.name, ())
        if isinstance(outcome, Cut):
            return [(outcome.bound, windows.values[outcome.bound][-1] + 1)] if fields else []
        found = []
        if isinstance(outcome, Taken):
            for field in fields:
                nat = str(nat_of(field.type))
                for cell in range(field.offset, field.offset + field.count):
                    before, after = state[cell], outcome.state[cell]
                    if after == before + 1 and windows.value(nat, after) != windows.values[nat][before] + 1:
                        found.append((nat, windows.values[nat][before] + 1))
        return found

    # Arguments --------------------------------------------------------------------------------------------------

    def _draw(self, action: Action) -> tuple[int, ...] | None:
        """Random arguments with which an action changes the state; None if DRAWS draws find none."""
        step, state, near = self.machine.step(action), self.state, self._near(action)
        choices = [(each, len(each)) for each in (self._choices(param.plain) for param in action.params)]
        for _ in range(DRAWS if choices else 1):
            args = self._args(choices, near)
            outcome = step(state, args)
            if isinstance(outcome, Taken) and outcome.state != state:
                return args
            if isinstance(outcome, Cut) and action.name in self.counted:
                return args
        return None

    def _args(self, choices: Sequence[tuple[Sequence[int], int]], near: Sequence[_Near]) -> tuple[int, ...]:
        """Random arguments. Most numbers come from cells that belong to the other arguments."""
        chance = self.chance.random
        args = [each[int(chance() * count)] for each, count in choices]
        for place, first, cells in near:
            drawn = chance()
            if first is not None and chance() < END:
                args[place] = min(args[first] + int(drawn * 2) + 1, choices[place][0][-1])
            elif drawn < NEW:
                args[place] = choices[place][0][-1]
            elif cells and drawn < NEAR:
                offset, optional, keys = cells[int(chance() * len(cells))]
                for (index, named), stride in keys:
                    offset += (args[index] if named is None else named[args[index]]) * stride
                code = self.state[offset] - optional
                if code >= 0:
                    args[place] = code
        return tuple(args)

    def _near(self, action: Action) -> list[_Near]:
        """For each parameter of a Nat, the earlier one of that Nat, and the cells whose keys are other arguments."""
        found = self._nears.get(action.name)
        if found is None:
            params = list(enumerate(action.params))
            found = self._nears[action.name] = []
            for place, param in params:
                if isinstance(param.type, NatType):
                    fields = [field for field in self.layout.fields if nat_of(field.type) == param.type.name]
                    before = next((other for other, each in params[:place] if each.type == param.type), None)
                    found.append((place, before, [cell for field in fields for cell in self._cells(field, params)]))
        return found

    def _choices(self, kind: Plain) -> Sequence[int]:
        """The codes to draw from. Elements and numbers that appeared last are drawn most often."""
        match kind:
            case NatType(name) if name in self.uses.rising:
                held = {self.state[cell] for cell in self.places[name]}
                return sorted(
                    {near for code in held for near in (code - 1, code) if 0 <= near < self.sizes.count(name)}
                )
            case NatType(name) if name not in self.uses.plain:
                return range(len(self.windows.values[name]))
            case SortType(name) if name in self.appeared:
                at_work = self.at_work.get(name)
                return at_work if at_work and self.chance.random() < AT_WORK else range(self.appeared[name])
            case NatType(name) if name in self.appeared:
                last, width = self.appeared[name], self.sizes.first[name]
                return range(last - width if self.chance.randrange(8) else 0, last)
            case _:
                return range(self.layout.codes(kind))

    def _cells(self, field: Field, params: Sequence[tuple[int, Param]]) -> list[_Cell]:
        """The cells of a field whose keys come from the arguments: one entry for each choice of the arguments."""
        ways = [self._ways(key, params) for key in field.keys]
        return [
            (field.offset, isinstance(field.type, OptionalType), tuple(zip(chosen, field.strides, strict=True)))
            for chosen in itertools.product(*ways)
        ]

    def _ways(self, key: Plain, params: Sequence[tuple[int, Param]]) -> list[_Way]:
        """How the arguments give a key: each argument of that type or, if there is none, the home of each process."""
        ways: list[_Way] = [(place, None) for place, param in params if param.type == key]
        if not ways:
            homes = [(place, self.sizes.homes.get(str(param.type))) for place, param in params]
            ways = [(place, home[1]) for place, home in homes if home is not None and home[0] == key]
        return ways
