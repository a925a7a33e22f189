"""A pairing: a model, a controller, and what the requests and cells of one are in the other.

A subclass says which actions of the model are requests to the controller, and sends them. All other actions, of a
process or of its storage, step the model alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar

import attrs

from holdfast.ir.system import Action
from holdfast.ir.variants import compile_variant
from holdfast.lower.layout import Layout, Value
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from impl.controller.node import Controller
from impl.controller.view import Outcome
from impl.errors import E
from impl.records import Record
from stateful_tests.controller.differences import Arguments, Cells

Facts = dict[str, Any]
"""What a model and a controller say alike of one state, by readable names."""


@attrs.frozen
class Answer:
    """What a controller answered: an error, named values, and whether it wrote records."""

    error: E
    values: Mapping[str, Any] = attrs.field(factory=dict)
    wrote: bool = False


@attrs.frozen
class Choice:
    """What a model says of one action with its arguments in one state.

    ``states``: the states that it allows afterwards, one for each way in which the controller may decide. ``error``:
    the answer of a refusal; None if the action is not possible here, and no request.
    """

    states: tuple[bytes, ...]
    error: E | None

    def kind(self, state: bytes) -> str:
        """``step``, ``repeat`` for a step that changes nothing, ``refusal``, or ``none``."""
        if self.states:
            return "repeat" if set(self.states) == {state} else "step"
        return "none" if self.error is None else "refusal"


class Pairing(ABC):
    """One model beside a controller. ``removed``: rules of the model's environment, without which any process may send
    any request at any time.
    """

    model: ClassVar[type]
    variants: ClassVar[tuple[str, ...]] = ()
    removed: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[Mapping[str, int]]
    given: ClassVar[Mapping[str, tuple[int | bool, ...]]] = {}
    decided: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """By action: the parameters that are the controller's to choose, and not the sender's."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Actions on which no request depends, once the rules are removed."""
    silent: ClassVar[tuple[str, ...]] = ()
    """Actions that write no record when they change nothing (INV-15)."""

    # What a pairing says --------------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, cells: Cells) -> Controller:
        """A controller in the initial state of the model."""

    @abstractmethod
    def send(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        """Send the request that an action is, in the state ``cells``; None if it is not one."""

    @abstractmethod
    def of_model(self, cells: Cells) -> Facts:
        """What both know, as the model has it."""

    @abstractmethod
    def of_controller(self, controller: Controller) -> Facts:
        """What both know, as the controller has it."""

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:  # noqa: ARG002
        """The answer to a request that a rule of the model refuses; None if the rule is one of the environment."""
        return None if error is None else E[error]

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:  # noqa: ARG002
        """The answer to a request that the model accepts: its error, and the values that are compared."""
        return E.NONE, {}

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        """Whether the action is tried at all in a state."""
        return True

    # The model ------------------------------------------------------------------------------------------------

    @cached_property
    def machine(self) -> Interpreter:
        """The model, in the scope of the pairing."""
        system = compile_variant(self.model, self.variants, self.removed)
        scope = attrs.evolve(system.scope("tiny"), name="pairing", sizes=self.sizes, given=self.given, budgets={})
        return Interpreter(system, scope, ghosts=frozenset(), properties=())

    @cached_property
    def actions(self) -> dict[str, Action]:
        """The actions of the model, by name."""
        return {action.name: action for action in self.machine.system.actions}

    @cached_property
    def starts(self) -> list[bytes]:
        """The initial states of the model."""
        return self.machine.initial()

    def elements(self, cell: str) -> list[str]:
        """The elements of the first key of a field."""
        return sorted({str(each.keys[0]) for each in self.machine.layout.cells if each.field.name == cell})

    @cached_property
    def domains(self) -> dict[str, list[tuple[Value, ...]]]:
        """For each action, the arguments that its sender may choose; those of the controller are left out."""
        return {name: [values for values, _ in self._calls[name]] for name in self.actions}

    @cached_property
    def cells(self) -> Callable[[bytes], Cells]:
        """From a state to its cells."""
        layout = self.machine.layout
        constant = _constants(layout)
        names = [(cell.field.name, *cell.keys) for cell in layout.cells]
        values = [[layout.decode_value(c.field.type, code) for code in range(c.field.codes)] for c in layout.cells]

        @lru_cache(maxsize=1 << 14)
        def read(state: bytes) -> Cells:
            known = zip(names, values, state, strict=True)
            return constant | {name: of[code] for name, of, code in known}

        return read

    @cached_property
    def choices(self) -> Callable[[bytes], dict[str, dict[tuple[Value, ...], Choice]]]:
        """From a state to all that may be tried there: by action, by arguments."""

        @lru_cache(maxsize=1 << 10)
        def read(state: bytes) -> dict[str, dict[tuple[Value, ...], Choice]]:
            return {
                name: {values: self._choice(state, name, values, codes) for values, codes in calls}
                for name, calls in self._calls.items()
            }

        return read

    def named(self, action: str, values: tuple[Value, ...]) -> dict[str, Value]:
        """The arguments of a sender, by the names of the parameters."""
        return self._named[action, values]

    @cached_property
    def kinds(self) -> Callable[[bytes], dict[str, dict[str, dict[tuple[Value, ...], Choice]]]]:
        """From a state to all that may be tried there: by kind (see ``Choice.kind``), by action, by arguments."""

        @lru_cache(maxsize=1 << 10)
        def read(state: bytes) -> dict[str, dict[str, dict[tuple[Value, ...], Choice]]]:
            found: dict[str, dict[str, dict[tuple[Value, ...], Choice]]] = {}
            for kind in ("step", "repeat", "refusal", "none"):
                found[kind] = {}
            for name, choices in self.choices(state).items():
                for values, choice in choices.items():
                    found[choice.kind(state)].setdefault(name, {})[values] = choice
            return found

        return read

    @cached_property
    def _named(self) -> dict[tuple[str, tuple[Value, ...]], dict[str, Value]]:
        """``named`` for all arguments."""
        found: dict[tuple[str, tuple[Value, ...]], dict[str, Value]] = {}
        for action, domain in self.domains.items():
            theirs = self.decided.get(action, ())
            names = [param.name for param in self.actions[action].params if param.name not in theirs]
            found |= {(action, values): dict(zip(names, values, strict=True)) for values in domain}
        return found

    @cached_property
    def _calls(self) -> dict[str, list[tuple[tuple[Value, ...], list[Args]]]]:
        """For each action: the sender's arguments, and with them the codes of all arguments."""
        found: dict[str, list[tuple[tuple[Value, ...], list[Args]]]] = {}
        layout = self.machine.layout
        for action in self.machine.system.actions:
            theirs = self.decided.get(action.name, ())
            by_sender: dict[tuple[Value, ...], list[Args]] = {}
            for codes in product(*(range(layout.codes(param.type)) for param in action.params)):
                named = layout.decode_args(action, codes)
                sent = tuple(value for name, value in named.items() if name not in theirs)
                by_sender.setdefault(sent, []).append(codes)
            found[action.name] = list(by_sender.items())
        return found

    def _choice(self, state: bytes, action: str, values: tuple[Value, ...], codes: list[Args]) -> Choice:
        cells, args = self.cells(state), self.named(action, values)
        if action in self.left_out or not self.applies(action, cells, args):
            return Choice((), None)
        outcomes = [self.machine.step(state, action, each) for each in codes]
        if any(isinstance(outcome, Cut) for outcome in outcomes):
            return Choice((), None)
        states = tuple(dict.fromkeys(outcome.state for outcome in outcomes if isinstance(outcome, Taken)))
        errors = {
            self.refusal(action, cells, args, outcome.label, outcome.error)
            for outcome in outcomes
            if isinstance(outcome, Refused)
        } - {None}
        assert len(errors) <= 1, f"{action} has several answers: {errors}"
        assert not (states and errors), f"{action} is accepted and refused: {errors}"
        return Choice(states, next(iter(errors), None))


def _constants(layout: Layout) -> dict[tuple[Any, ...], Any]:
    """The values that the scope gives."""
    constant: dict[tuple[Any, ...], Any] = {}
    for name, codes in layout.given.items():
        var = layout.system.var(name)
        keys = product(*([layout.decode_value(key, code) for code in range(layout.codes(key))] for key in var.keys))
        for key, code in zip(keys, codes, strict=True):
            constant[name, *key] = layout.decode_value(var.value, code)
    return constant


# What all pairings need of a controller ------------------------------------------------------------------------------


def answered(outcome: Outcome) -> Answer:
    """The answer of an operation."""
    return Answer(outcome.error, outcome.values, bool(outcome.records))


def write(controller: Controller, *records: Record) -> None:
    """Append records as one batch that no operation made."""
    controller.execute(lambda _: Outcome(records))


def number(element: str) -> int:
    """The id of a node or stream of a model: ``n1`` is 0."""
    return int(element[1:]) - 1
