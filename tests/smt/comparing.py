"""Compares formulas with the interpreter: state by state, step by step, property by property."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import attrs
import z3

from holdfast.ir.system import Action, Scope, System
from holdfast.ir.types import BOOL, BoolType, MapType, OptionalType, Scalar
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.smt.bodies import BodyFormulas
from holdfast.lower.smt.cells import Pins, cells_of, indices, pins
from holdfast.lower.smt.encoding import Encoding, argument, start_argument
from holdfast.lower.smt.formulas import FormulaWriter
from holdfast.lower.smt.guards import is_refused
from holdfast.lower.smt.sized_universe import SizedUniverse, origin
from holdfast.lower.smt.symbols import Symbol
from holdfast.lower.smt.universe import some_of_map
from holdfast.lower.smt.values import Maybe, Value


def without_budgets(scope: Scope) -> Scope:
    """The scope without its budgets, which a proof does not have."""
    return attrs.evolve(scope, budgets={})


class Comparison:
    """One system in one scope: its interpreter, and its formulas of that size."""

    def __init__(
        self,
        system: System,
        scope: Scope,
        expressions: type[FormulaWriter] = FormulaWriter,
        bodies: type[BodyFormulas] = BodyFormulas,
    ) -> None:
        self.system = system
        self.machine = Interpreter(system, without_budgets(scope))
        self.universe = SizedUniverse(system, scope.sizes)
        ghosts = frozenset(var.name for var in system.variables if var.ghost)
        self.encoding = Encoding(self.universe, ghosts, expressions=expressions, bodies=bodies)
        self.before = self.encoding.free("")
        self.stored = [var for var in self.encoding.variables if not var.given]

    @property
    def layout(self) -> Layout:
        """The layout of the interpreter's states."""
        return self.machine.layout

    def differences(self, chance: random.Random, states: int, arguments: int) -> Iterator[str]:
        """The differences: of initial states, and of random states and arguments."""
        yield from self._starts()
        some = [bytes(chance.randrange(cell.field.codes) for cell in self.layout.cells) for _ in range(states)]
        for action in self.system.actions:
            yield from self._steps(action, some, chance, arguments)
        for prop in self.system.of_kind("invariant", "lemma", "witness"):
            formula = self.encoding.holds(prop, self.before)
            for state in some:
                if self._truth(formula, self.pins(state)) != self.machine.holds(prop, state):
                    yield f"{prop.name} of {self.layout.decode(state)}"
        yield from self._step_properties(some, chance)

    def _starts(self) -> Iterator[str]:
        start = self.encoding.start()
        cells = cells_of(self.universe, self.stored, start.after)
        found = set()
        for args in self._arguments(self.system.init):
            pinned = [*self._given(), *self._pinned(self.system.init, args)]
            if self._truth(start.guard, pinned):
                found.add(bytes(_code(cell.var.value, cell.value, pinned) for cell in cells))
        if sorted(found) != self.machine.initial():
            yield "the initial states"

    def _steps(self, action: Action, states: Sequence[bytes], chance: random.Random, most: int) -> Iterator[str]:
        step = self.encoding.step(action, self.before)
        cells = cells_of(self.universe, self.stored, step.after)
        every = list(self._arguments(action))
        for state in states:
            held = self.pins(state)
            # A formula over one state is short, so the arguments are put into it as constants.
            guard = z3.simplify(z3.substitute(step.guard, *held))
            refused = z3.simplify(z3.substitute(is_refused(step.guards, self.universe.ctx), *held))
            after_state = [(cell.var.value, _substituted(cell.value, held)) for cell in cells]
            for args in chance.sample(every, min(most, len(every))):
                pinned = self._pinned(action, args)
                outcome = self.machine.step(state, action.name, args)
                if self._truth(guard, pinned) != isinstance(outcome, Taken):
                    yield f"whether {action.name}{args} is taken in {self.layout.decode(state)}"
                elif self._truth(refused, pinned) != isinstance(outcome, Refused):
                    yield f"whether a rule refuses {action.name}{args} in {self.layout.decode(state)}"
                elif isinstance(outcome, Taken):
                    after = bytes(_code(kind, value, pinned) for kind, value in after_state)
                    if after != outcome.state:
                        yield f"the state after {action.name}{args} in {self.layout.decode(state)}"

    def _step_properties(self, states: Sequence[bytes], chance: random.Random) -> Iterator[str]:
        for prop in self.system.of_kind("step"):
            for action in self.system.actions:
                if prop.of not in (None, action.name):
                    continue
                step = self.encoding.step(action, self.before)
                formula = self.encoding.holds_of(prop, step)
                every = list(self._arguments(action))
                for state in states:
                    args = chance.choice(every)
                    outcome = self.machine.step(state, action.name, args)
                    if isinstance(outcome, Taken):
                        pinned = [*self.pins(state), *self._pinned(action, args)]
                        if self._truth(formula, pinned) != self.machine.holds_step(prop, state, outcome.state, args):
                            yield f"{prop.name} of {action.name}{args} in {self.layout.decode(state)}"

    # Pinning --------------------------------------------------------------------------------------------------

    def pins(self, state: bytes) -> Pins:
        """The equations that fix a formula's state to this state."""
        found = self._given()
        for var in self.stored:
            offset = self.layout.field(var.name).offset
            for place, index in enumerate(indices(self.universe, var)):
                found += pins(self.universe, var, "", index, state[offset + place])
        return found

    def _given(self) -> Pins:
        return [
            pin
            for var in self.encoding.variables
            if var.given
            for index, code in zip(indices(self.universe, var), self.layout.given[var.name], strict=True)
            for pin in pins(self.universe, var, "", index, code)
        ]

    def _pinned(self, action: Action, args: Args) -> Pins:
        found: Pins = []
        for param, code in zip(action.params, args, strict=True):
            start = action is self.system.init
            symbol = start_argument(param.name) if start else argument(action, param.name)
            if isinstance(param.type, MapType):
                for index, digit in self.layout.digits(param.type, code).items():
                    found += self._pinned_cell(symbol, index, param.type.value, digit)
            else:
                found += self._pinned_cell(symbol, (), param.type, code)
        return found

    def _pinned_cell(self, symbol: Symbol, index: tuple[int, ...], kind: Scalar, code: int) -> Pins:
        if isinstance(kind, OptionalType):
            there = self.universe.cell(some_of_map(symbol), index, BOOL)
            return [
                (there, z3.BoolVal(code > 0, there.ctx)),
                *self._pinned_cell(symbol, index, kind.of, max(code - 1, 0)),
            ]
        cell = self.universe.cell(symbol, index, kind)
        return [(cell, z3.BoolVal(bool(code), cell.ctx) if z3.is_bool(cell) else z3.BitVecVal(code, cell.sort()))]

    def _arguments(self, action: Action) -> Iterator[Args]:
        return itertools.product(*(range(self.layout.codes(param.type)) for param in action.params))

    def _truth(self, formula: z3.BoolRef, pinned: Pins) -> bool:
        found = z3.simplify(z3.substitute(formula, *pinned))
        assert z3.is_true(found) or z3.is_false(found), found
        return bool(z3.is_true(found))


def _substituted(value: Value, pinned: Pins) -> Value:
    if isinstance(value, Maybe):
        inner = None if value.value is None else _substituted(value.value, pinned)
        assert not isinstance(inner, Maybe)
        return Maybe(z3.simplify(z3.substitute(value.some, *pinned)), inner)
    return value if isinstance(value, int) else z3.simplify(z3.substitute(value, *pinned))


def _code(kind: Scalar, value: Value, pinned: Pins) -> int:
    if isinstance(kind, OptionalType):
        assert isinstance(value, Maybe)
        some = z3.simplify(z3.substitute(value.some, *pinned))
        return 1 + _code(kind.of, value.value, pinned) if z3.is_true(some) and value.value is not None else 0
    if isinstance(value, int):
        return value - origin(kind)
    found = z3.simplify(z3.substitute(value, *pinned))
    return int(z3.is_true(found)) if isinstance(kind, BoolType) else found.as_signed_long() - origin(kind)
