"""The choices in one state: the steps that are possible, and the rules that refuse all others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs

from holdfast.ir.system import Action
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Args
from holdfast.lower.random_runs.plan import instances
from holdfast.runs.judge import StepJudge
from holdfast.runs.replay import Replayer
from holdfast.trace.trace import Step

MOST_TRIED = 20_000
"""An action with more instances is not tried, and its refusals are not listed."""

Named = tuple[tuple[str, Value], ...]
"""Arguments by name."""

_Reason = tuple[str, str | None, bool]
"""The label, the error, and whether the label is a bound or a budget."""


@attrs.frozen
class Choice:
    """A possible step: the entry that it adds to the run, and the property that it violates, if any."""

    step: Step
    changes: bool
    violates: str | None


@attrs.frozen
class Refusal:
    """The arguments with which one rule refuses an action.

    ``label`` is the rule, ``error`` the system's answer. If ``by_bound`` is set, no rule refuses the action, but the
    step would leave the scope, and ``label`` is the bound or the budget that cuts it.
    """

    action: str
    label: str
    error: str | None
    by_bound: bool
    args: tuple[Named, ...]


@attrs.frozen
class UntriedAction:
    """An action with too many instances to try each; its refusals are unknown."""

    action: str
    instances: int


class Chooser:
    """Lists the choices in the states of one system, in the order of the source and then of the arguments."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer = replayer
        self.machine = replayer.machine
        self.actions = replayer.system.actions
        self._judge = StepJudge(self.machine, replayer.selection)

    def choices(self, state: bytes) -> tuple[Choice, ...]:
        """The steps that are possible in a state."""
        return tuple(self._choices(state))

    def _choices(self, state: bytes) -> Iterator[Choice]:
        for index, action in enumerate(self.actions):
            for new, args in sorted(self.machine.successors[index](state), key=lambda found: found[1]):
                step = self.replayer.origin.step(action.name, args, new)
                yield Choice(step, new != state, self.violated_by_step(state, step))

    def starts(self) -> tuple[Choice, ...]:
        """The initial states, each as the step that makes it."""
        origin = self.replayer.origin
        steps = (origin.start(state, args) for state, args in self.machine.starts())
        return tuple(Choice(step, True, self.violated_by_state(step.code)) for step in steps)

    def refusals(self, state: bytes) -> tuple[Refusal | UntriedAction, ...]:
        """The refusals in a state: for each action the rules that refuse it, in the order of the first instance each
        refuses.
        """
        found: list[Refusal | UntriedAction] = []
        for action in self.actions:
            found += self._refusals(state, action)
        return tuple(found)

    def _refusals(self, state: bytes, action: Action) -> list[Refusal] | list[UntriedAction]:
        tried = instances(self.machine.layout, action)
        if tried > MOST_TRIED:
            return [UntriedAction(action.name, tried)]
        groups: dict[_Reason, list[Named]] = {}
        for args in self._instances(action):
            match self.machine.step(state, action.name, args):
                case Refused(label, error):
                    key: _Reason = (label, error, False)
                case Cut(bound):
                    key = (bound, None, True)
                case Taken():
                    continue
            named = tuple(self.machine.layout.decode_args(action, args).items())
            groups.setdefault(key, []).append(named)
        return [Refusal(action.name, *key, tuple(args)) for key, args in groups.items()]

    def _instances(self, action: Action) -> Iterator[Args]:
        return itertools.product(*(range(self.machine.layout.codes(param.type)) for param in action.params))

    def violated_by_state(self, state: bytes) -> str | None:
        """The first invariant or lemma that a state violates, by name."""
        found = self._judge.state(state)
        return None if found is None else found.claim.name

    def violated_by_step(self, before: bytes, step: Step) -> str | None:
        """The first property, in the order of the source, that a step or the state after it violates, by name."""
        name, args = self.replayer.coded(step.action, dict(step.args))
        index = next(index for index, action in enumerate(self.actions) if action.name == name)
        found = self._judge.step(before, (step.code, index, args))
        return None if found is None else found.claim.name
