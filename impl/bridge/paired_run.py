"""Runs a model and a controller in lockstep: both get the same requests, and must stay in the same state."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.lower.layout import Value
from impl.bridge.differences import Cells, IntendedDifference, answers
from impl.bridge.model_choice import ModelChoice
from impl.bridge.pairing import Facts, Pairing
from impl.bridge.request import ControllerAnswer
from impl.controller.node import Controller
from impl.errors import E


@attrs.frozen
class PairedCall:
    """An action of the model with the arguments that its sender chooses."""

    action: str
    values: tuple[Value, ...]

    def text(self, pairing: Pairing) -> str:
        """The call as printed in a run."""
        named = pairing.named(self.action, self.values)
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in named.items())})"


class DisagreementError(AssertionError):
    """Model and controller differ on the last call of ``run``. The run begins in the initial state ``start``."""

    def __init__(self, pairing: Pairing, start: bytes, run: tuple[PairedCall, ...], said: str) -> None:
        lines = [f"{number:3}  {call.text(pairing)}" for number, call in enumerate(run, 1)]
        super().__init__("\n".join([said, f"start {pairing.starts.index(start)}", *lines]))
        self.pairing = pairing
        self.start = start
        self.run = run


class PairedRun:
    """One run of a pairing, from one of the model's initial states."""

    def __init__(self, pairing: Pairing, start: bytes) -> None:
        self.pairing = pairing
        self.start = start
        self.state = start
        self.run: tuple[PairedCall, ...] = ()
        self.session = pairing.begin(self.cells)
        self.used: set[IntendedDifference] = set()
        """The intended differences that the run has met."""
        different = _different(pairing.facts(start), self._facts())
        assert not different, f"the controller does not begin where the model does: {different}"

    @property
    def cells(self) -> Cells:
        """The state of the model."""
        return self.pairing.cells(self.state)

    @property
    def controller(self) -> Controller:
        """The controller of the session."""
        return self.session.controller

    def _facts(self) -> Facts:
        return self.pairing.of_controller(self.controller)

    def calls(self, kind: str) -> Iterator[PairedCall]:
        """The possible calls of a kind (see ``ModelChoice.kind``) in the current state, in the order of the model."""
        for action, choices in self.pairing.kinds(self.state)[kind].items():
            yield from (PairedCall(action, values) for values in choices)

    def take(self, call: PairedCall) -> ControllerAnswer | None:
        """Make a call (a step, a repeat or a refusal) in both. Raises DisagreementError if they differ.

        Returns the controller's answer; None for a step of the model alone.

        If the model allows several states afterwards, the controller must agree with one of them, which is then the
        state of the model.
        """
        choice = self.pairing.choice(self.state, call.action, call.values)
        args = self.pairing.named(call.action, call.values)
        before = self.cells
        batches = self.controller.log.end
        answer = self.pairing.send(self.session, call.action, before, args)
        self.run = (*self.run, call)
        if answer is None:
            # A step of the model alone. The controller decides nothing in it, so there is one state afterwards.
            self.state = choice.states[0]
            return None
        if not choice.states:
            self._refused(call, choice, answer)
            return answer
        facts = self._facts()
        found = [self._compared(call, before, state, answer, facts) for state in choice.states]
        agreed = [state for state, said in zip(choice.states, found, strict=True) if said is None]
        if not agreed:
            raise self._error(found[0] or "")
        # A call that changes nothing must also leave the log as it was (INV-15): equal facts alone do not show that.
        rests = agreed[0] == self.state
        if rests and call.action in self.pairing.silent and self.controller.log.end != batches:
            raise self._error(f"{call.action} changes nothing in the model; the controller writes records")
        self.state = agreed[0]
        return answer

    def try_refusals(self) -> None:
        """Send each request that the model refuses now. Raises DisagreementError if the controller's answer differs.

        A refusal changes nothing in the controller, so all of them can be sent in the same state.
        """
        send, session, cells = self.pairing.send, self.session, self.cells
        for action, choices in self.pairing.kinds(self.state)["refusal"].items():
            for values, choice in choices.items():
                answer = send(session, action, cells, self.pairing.named(action, values))
                assert answer is not None, f"{action} is no request"
                if answer.error is not choice.error or answer.wrote:
                    # The call belongs to the run only for the report of a disagreement. If an intended difference
                    # excuses the answer, the run goes on without it.
                    done, call = self.run, PairedCall(action, values)
                    self.run = (*done, call)
                    self._refused(call, choice, answer)
                    self.run = done

    def _refused(self, call: PairedCall, choice: ModelChoice, answer: ControllerAnswer) -> None:
        assert choice.error is not None, f"{call} is no request here"
        wanted = self._excused(call, self.cells, choice.error, answer)
        if answer.error is not wanted:
            raise self._error(_answers(choice.error, answer.error))
        if answer.wrote:
            raise self._error(f"{call.action} is refused, and the controller writes records")

    def _compared(
        self, call: PairedCall, before: Cells, after: bytes, answer: ControllerAnswer, facts: Facts
    ) -> str | None:
        """The difference between the controller and one state that the model allows; None if there is none.

        ``facts``: those of the controller.
        """
        args = self.pairing.named(call.action, call.values)
        error, values = self.pairing.answer(call.action, before, args, self.pairing.cells(after))
        wanted = self._excused(call, before, error, answer)
        if answer.error is not wanted:
            return _answers(error, answer.error)
        # With another error than the model's, the controller's answer has other values: there is nothing to compare.
        if wanted is error:
            for name, value in values.items():
                if answer.values.get(name) != value:
                    return f"{name}: the model has {value}, the controller {answer.values.get(name)}"
        return _different(self.pairing.facts(after), facts)

    def _excused(self, call: PairedCall, before: Cells, error: E, answer: ControllerAnswer) -> E:
        """The error that the controller must answer: the model's, or another one that an intended difference allows."""
        if answer.error is error:
            return error
        args = self.pairing.named(call.action, call.values)
        for each in answers(self.pairing.name, call.action, before, args):
            if (error, answer.error) == (each.model, each.controller):
                self.used.add(each)
                return each.controller
        return error

    def _error(self, said: str) -> DisagreementError:
        return DisagreementError(self.pairing, self.start, self.run, said)


def _answers(model: E, controller: E) -> str:
    return f"answer: the model has {model.name}, the controller {controller.name}"


def _different(model: Facts, controller: Facts) -> str | None:
    """The first fact that differs, in words; None if all are equal. Both must have the same facts."""
    assert model.keys() == controller.keys(), model.keys() ^ controller.keys()
    for name, value in model.items():
        if controller[name] != value:
            return f"{name}: the model has {value}, the controller {controller[name]}"
    return None
