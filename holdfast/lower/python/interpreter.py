"""The interpreter: a system's actions and properties as Python functions over the states of one scope."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import Read, walk
from holdfast.ir.system import Action, Property, Scope, System
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.instance_ends import GatherTaken, InstanceEnds, ReturnOutcome, ReturnTaken
from holdfast.lower.python.names import numbered
from holdfast.lower.python.predicates import condition, first_failing, parameters, predicate
from holdfast.lower.python.terms import Term
from holdfast.lower.scope_limits import refuse_choices
from holdfast.lower.statistics import Statistics

Args = tuple[int, ...]
"""The codes of an action's or property's arguments, in the order of its parameters."""

Successors = Callable[[bytes], list[tuple[bytes, Args]]]


class Interpreter:
    """Computes the steps of a system, and evaluates its properties, in the states of one scope.

    ``ghosts`` are the ghost fields to keep (all by default). ``properties`` are those that ``invariants`` and ``steps``
    cover (by default every one that reads only kept fields). Raises UsageError if the scope does not fit: too many
    values for a byte, or a literal key beyond a bound. A function is generated when it is first asked for; that raises
    UsageError if an action or property is too large when its loops are written out.
    """

    def __init__(
        self,
        system: System,
        scope: Scope,
        *,
        ghosts: frozenset[str] | None = None,
        properties: Sequence[Property] | None = None,
        emitter: type[Emitter] = Emitter,
    ) -> None:
        self.system = system
        self.scope = scope
        self.layout = Layout(system, scope, ghosts)
        self.statistics = Statistics()
        self.sources: dict[str, str] = {}
        """The texts of the generated functions, by name, for debugging and tests."""
        self._emitter = emitter
        self._instances: dict[str, Callable[[bytes, Args], Outcome]] = {}
        self._attempts: dict[str, Callable[[bytes, Args], bytes | None]] = {}
        self._predicates: dict[tuple[str, int], tuple[Property, Callable[..., bool]]] = {}
        """By part and ``id`` of a property, because two properties may share a name. The entry also holds the property:
        as long as it lives, no other object gets its ``id``.
        """
        self._conditions: dict[int, tuple[Property, Term]] = {}
        """By ``id`` of a property, as above."""
        self._outcomes: list[Refused | Cut] = []
        self._globals: dict[str, Any] = {
            "HIT": self.statistics.hits,
            "CUT": self.statistics.cut_counts,
            "OUTCOME": self._outcomes,
            "Taken": Taken,
        }
        self._actions = {action.name: action for action in (system.init, *system.actions)}
        wanted = [prop for prop in system.properties if self._readable(prop)] if properties is None else properties
        self.checked = tuple(prop for prop in wanted if prop.kind in ("invariant", "lemma"))
        """The invariants and lemmas that ``invariants`` evaluates, in that order."""
        self.checked_steps = tuple(prop for prop in wanted if prop.kind == "step")
        """The step properties that ``steps`` evaluates, in that order."""

    @cached_property
    def successors(self) -> tuple[Successors, ...]:
        """For each action, in order, a function from a state to all steps (new state, arguments), with self-loops."""
        return tuple(
            self._every(numbered("every", number), action) for number, action in enumerate(self.system.actions)
        )

    @cached_property
    def invariants(self) -> Callable[[bytes], int]:
        """A function from a state to the index in ``checked`` of the first property that fails, or -1."""
        source = first_failing("invariants", [self._condition(prop) for prop in self.checked])
        found: Callable[[bytes], int] = self._define("invariants", "invariants", source)
        return found

    @cached_property
    def steps(self) -> tuple[Callable[[bytes, bytes, Args], int], ...]:
        """For each action, a function from the *new* state, the *old* state and the action's arguments to the index in
        ``checked_steps`` of the first property that fails, or -1.
        """
        return tuple(
            self._steps_of(numbered("steps", number), action) for number, action in enumerate(self.system.actions)
        )

    # States and steps -----------------------------------------------------------------------------------------

    def initial(self) -> list[bytes]:
        """The initial states, each once, sorted. Raises ModelError as ``starts`` does."""
        return [state for state, _ in self.starts()]

    def starts(self) -> list[tuple[bytes, Args]]:
        """The initial states, sorted, each with the least arguments of ``@init`` that give it.

        Raises ModelError if one assigns beyond a bound of the scope, or if there is none. Raises UsageError if there
        are too many choices of arguments.
        """
        init = self.system.init
        refuse_choices([init], self.scope, self.layout.codes)
        found = self._every_start(self.layout.blank())
        if any(action == init.name for action, _ in self.statistics.cuts):
            self._refuse_start()
        if not found:
            raise ModelError(
                init.at,
                "init",
                f"no choice of its parameters gives an initial state in scope {self.scope.name}",
                "loosen its requires, or enlarge the scope",
            )
        # Of equal keys the last one stays, so the least arguments come last.
        return sorted(dict(sorted(found, reverse=True)).items())

    @cached_property
    def _every_start(self) -> Successors:
        return self._every("every_start", self.system.init)

    def _refuse_start(self) -> None:
        # The statistics only count cuts. One instance after the other tells which assignment is the cause.
        init = self.system.init
        for args in itertools.product(*(range(self.layout.codes(param.type)) for param in init.params)):
            outcome = self.step(self.layout.blank(), init.name, args)
            if isinstance(outcome, Cut):
                raise ModelError(
                    outcome.at or init.at,
                    "init",
                    f"a bound exceeded at the start: the value lies beyond {outcome.bound} in scope {self.scope.name}",
                    f"assign a smaller value, or enlarge {outcome.bound}",
                )

    def step(self, state: bytes, action: str, args: Args) -> Outcome:
        """The outcome of one action with these arguments. Raises UsageError for an unknown action.

        Nothing is noted in the statistics. The function is generated at the first call.
        """
        found = self._actions.get(action)
        if found is None:
            raise UsageError(f"{self.system.name} has no action {action}; it has {', '.join(list(self._actions)[1:])}")
        assert len(args) == len(found.params), (action, args)
        if action not in self._instances:
            name, what = numbered("step", len(self._instances)), f"action {action}"
            source = self._writer(what, ReturnOutcome(self._outcomes)).one_instance(name, found)
            self._instances[action] = self._define(name, what, source)
        return self._instances[action](state, args)

    def attempt(self, state: bytes, action: str, args: Args) -> bytes | None:
        """The state after one action with these arguments, or None if that is no step; its statistics are noted.

        The function is generated at the first call.
        """
        if action not in self._attempts:
            name, what = numbered("attempt", len(self._attempts)), f"action {action}"
            source = self._writer(what, ReturnTaken(action, self.statistics)).one_instance(name, self._actions[action])
            self._attempts[action] = self._define(name, what, source)
        return self._attempts[action](state, args)

    def _every(self, name: str, action: Action) -> Successors:
        what = f"action {action.name}"
        source = self._writer(what, GatherTaken(action.name, self.statistics)).every_instance(name, action)
        found: Successors = self._define(name, what, source)
        return found

    # Properties -----------------------------------------------------------------------------------------------

    def holds(self, prop: Property, state: bytes, args: Args = ()) -> bool:
        """Whether a property of states holds, or the premise of a liveness property is true. ``args``: the arguments of
        a liveness property.
        """
        return self._property(prop, "body")(state, state, args)

    def goal(self, prop: Property, state: bytes, args: Args = ()) -> bool:
        """Whether the goal of a liveness property holds."""
        return self._property(prop, "goal")(state, state, args)

    def holds_step(self, prop: Property, old: bytes, new: bytes, args: Args = ()) -> bool:
        """Whether a step property holds for a step. ``args`` are the arguments of the action that it is about."""
        return self._property(prop, "body")(new, old, args)

    def premise(self, prop: Property, state: bytes, args: Args = (), old: bytes | None = None) -> bool:
        """Whether a property's premise is true: the left side of an implication, or a filter that lets something pass.

        ``args`` are as for ``holds`` or ``holds_step``. A step property needs the state before the step as ``old``. A
        property whose premise is true nowhere is vacuous.
        """
        return self._property(prop, "premise")(state, state if old is None else old, args)

    def _property(self, prop: Property, part: Literal["body", "goal", "premise"]) -> Callable[..., bool]:
        found = self._predicates.get((part, id(prop)))
        if found is None:
            expr = {"body": prop.body, "goal": prop.goal, "premise": prop.premise}[part]
            assert expr is not None, f"{prop.name} has no {part}"
            name, what = numbered("says", len(self._predicates)), f"property {prop.title}"
            source = predicate(self._writer(what), name, expr, parameters(prop, self._action_of(prop)))
            found = self._predicates[part, id(prop)] = (prop, self._define(name, what, source))
        return found[1]

    def _condition(self, prop: Property) -> Term:
        """The body of a property. One of all steps stands in the function of each action, and is written once."""
        found = self._conditions.get(id(prop))
        if found is None:
            writer = self._writer(f"property {prop.title}")
            written = condition(writer, prop.body, parameters(prop, self._action_of(prop)))
            found = self._conditions[id(prop)] = (prop, written)
        return found[1]

    def _steps_of(self, name: str, action: Action) -> Callable[[bytes, bytes, Args], int]:
        """The function ``steps`` of one action. Properties of another action's steps are left out: they always hold."""
        conditions = [self._condition(prop) if prop.of in (None, action.name) else None for prop in self.checked_steps]
        what = f"the step properties of {action.name}"
        found: Callable[[bytes, bytes, Args], int] = self._define(name, what, first_failing(name, conditions))
        return found

    def _action_of(self, prop: Property) -> Action | None:
        return None if prop.of is None else self._actions[prop.of]

    def _readable(self, prop: Property) -> bool:
        return not any(isinstance(part, Read) and part.var in self.layout.dropped for part in walk(prop.body))

    # Functions ------------------------------------------------------------------------------------------------

    def _writer(self, what: str, sink: InstanceEnds | None = None) -> Emitter:
        return self._emitter(self.layout, what, sink or ReturnOutcome(self._outcomes))

    def _define(self, name: str, what: str, source: str) -> Any:
        """Compile the source and return its function ``name``. ``what`` names the action or property in messages."""
        assert name not in self._globals, name
        self.sources[name] = source
        try:
            code = compile(source, f"<{self.system.name}: {what} at {self.scope.name}>", "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:
            # The source is well formed, so only Python's own limits on nesting can be the cause.
            raise UsageError(
                f"{self.system.name}: {what} nests too deeply in scope {self.scope.name} ({error}); "
                "use a smaller scope, or fewer branches within one another"
            ) from None
        exec(code, self._globals)  # noqa: S102 - the source is written here, from checked expressions
        return self._globals[name]
