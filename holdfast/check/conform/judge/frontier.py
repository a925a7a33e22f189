"""The frontier: the states in which the model may be, and the windows that their codes refer to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Self

from holdfast.check.conform.judge.event_facts import Facts, ToldCell
from holdfast.check.conform.judge.event_trial import Args, EventTrial, Expected, JudgeTally, StatePath
from holdfast.check.conform.judge.ground import Ground, UnjudgedError
from holdfast.check.conform.judge.order import nat_of
from holdfast.check.conform.judge.window import FullError
from holdfast.check.conform.logs.names import Number
from holdfast.ir.system import Action, Param
from holdfast.ir.types import NatType, OptionalType, SortType
from holdfast.lower.layout import Field


class Frontier:
    """The states after the events so far. ``slots``: the world's streams, each with its index in the states."""

    def __init__(self, ground: Ground, slots: dict[int, int], tally: JudgeTally) -> None:
        self.ground = ground
        self.slots = slots
        self.tally = tally
        self.ground_sort = None if ground.sort is None else SortType(ground.sort)
        """The projected sort."""
        self.stream_params: dict[str, list[bool]] = {}
        """For each action, whether each of its parameters is of the projected sort."""
        self.ways: dict[str, tuple[int, bool, list[tuple[bool, int]]]] = {}
        """By field: its offset, whether it is optional, and for each key whether it is of the projected sort and its
        stride.
        """
        self.windows, starts = ground.start()
        self.states = set(starts)
        self.next_paths: dict[bytes, StatePath] = {}
        self.paths: dict[bytes, StatePath] | None = None
        """For each state a path to it, if a run of the model is wanted; None otherwise."""
        self.mentioned: dict[str, set[int]] = {}
        """The numbers that the events have mentioned; filled only if ``paths`` is not None."""
        self.guess: str | None = None
        """Why runs may be missing behind ``states``, so that nothing is impossible; None if none are missing."""
        for param in ground.system.init.params:
            if ground.is_open(param.type):
                self.guess = f"not every number was tried for {param.name} of the start"
        self.before: set[bytes] = set()
        """The states before the last event, in the codes of the windows that hold its numbers."""

    def trace(self) -> Self:
        """Note paths from now on; returns this frontier. Call it at the start only."""
        self.windows, starts = self.ground.start()
        init = self.ground.system.init
        self.paths = {state: StatePath(init.name, self._values(init, starts[state])) for state in self.states}
        windows = self.windows
        self.mentioned = {nat: set(values) for nat, values in windows.values.items()}
        return self

    def ordered(self, states: set[bytes]) -> Iterable[bytes]:
        """The states; if paths are noted, in an order that is the same in every process."""
        return states if self.paths is None else sorted(states)

    def path(
        self,
        action: Action,
        args: Args,
        before: StatePath,
        counted: Sequence[Field] = (),
        state: bytes = b"",
        after: bytes = b"",
    ) -> StatePath:
        """The path ``before``, continued by a step from ``state`` to ``after``. ``counted``: the fields that the step
        may count on.
        """
        cells = [
            (field.name, place, (nat, number))
            for field in counted
            if (nat := nat_of(field.type)) is not None
            for place in range(field.count)
            if state[field.offset + place] != after[field.offset + place]
            and (number := self.windows.value(nat, after[field.offset + place])) is not None
        ]
        return StatePath(action.name, self._values(action, args), before, tuple(cells))

    def _values(self, action: Action, args: Args) -> tuple[int | Number, ...]:
        return tuple(
            (param.type.name, self.windows.values[param.type.name][code]) if isinstance(param.type, NatType) else code
            for param, code in zip(action.params, args, strict=True)
        )

    def copy(self, slots: dict[int, int]) -> Self:
        """A copy with other streams, which continues independently and notes no paths."""
        other = type(self).__new__(type(self))
        other.ground, other.slots, other.tally = self.ground, slots, self.tally
        other.windows, other.states, other.guess = self.windows.copy(), self.states, self.guess
        # The states are shared: ``take`` replaces the set and never changes it.
        other.next_paths = {}
        other.ground_sort, other.stream_params, other.ways = self.ground_sort, self.stream_params, self.ways
        other.before, other.paths, other.mentioned = self.before, None, {}
        return other

    def _refer(self, trial: EventTrial) -> None:
        try:
            if self.paths is None:
                self.states = self.windows.refer(trial.wanted, self.states, trial.counted)
            else:
                self._refer_with_paths(trial, self.paths)
        except FullError as error:
            raise self.full(error) from None

    def full(self, error: FullError) -> UnjudgedError:
        """The reason for an answer ``unknown`` if a window has no room."""
        room = self.ground.layout.scope.sizes[error.nat] + 1
        return UnjudgedError(
            f"the window of {error.nat} has room for {room} values, and {error.needed} are needed at once; "
            f"try --window {error.nat}={error.needed + 2}"
        )

    def _refer_with_paths(self, trial: EventTrial, paths: dict[bytes, StatePath]) -> None:
        states = list(self.states)
        # A group of its own for each state, so that each path stays with its state.
        groups = self.windows.refer_groups(trial.wanted, [{state} for state in states], trial.counted)
        moved = [next(iter(group)) for group in groups]
        self.paths = {new: paths[old] for old, new in zip(states, moved, strict=True)}
        self.states = set(moved)
        for nat, value in trial.wanted:
            self.mentioned[nat].add(value)

    def expected(self, cells: Iterable[ToldCell]) -> list[Expected]:
        """The cells of this world that an event tells, with their codes."""
        found = []
        for told in cells:
            way = self.ways.get(told.var.name)
            if way is None:
                field = self.ground.layout.field(told.var.name)
                keys = [
                    (kind == self.ground_sort, stride) for kind, stride in zip(field.keys, field.strides, strict=True)
                ]
                way = self.ways[told.var.name] = field.offset, isinstance(field.type, OptionalType), keys
            cell, optional, keys = way
            for key, (stream, stride) in zip(told.keys, keys, strict=True):
                cell += self.code(key, stream) * stride
            code = 0 if told.value is None else self.code(told.value, False) + optional
            found.append((cell, code, told))
        return found

    def code(self, value: int | Number | None, stream: bool) -> int:
        if isinstance(value, tuple):
            code = self.windows.code(*value)
            assert code is not None, "the windows hold every number of the event"
            return code
        assert value is not None
        return self.slots[value] if stream else value

    # Arguments --------------------------------------------------------------------------------------------------

    def completions(self, action: Action, facts: Facts) -> Iterable[Args]:
        """The codes of the arguments, once for each combination of values of the unknown arguments."""
        if action is facts.action and None not in facts.args:
            # The usual case: all arguments are known. It must be fast.
            streams = self.stream_params.get(action.name)
            if streams is None:
                streams = self.stream_params[action.name] = [param.type == self.ground_sort for param in action.params]
            return [tuple([self.code(arg, stream) for arg, stream in zip(facts.args, streams, strict=True)])]
        choices: list[Sequence[int]] = []
        by_name = {param.name: arg for param, arg in zip(facts.action.params, facts.args, strict=True)}
        known = True
        for param in action.params:
            arg = by_name[param.name]
            stream = param.type == self.ground_sort
            if arg is not None:
                choices.append((self.code(arg, stream),))
                continue
            known = False
            if isinstance(param.type, NatType) and self.ground.is_open(param.type):
                choices.append(range(len(self.windows.values[param.type.name])))
                where = f"{facts.event.at.file}:{facts.event.at.line}"
                self.guess = self.guess or f"not every number was tried for {param.name}, which {where} leaves open"
            else:
                choices.append(range(self.ground.layout.codes(param.type)))
        return [tuple(choice[0] for choice in choices)] if known else itertools.product(*choices)

    def choices(self, param: Param) -> range:
        """The codes that a parameter may have; for a Nat, the codes of the values in its window."""
        if isinstance(param.type, NatType) and self.ground.is_open(param.type):
            self.guess = self.guess or f"not every number was tried for {param.name} of a hidden step"
            return range(len(self.windows.values[param.type.name]))
        return range(self.ground.layout.codes(param.type))
