"""States of formulas: for each variable, a function from keys to its value.

A state with free symbols can be any state. A write does not make a new symbol: it makes a function that looks whether
it is asked for the cell that was written. What nobody writes stays the same function, so no frame can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
import z3

from holdfast.lower.smt.universe import Reading, Universe
from holdfast.lower.smt.values import Value, conjunction, same


@attrs.frozen(eq=False)
class State:
    """What every variable is; ``readings`` are by the variable's name."""

    readings: Mapping[str, Reading]

    def read(self, var: str, keys: Sequence[z3.ExprRef]) -> Value:
        """The value of a variable at a key."""
        return self.readings[var](keys)

    def with_reading(self, var: str, reading: Reading) -> State:
        """The state in which one variable is another function."""
        return State({**self.readings, var: remembered(reading)})

    def written(self, universe: Universe, var: str, keys: Sequence[z3.ExprRef], value: Value) -> State:
        """The state after a write of one cell."""
        before = self.readings[var]

        def read(asked: Sequence[z3.ExprRef]) -> Value:
            here = [same(one, other) for one, other in zip(asked, keys, strict=True)]
            return universe.chosen(conjunction(here, universe.ctx), value, before(asked))

        return self.with_reading(var, read if keys else lambda _asked: value)

    def merged(self, universe: Universe, test: z3.BoolRef, orelse: State) -> State:
        """What this state is where the test holds, and what the other one is where it does not."""
        state = self
        for var, then in self.readings.items():
            other = orelse.readings[var]
            if other is not then:
                state = state.with_reading(var, _either(universe, test, then, other))
        return state

    def looped(self, var: str, place: int, after: Callable[[z3.ExprRef], State]) -> State:
        """The state after a loop: a cell of ``var`` is what the iteration made of it whose element is at ``place``."""
        return self.with_reading(var, lambda keys: after(keys[place]).read(var, keys))


def _either(universe: Universe, test: z3.BoolRef, then: Reading, orelse: Reading) -> Reading:
    return lambda keys: universe.chosen(test, then(keys), orelse(keys))


def remembered(reading: Reading) -> Reading:
    """The function with a memory, so that a chain of branches is not walked once for each way through it."""
    known: dict[tuple[int, ...], tuple[Sequence[z3.ExprRef], Value]] = {}

    def read(keys: Sequence[z3.ExprRef]) -> Value:
        label = tuple(key.get_id() for key in keys)
        found = known.get(label)
        if found is None:
            # The keys are kept as well: the number of a term that nobody holds is given away again.
            found = known[label] = (tuple(keys), reading(keys))
        return found[1]

    return read
