"""A pairing: a model, a controller, and the mapping between their requests and their states.

A subclass defines which actions of the model are requests to the controller, as operations of scenario files. All other
actions, of a process or of its storage, are steps of the model alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import attrs

from holdfast.ir.system import Action, Scope, System
from holdfast.ir.variants import load_variant
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from impl.bridge.constants import constants_of
from impl.bridge.differences import Arguments, Cells
from impl.bridge.model_choice import ModelChoice, refused
from impl.bridge.request import ControllerAnswer, OperationRequest, Query, send
from impl.bridge.sender_calls import SenderCall, SenderCalls, calls_of
from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from impl.scenario.language import Scenario
from impl.scenario.session import ScenarioSession

Facts = dict[str, Any]
"""The facts about a state that model and controller both know, by readable names. They must be equal."""


class Pairing(ABC):
    """One model paired with a controller.

    ``name``: the model, as on the command line. ``removed``: rules of the model that restrict its environment; without
    them, any process may send any request at any time. ``sizes`` and ``given``: the sizes of the sorts and the values
    of the constants in the pairing's scope. ``profile``: the profile of the controller.

    ``Pairing()`` is the model without these rules, in that scope; calls far beyond the present state are left out
    (``applies``). With ``system`` and ``scope`` it is that system in that scope. Then it takes all calls, or with
    ``differing`` all calls that ask the controller for different things.
    """

    name: ClassVar[str]
    variants: ClassVar[tuple[str, ...]] = ()
    removed: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[Mapping[str, int]]
    given: ClassVar[Mapping[str, tuple[int | bool, ...]]] = {}
    profile: Profile = Profile()
    decided: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """By action: the parameters that the controller chooses, and not the sender."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Actions that are never taken: once the rules are removed, no request depends on them."""
    unstated: ClassVar[tuple[str, ...]] = ()
    """The facts for which the language of scenario files has no query."""
    closing: ClassVar[tuple[tuple[str, tuple[Value, ...]], ...]] = ()
    """The calls that show, at the end of a run, facts that no query shows: actions with the sender's arguments."""
    silent: ClassVar[tuple[str, ...]] = ()
    """Actions for which the controller must write no record if they change nothing (INV-15)."""

    memoryless: ClassVar[bool] = False
    """Whether the facts alone decide what happens to each request, once the rules are removed. Then no step of the
    model alone has to be taken.
    """

    def __init__(self, system: System | None = None, scope: Scope | None = None, *, differing: bool = False) -> None:
        self._given, self._differing = system is not None, differing
        self._system = load_variant(self.name, self.variants, self.removed) if system is None else system
        self._scope = scope

    # What a pairing says --------------------------------------------------------------------------------------

    @abstractmethod
    def setup(self, cells: Cells) -> tuple[OperationRequest, ...]:
        """The requests that bring a new controller into the initial state of the model."""

    @abstractmethod
    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        """The requests that an action sends in the state ``cells``; none if it is a step of the model alone.

        ``image``: the controller's, which knows ids that the model does not count.
        """

    @abstractmethod
    def of_model(self, cells: Cells) -> Facts:
        """The facts in a state of the model."""

    @abstractmethod
    def of_controller(self, controller: Controller) -> Facts:
        """The facts in the current state of the controller."""

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:  # noqa: ARG002
        """The expected answer to a request that a rule of the model refuses; None if the rule restricts only the
        environment, so that there is no such request.
        """
        return None if error is None else E[error]

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:  # noqa: ARG002
        """The expected answer to a request that the model accepts: its error, and the values to compare."""
        return E.NONE, {}

    @abstractmethod
    def queries(self, before: Facts, after: Facts) -> list[Query]:
        """The queries that show how the facts of the model have changed. They show no fact that stays the same.

        Some facts have no query (``unstated``); a file shows these by the answers to later requests alone.
        """

    def begin(self, cells: Cells) -> ScenarioSession:
        """A session whose controller is in the initial state of the model."""
        session = ScenarioSession(Scenario(self.name, 1, self.name, (), self.profile))
        for request in self.setup(cells):
            error = request.error(request.perform(session))
            assert error is E.NONE, f"the setup: {request} is answered with {error.name}"
        return session

    def send(self, session: ScenarioSession, action: str, cells: Cells, args: Arguments) -> ControllerAnswer | None:
        """Send an action as requests in the state ``cells``, and return the answer; None if it is no request."""
        requests = self.requests(session.controller.image, action, cells, args)
        return send(session, requests) if requests else None

    @classmethod
    def of_scope(cls, scope: str) -> Pairing:
        """The model without these rules, in a scope that the model declares. Raises UsageError for any other scope."""
        system = load_variant(cls.name, cls.variants, cls.removed)
        return cls(system, system.scope(scope), differing=True)

    def differs(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        """Whether an action with its arguments asks the controller for something that no other call asks for."""
        return True

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        """Whether an action with its arguments is tried in a state of the pairing's own scope."""
        return True

    def _tries(self, action: str, cells: Cells, args: Arguments) -> bool:
        if self._given and not self._differing:
            return True
        tried = action not in self.left_out and self.differs(action, cells, args)
        return tried and (self._given or self.applies(action, cells, args))

    # The model ------------------------------------------------------------------------------------------------

    @cached_property
    def machine(self) -> Interpreter:
        """The model, in the scope of the pairing."""
        scope = self._scope
        if scope is None:
            scope = self._system.scope("tiny")
            scope = attrs.evolve(scope, name="pairing", sizes=self.sizes, given=self.given, budgets={})
        return Interpreter(self._system, scope, ghosts=frozenset(), properties=())

    @cached_property
    def actions(self) -> dict[str, Action]:
        """The actions of the model, by name."""
        return {action.name: action for action in self.machine.system.actions}

    @cached_property
    def starts(self) -> list[bytes]:
        """The initial states of the model."""
        return self.machine.initial()

    def elements(self, field: str) -> tuple[str, ...]:
        """The sorted elements of a field's first key."""
        return self._elements[field]

    @cached_property
    def _elements(self) -> dict[str, tuple[str, ...]]:
        """The results of ``elements`` for all fields that have a key."""
        found: dict[str, set[str]] = {}
        for cell in self.machine.layout.cells:
            if cell.keys:
                found.setdefault(cell.field.name, set()).add(str(cell.keys[0]))
        return {name: tuple(sorted(elements)) for name, elements in found.items()}

    def largest(self, sort: str) -> int:
        """The size of a sort in the scope; of numbers, the largest."""
        return self.machine.layout.scope.sizes[sort]

    @cached_property
    def domains(self) -> dict[str, list[tuple[Value, ...]]]:
        """By action: all tuples of arguments that its sender may choose, without the controller's parameters."""
        return {action: list(calls) for action, calls in self._calls.items()}

    @cached_property
    def cells(self) -> Callable[[bytes], Cells]:
        """A cached function from a state to its cells."""
        layout = self.machine.layout
        constant = constants_of(layout)
        names = [(cell.field.name, *cell.keys) for cell in layout.cells]
        values = [[layout.decode_value(c.field.type, code) for code in range(c.field.codes)] for c in layout.cells]

        @lru_cache(maxsize=1 << 14)
        def read(state: bytes) -> Cells:
            known = zip(names, values, state, strict=True)
            return constant | {name: of[code] for name, of, code in known}

        return read

    @cached_property
    def choices(self) -> Callable[[bytes], dict[str, dict[tuple[Value, ...], ModelChoice]]]:
        """A cached function from a state to the choices there: by action, then by arguments."""

        @lru_cache(maxsize=1 << 12)
        def read(state: bytes) -> dict[str, dict[tuple[Value, ...], ModelChoice]]:
            return {
                action: {values: self._choice(state, action, call) for values, call in calls.items()}
                for action, calls in self._calls.items()
            }

        return read

    def named(self, action: str, values: tuple[Value, ...]) -> dict[str, Value]:
        """The arguments of an action's sender, by the names of the parameters."""
        return self._calls[action][values].named

    @cached_property
    def kinds(self) -> Callable[[bytes], dict[str, dict[str, dict[tuple[Value, ...], ModelChoice]]]]:
        """A cached function from a state to the choices there: by kind, action and arguments."""

        @lru_cache(maxsize=1 << 12)
        def read(state: bytes) -> dict[str, dict[str, dict[tuple[Value, ...], ModelChoice]]]:
            found: dict[str, dict[str, dict[tuple[Value, ...], ModelChoice]]] = {}
            for kind in ("step", "repeat", "refusal", "none"):
                found[kind] = {}
            for name, choices in self.choices(state).items():
                for values, choice in choices.items():
                    found[choice.kind(state)].setdefault(name, {})[values] = choice
            return found

        return read

    @cached_property
    def choice(self) -> Callable[[bytes, str, tuple[Value, ...]], ModelChoice]:
        """A cached function from a state, an action and its sender's arguments to their choice.

        Where only one choice is of interest, this takes less time than ``choices``.
        """
        calls = self._calls

        @lru_cache(maxsize=1 << 14)
        def read(state: bytes, action: str, values: tuple[Value, ...]) -> ModelChoice:
            return self._choice(state, action, calls[action][values])

        return read

    @cached_property
    def facts(self) -> Callable[[bytes], Facts]:
        """A cached function from a state of the model to the facts in it, which nobody changes."""

        @lru_cache(maxsize=1 << 14)
        def read(state: bytes) -> Facts:
            return self.of_model(self.cells(state))

        return read

    def codes(self, action: str, values: tuple[Value, ...]) -> list[Args]:
        """The codes of all full tuples of arguments that a sender's arguments become."""
        return self._calls[action][values].codes

    @cached_property
    def _calls(self) -> SenderCalls:
        return calls_of(self.machine.layout, self.decided)

    def _choice(self, state: bytes, action: str, call: SenderCall) -> ModelChoice:
        cells, args = self.cells(state), call.named
        if not self._tries(action, cells, args):
            return refused(None)
        outcomes = [self.machine.step(state, action, each) for each in call.codes]
        first = outcomes[0]
        if len(outcomes) == 1 and isinstance(first, Refused):
            return refused(self.refusal(action, cells, args, first.label, first.error))
        if any(isinstance(outcome, Cut) for outcome in outcomes):
            # Beyond a bound of the scope the model has no answer, so the call is not tried.
            return refused(None)
        # Several decisions of the controller may lead to the same state.
        states = tuple(dict.fromkeys(outcome.state for outcome in outcomes if isinstance(outcome, Taken)))
        errors = {
            self.refusal(action, cells, args, outcome.label, outcome.error)
            for outcome in outcomes
            if isinstance(outcome, Refused)
        } - {None}
        assert len(errors) <= 1, f"{action} has several answers: {errors}"
        assert not (states and errors), f"{action} is accepted and refused: {errors}"
        return ModelChoice(states, next(iter(errors), None))


def number(element: str) -> int:
    """The id of a node or stream of a model: ``n1`` is 0."""
    return int(element[1:]) - 1
