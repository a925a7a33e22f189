"""A system as formulas in one universe: its states, its initial condition, its actions and its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import attrs
import z3

from holdfast.ir.expr import Expr
from holdfast.ir.system import Action, Property, System
from holdfast.ir.types import Key, MapType
from holdfast.lower.python.prune import prune
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.bodies import BodyFormulas, Execution
from holdfast.lower.smt.formulas import FormulaWriter
from holdfast.lower.smt.guards import PathGuard, all_hold, bound, is_refused
from holdfast.lower.smt.state import State, remembered
from holdfast.lower.smt.symbols import Symbol
from holdfast.lower.smt.universe import NotFirstOrder, Reading, Universe
from holdfast.lower.smt.values import Value, conjunction, implication, negation


@attrs.frozen(eq=False)
class Transition:
    """A symbolic step: an action with symbolic arguments, from ``before`` to ``after``.

    ``guards`` are the conditions of the step in the order in which they are met; ``guard`` is their conjunction.
    ``maps``: the arguments that are whole maps.
    """

    action: Action
    arguments: Mapping[str, z3.ExprRef]
    maps: Mapping[str, Reading]
    guards: Sequence[PathGuard]
    guard: z3.BoolRef
    before: State
    after: State


class Encoding:
    """The formulas of one system. ``ghosts`` names the ghosts to keep. Budgets and bounds are no part of a formula."""

    def __init__(
        self,
        universe: Universe,
        ghosts: frozenset[str],
        *,
        expressions: type[FormulaWriter] = FormulaWriter,
        bodies: type[BodyFormulas] = BodyFormulas,
    ) -> None:
        self.universe = universe
        self.system: System = universe.system
        self.dropped = frozenset(var.name for var in self.system.variables if var.ghost and var.name not in ghosts)
        self.variables = tuple(var for var in self.system.variables if var.name not in self.dropped)
        self.expressions = expressions(universe)
        self.bodies = bodies(universe, self.expressions)

    @cached_property
    def background(self) -> list[z3.BoolRef]:
        """The axioms of the sorts, the types of the constants, and the author's assumptions about constants."""
        assumed = [self.holds(prop, self.free("")) for prop in self.system.of_kind("assume")]
        constants = [fact for var in self.variables if var.constant for fact in self.universe.typed(var, "")]
        return [*self.universe.axioms(), *constants, *assumed]

    # States ---------------------------------------------------------------------------------------------------

    def free(self, mark: str) -> State:
        """A state with free symbols, which can be any state.

        ``mark`` distinguishes its symbols from those of other free states. Constants have the same symbols in all.
        """
        readings = {var.name: self.universe.variable(var, "" if var.constant else mark) for var in self.variables}
        return State({name: remembered(reading) for name, reading in readings.items()})

    def typed(self, mark: str) -> list[z3.BoolRef]:
        """The facts that the symbols of a free state have values of their types."""
        changing = [var for var in self.variables if not var.constant]
        return [fact for var in changing for fact in self.universe.typed(var, mark)]

    def equal(self, one: State, other: State, names: Sequence[str] | None = None) -> z3.BoolRef:
        """The formula that two states agree in the variables ``names`` (None: in all)."""
        # A variable that no step has written is the same function object in both states, so it needs no formula.
        parts = [
            self._agree(var.name, one, other, var.keys, ())
            for var in self.variables
            if (names is None or var.name in names) and one.readings[var.name] is not other.readings[var.name]
        ]
        return conjunction(parts, self.universe.ctx)

    def _agree(
        self, var: str, one: State, other: State, kinds: tuple[Key, ...], keys: tuple[z3.ExprRef, ...]
    ) -> z3.BoolRef:
        if not kinds:
            return self.universe.equal(one.read(var, keys), other.read(var, keys))

        def agree(key: z3.ExprRef) -> z3.BoolRef:
            return self._agree(var, one, other, kinds[1:], (*keys, key))

        return self.universe.quantified(kinds[0], "k", agree, every=True)

    # Steps ----------------------------------------------------------------------------------------------------

    def start(self) -> Transition:
        """``@init`` as a transition; its ``after`` is any initial state."""
        return self._run(self.system.init, self.free("start"), start_argument)

    def step(self, action: Action, before: State, mark: str = "") -> Transition:
        """One action from a state; ``mark`` distinguishes its arguments from those of other steps."""
        return self._run(action, before, lambda name: argument(action, name, mark))

    def repeated(self, taken: Transition) -> Transition:
        """The same action, taken again right after ``taken`` with equal arguments."""
        return self._taken(taken.action, taken.after, taken.arguments, taken.maps)

    def _run(self, action: Action, before: State, symbol: Callable[[str], Symbol]) -> Transition:
        arguments: dict[str, z3.ExprRef] = {}
        maps: dict[str, Reading] = {}
        # A symbolic argument may be any term of its Z3 sort, so its type is a condition of the step.
        proper: list[z3.BoolRef] = []
        for param in action.params:
            here = symbol(param.name)
            if isinstance(param.type, MapType):
                maps[param.name] = self.universe.whole_map(here, param.type)
                proper += self.universe.reading_facts(here, param.type.keys, param.type.value)
            else:
                arguments[param.name] = self.universe.constant(here, param.type)
                proper.append(self.universe.within(arguments[param.name], param.type))
        return self._taken(action, before, arguments, maps, [bound(fact) for fact in proper])

    def _taken(
        self,
        action: Action,
        before: State,
        arguments: Mapping[str, z3.ExprRef],
        maps: Mapping[str, Reading],
        proper: Sequence[PathGuard] = (),
    ) -> Transition:
        run = Execution(Bindings(dict(arguments), before, maps=maps), list(proper))
        self.bodies.run(prune(action.body, self.dropped), run)
        guard = all_hold(run.guards, self.universe.ctx)
        return Transition(action, arguments, maps, run.guards, guard, before, run.state)

    # Properties -----------------------------------------------------------------------------------------------

    def holds(self, prop: Property, state: State) -> z3.BoolRef:
        """The formula that a property of states holds in a state."""
        return self._formula(prop, prop.body, Bindings({}, state))

    def premise(self, prop: Property, state: State) -> z3.BoolRef:
        """The formula that the premise of a property of states is true: otherwise it holds without saying anything."""
        return self._formula(prop, prop.premise, Bindings({}, state))

    def holds_of(self, prop: Property, step: Transition) -> z3.BoolRef:
        """The formula that a step property holds of a step."""
        return self._formula(prop, prop.body, self._at(prop, step))

    def premise_of(self, prop: Property, step: Transition) -> z3.BoolRef:
        """The formula that the premise of a step property is true of a step."""
        return self._formula(prop, prop.premise, self._at(prop, step))

    def _at(self, prop: Property, step: Transition) -> Bindings:
        wanted = [param.name for param in prop.params]
        names: dict[str, Value] = {name: step.arguments[name] for name in wanted if name in step.arguments}
        maps = {name: step.maps[name] for name in wanted if name in step.maps}
        return Bindings(names, step.after, step.before, maps)

    def _formula(self, prop: Property, part: Expr, at: Bindings) -> z3.BoolRef:
        try:
            return self.expressions.formula(part, at)
        except NotFirstOrder as error:
            raise error if error.at is not None else NotFirstOrder(error.problem, prop.at) from None

    def idempotent(self, step: Transition) -> z3.BoolRef:
        """The formula that no rule refuses a repetition of the step, and that the repetition changes only ghosts.

        A repetition that a bound cuts may change anything.
        """
        again, ctx = self.repeated(step), self.universe.ctx
        names = [var.name for var in self.variables if not var.ghost]
        unchanged = implication(again.guard, self.equal(step.after, again.after, names))
        return conjunction([negation(is_refused(again.guards, ctx)), unchanged], ctx)


def argument(action: Action, name: str, mark: str = "") -> Symbol:
    """The symbol of an action's parameter; ``mark`` distinguishes the steps."""
    return Symbol("argument", (action.name, name), mark)


def start_argument(name: str) -> Symbol:
    """The symbol of a parameter of ``@init``."""
    return Symbol("start", (name,))
