"""The obligations of a proof as sets of formulas: an obligation is met if its set of formulas is unsatisfiable.

An invariant holds in every reachable state if it holds initially and each action preserves it, from any state in which
all assumed invariants hold. Each assumed invariant has obligations of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import attrs
import z3

from holdfast.ir.system import Action, Property
from holdfast.lower.smt.encoding import Encoding, Transition
from holdfast.lower.smt.state import State
from holdfast.lower.smt.values import conjunction, disjunction, negation

Kind = Literal["start", "kept", "step", "repeat"]


@attrs.frozen
class Obligation:
    """One claim that a proof has to show; its kind says which.

    - ``start``: the property holds in every initial state.
    - ``kept``: the action preserves the property.
    - ``step``: the step property holds of every step of the action.
    - ``repeat``: the action can be repeated and then changes nothing; ``prop`` is None.
    """

    kind: Kind
    action: Action | None
    prop: Property | None

    @property
    def where(self) -> str:
        """The name of the action; ``init`` for the kind ``start``."""
        return "init" if self.action is None else self.action.name


@attrs.frozen(eq=False)
class Formulas:
    """A set of formulas: ``facts`` are always part of a question, and each of the ``named`` ones is an assumption.

    ``step``: the step that the formulas describe, if there is one.
    """

    facts: tuple[z3.BoolRef, ...]
    named: Mapping[str, z3.BoolRef]
    step: Transition | None = None


def obligations(actions: Sequence[Action], props: Sequence[Property], repeats: Sequence[Action]) -> list[Obligation]:
    """All obligations of properties and of idempotent actions (``repeats``), property by property."""
    found: list[Obligation] = []
    for prop in props:
        if prop.kind == "step":
            found += [Obligation("step", action, prop) for action in actions if prop.of in (None, action.name)]
        else:
            found += [Obligation("start", None, prop), *(Obligation("kept", action, prop) for action in actions)]
    return found + [Obligation("repeat", action, None) for action in repeats]


class Theory:
    """The formulas of one encoding, each made once. ``assumed``: the invariants that questions may assume by name."""

    def __init__(self, encoding: Encoding, assumed: Sequence[Property]) -> None:
        self.encoding = encoding
        self.before = encoding.free("")
        self.typed = tuple(encoding.typed(""))
        self.assumed = {prop.name: prop for prop in assumed}
        self._invariants: dict[str, z3.BoolRef] = {}
        self._states: dict[tuple[str, ...], Formulas] = {}
        self._steps: dict[str, Transition] = {}

    # Perhaps no formula expresses the author's assumptions or the initial condition. So these are made only when a
    # question needs them: then only that question stays without an answer.

    @cached_property
    def background(self) -> tuple[z3.BoolRef, ...]:
        """The facts about the sorts and the constants."""
        return tuple(self.encoding.background)

    @cached_property
    def start(self) -> Transition:
        """The initial condition; ``start.after`` is any initial state."""
        return self.encoding.start()

    def invariant(self, prop: Property) -> z3.BoolRef:
        """The formula that the property holds in the free state ``before``."""
        if prop.name not in self._invariants:
            self._invariants[prop.name] = self.encoding.holds(prop, self.before)
        return self._invariants[prop.name]

    def step(self, action: Action) -> Transition:
        """The action as a step from the free state ``before``."""
        if action.name not in self._steps:
            self._steps[action.name] = self.encoding.step(action, self.before)
        return self._steps[action.name]

    def any_state(self, names: Sequence[str]) -> Formulas:
        """The formulas of a state that satisfies the named invariants; the same object for the same names."""
        found = self._states.get(tuple(names))
        if found is None:
            named = {name: self.invariant(self.assumed[name]) for name in names}
            found = self._states[tuple(names)] = Formulas((*self.background, *self.typed), named)
        return found

    def possible(self, action: Action, names: Sequence[str]) -> Formulas:
        """The formulas of a state that satisfies the named invariants and in which the action can be taken."""
        found, step = self.any_state(names), self.step(action)
        return attrs.evolve(found, facts=(*found.facts, step.guard), step=step)

    def starts(self) -> Formulas:
        """The formulas of an initial state."""
        return Formulas((*self.background, self.start.guard), {}, self.start)

    def premised(self, prop: Property, names: Sequence[str]) -> Formulas:
        """The formulas of a state that satisfies the named invariants and the premise of the property.

        For a step property: of a step from such a state that satisfies the premise.
        """
        found = self.any_state(names)
        if prop.kind != "step":
            return attrs.evolve(found, facts=(*found.facts, self.encoding.premise(prop, self.before)))
        steps = [self.step(action) for action in self.encoding.system.actions if prop.of in (None, action.name)]
        ctx = self.encoding.universe.ctx
        said = [conjunction([step.guard, self.encoding.premise_of(prop, step)], ctx) for step in steps]
        return attrs.evolve(found, facts=(*found.facts, disjunction(said, ctx)))

    def with_definitions(self, formulas: Formulas) -> Formulas:
        """The formulas and, as further facts, the definitions of all symbols that have been made so far."""
        return attrs.evolve(formulas, facts=(*formulas.facts, *self.encoding.universe.definitions.values()))

    def falsified(self, prop: Property) -> Formulas:
        """The formulas of a state in which the invariant is false."""
        found = self.any_state(())
        return attrs.evolve(found, facts=(*found.facts, negation(self.invariant(prop))))

    def violated(self, due: Obligation, names: Sequence[str], length: int = 1) -> Formulas:
        """The formulas of a violation of an obligation, from a state that satisfies the named invariants.

        ``length`` consecutive states satisfy them, of which the last one takes the step.
        """
        if due.kind == "start":
            assert due.prop is not None
            found = self.starts()
            return attrs.evolve(found, facts=(*found.facts, negation(self.encoding.holds(due.prop, self.start.after))))
        assert due.action is not None
        found = self.possible(due.action, names)
        earlier = [fact for number in range(1, length) for fact in self._earlier(number, names)]
        return attrs.evolve(found, facts=(*found.facts, *earlier, negation(self._claim(due, self.step(due.action)))))

    def reached(self, due: Obligation, depth: int) -> Formulas:
        """The formulas of a violation after ``depth`` steps from an initial state, not counting the violating step."""
        found = self.violated(due, ())
        if due.kind == "start":
            return found
        earlier = [fact for number in range(1, depth + 1) for fact in self._earlier(number, ())]
        # The earliest of the free states is the result of ``@init``.
        start = self.encoding.equal(self.start.after, self.state(depth))
        return attrs.evolve(found, facts=(*found.facts, *earlier, self.start.guard, start))

    def state(self, number: int) -> State:
        """The free state that is ``number`` steps before the state ``before``."""
        return self.encoding.free(_mark(number)) if number else self.before

    def _earlier(self, number: int, names: Sequence[str]) -> list[z3.BoolRef]:
        """The formulas that state ``number`` satisfies the named invariants, and that some action leads to the next."""
        encoding, state = self.encoding, self.state(number)
        steps: list[z3.BoolRef] = []
        for action in encoding.system.actions:
            step = encoding.step(action, state, _mark(number))
            there = encoding.equal(step.after, self.state(number - 1))
            steps.append(conjunction([step.guard, there], encoding.universe.ctx))
        holds = [encoding.holds(self.assumed[name], state) for name in names]
        return [*encoding.typed(_mark(number)), *holds, disjunction(steps, encoding.universe.ctx)]

    def _claim(self, due: Obligation, step: Transition) -> z3.BoolRef:
        if due.prop is None:
            return self.encoding.idempotent(step)
        if due.kind == "step":
            return self.encoding.holds_of(due.prop, step)
        return self.encoding.holds(due.prop, step.after)


def _mark(number: int) -> str:
    """The mark of the symbols of the state that is ``number`` steps before the last one."""
    return str(number)
