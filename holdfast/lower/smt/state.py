"""Symbolic states: for each variable, a function from terms of keys to a term of the value.

A state with free symbols can be any state. A write makes no new symbol: it makes a function that compares the keys with
those of the written cell. A variable that is not written keeps its function, so no frame condition can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
import z3

from holdfast.lower.smt.universe import Reading, Universe
from holdfast.lower.smt.values import Value, conjunction, same


@attrs.frozen(eq=False)
class State:
    """A symbolic state: ``readings`` has the function of each variable, by the variable's name."""

    readings: Mapping[str, Reading]

    def read(self, var: str, keys: Sequence[z3.ExprRef]) -> Value:
        """The value of a variable at a key."""
        return self.readings[var](keys)

    def with_reading(self, var: str, reading: Reading) -> State:
        """The state in which ``var`` has another function."""
        return State({**self.readings, var: remembered(reading)})

    def written(self, universe: Universe, var: str, keys: Sequence[z3.ExprRef], value: Value) -> State:
        """The state after a write of one cell."""
        before = self.readings[var]

        def read(asked: Sequence[z3.ExprRef]) -> Value:
            here = [same(one, other) for one, other in zip(asked, keys, strict=True)]
            return universe.chosen(conjunction(here, universe.ctx), value, before(asked))

        return self.with_reading(var, read if keys else lambda _asked: value)

    def merged(self, universe: Universe, test: z3.BoolRef, orelse: State) -> State:
        """The state that equals this one if the test holds, and ``orelse`` otherwise."""
        state = self
        for var, then in self.readings.items():
            other = orelse.readings[var]
            # Neither branch has written the variable if both states have the same function object.
            if other is not then:
                state = state.with_reading(var, _either(universe, test, then, other))
        return state

    def looped(self, var: str, place: int, after: Callable[[z3.ExprRef], State]) -> State:
        """The state after a loop that writes ``var`` at keys with the loop's element at ``place``.

        Each cell has the value that the iteration for the element at ``place`` of its key gives it. ``after`` maps an
        element to the state after its iteration.
        """
        return self.with_reading(var, lambda keys: after(keys[place]).read(var, keys))


def _either(universe: Universe, test: z3.BoolRef, then: Reading, orelse: Reading) -> Reading:
    return lambda keys: universe.chosen(test, then(keys), orelse(keys))


def remembered(reading: Reading) -> Reading:
    """The function with a cache. Without it, a chain of N branches would be evaluated once for each of 2^N paths."""
    known: dict[tuple[int, ...], tuple[Sequence[z3.ExprRef], Value]] = {}

    def read(keys: Sequence[z3.ExprRef]) -> Value:
        label = tuple(key.get_id() for key in keys)
        found = known.get(label)
        if found is None:
            # The keys are stored too: Z3 reuses the id of a term that is freed.
            found = known[label] = (tuple(keys), reading(keys))
        return found[1]

    return read
