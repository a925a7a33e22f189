"""Hypothesis drives a pairing. Each action has a rule for its steps; one more rule makes calls that change nothing.
After each step, all requests that the model refuses are sent, too.
"""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.bridge.pairings import pairing
from stateful_tests.controller.search import reduced

Machine = type["PairingMachine"]

STEPS = 30
"""The most steps of one example."""


class PairingMachine(RuleBasedStateMachine):
    """One run of a pairing."""

    pairing: ClassVar[Pairing]
    examples: ClassVar[int]
    """The number of runs begun so far."""
    found_after: ClassVar[int | None]
    """The number of runs begun when the first of them failed; None if none has."""

    def __init__(self) -> None:
        super().__init__()
        type(self).examples += 1
        self.lockstep: PairedRun | None = None

    def begin(self, start: bytes) -> None:
        """Begin in an initial state of the model."""
        self.lockstep = PairedRun(self.pairing, start)
        self._judge(None)

    def take(self, call: PairedCall) -> None:
        """Make a call in both."""
        self._judge(call)

    def _judge(self, call: PairedCall | None) -> None:
        assert self.lockstep is not None, "a run has begun"
        before = None if call is None else self.lockstep.state
        try:
            if call is not None:
                self.lockstep.take(call)
            # The refusals depend only on the state: after a call that changes nothing they were tried before. At the
            # start `before` is None, so they are tried there too.
            if self.lockstep.state != before:
                self.lockstep.try_refusals()
        except DisagreementError:
            if type(self).found_after is None:
                type(self).found_after = self.examples
            raise

    def offered(self, kind: str, action: str | None = None) -> list[PairedCall]:
        """The possible calls of a kind (see ``ModelChoice.kind``) in the current state, of one action or of all."""
        if self.lockstep is None:
            return []
        found = self.pairing.kinds(self.lockstep.state)[kind]
        actions = found if action is None else [action] if action in found else []
        return [PairedCall(each, values) for each in actions for values in found[each]]

    @precondition(lambda self: self.lockstep is not None and not self.offered("step") and not self.offered("repeat"))
    @rule()
    def rest(self) -> None:
        """Do nothing. Hypothesis fails if no rule is enabled, so this one is enabled if there is no step or repeat."""


def machine(name: str) -> Machine:
    """A new machine class of a pairing. Its counts of runs start at 0."""
    found = pairing(name)
    body: dict[str, Any] = {
        "__doc__": f"The controller beside {name}.",
        "pairing": found,
        "examples": 0,
        "found_after": None,
        "init": _start(found),
    }
    # The underscore keeps the name of an action from hiding a method of the machine.
    for action in found.actions:
        body[f"{action}_"] = _rule(action)
    body["again"] = _rule(None)
    made: Machine = type(f"{name}_beside_the_controller", (PairingMachine,), body)
    return made


def drive(driven: Machine, **chosen: Any) -> None:
    """Run a machine with the settings of the current profile, changed by ``chosen``.

    Raises DisagreementError with a run that ``reduced`` has shortened.
    """
    given = {
        "stateful_step_count": STEPS,
        # Without Hypothesis's shrinking: `reduced` shortens the run in far less time.
        "phases": (Phase.explicit, Phase.reuse, Phase.generate),
        "deadline": None,
        "report_multiple_bugs": False,
        "suppress_health_check": list(HealthCheck),
        **chosen,
    }
    try:
        run_state_machine_as_test(driven, settings=settings(**given))
    except DisagreementError as found:
        raise reduced(found) from found


def _start(found: Pairing) -> Any:
    def begin(self: PairingMachine, start: int) -> None:
        self.begin(found.starts[start])

    begin.__name__ = begin.__qualname__ = "init"
    return initialize(start=st.integers(0, len(found.starts) - 1))(begin)


def _rule(action: str | None) -> Any:
    """The rule for the steps of an action; for None, the rule for all calls that change nothing."""
    kind = "repeat" if action is None else "step"

    def take(self: PairingMachine, call: PairedCall) -> None:
        self.take(call)

    def offered(self: PairingMachine) -> st.SearchStrategy[PairedCall]:
        return st.sampled_from(self.offered(kind, action))

    take.__name__ = take.__qualname__ = "again" if action is None else f"{action}_"
    decorated = precondition(lambda self: bool(self.offered(kind, action)))(take)
    return rule(call=st.runner().flatmap(offered))(decorated)
