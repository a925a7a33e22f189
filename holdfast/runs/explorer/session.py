"""A session of the explorer, without its screen: one run and the runs that branch off from it, step by step.

A session holds runs that share their beginnings, and its position is a step of one of them. Moving goes along that run.
Taking a step that is not the run's next step branches off; the old run stays. Every change of the runs, and every jump
from one run to another, can be undone. A session without a model can only read its run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Args
from holdfast.runs.explorer.beliefs import Belief, beliefs
from holdfast.runs.explorer.cell_expression import CellExpressions
from holdfast.runs.explorer.choices import Choice, Chooser, Refusal, UntriedAction
from holdfast.runs.explorer.expression import Expression, ExpressionCompiler
from holdfast.runs.explorer.nearest import BUDGET, Search, nearest
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.trace import Step, Trace

Run = tuple[Step, ...]
"""A run: the start, and each step after it."""


@attrs.frozen
class SessionView:
    """A position to which undo can return: the runs, the current run, and the current step in it (0 is the start)."""

    runs: tuple[Run, ...]
    number: int = 0
    at: int = 0


class Session:
    """Explores ``trace``. ``replayer`` made the trace and can continue it; it is None for a foreign run."""

    def __init__(self, trace: Trace, replayer: Replayer | None = None) -> None:
        self.opened = trace
        self.replayer = replayer
        self.watches: tuple[Expression, ...] = ()
        self._view = SessionView((trace.steps,))
        self._past: list[SessionView] = []
        self._future: list[SessionView] = []
        self._chooser = None if replayer is None else Chooser(replayer)

    @classmethod
    def of_model(cls, system: System, scope: Scope, target: str) -> Session:
        """A session at the least initial state of a model; ``target`` is the command line's name for the model."""
        replayer = Replayer(system, scope, target=target, options=None)
        _, args = replayer.machine.starts()[0]
        trace = replayer.trace(Script(args, ()), None)
        assert not isinstance(trace, StoppedScript), "an initial state begins a run"
        return cls(trace, replayer)

    # The position -----------------------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The current run."""
        return self._view.runs[self._view.number]

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs: the opened one first, then the branches in the order of their creation."""
        return self._view.runs

    @property
    def number(self) -> int:
        """The index of the current run, from 0."""
        return self._view.number

    @property
    def at(self) -> int:
        """The index of the current step in the run; 0 is the start."""
        return self._view.at

    @property
    def step(self) -> Step:
        """The current step, with the state after it."""
        return self.run[self.at]

    @property
    def before(self) -> Step | None:
        """The step before the current one; None at the start."""
        return self.run[self.at - 1] if self.at else None

    @property
    def is_original(self) -> bool:
        """Whether the current run is the opened one, unchanged."""
        return self.run == self.opened.steps

    def beliefs(self, *, full: bool = False) -> dict[str, tuple[Belief, ...]]:
        """The current state, grouped by the element that its cells belong to, with the changes of the last step."""
        return beliefs(self.opened, self.step, self.before, full=full)

    # Moving along the run ---------------------------------------------------------------------------------------

    def go(self, at: int) -> None:
        """Move to that step of the run, or to the nearest one if the run has no such step."""
        self._view = attrs.evolve(self._view, at=min(max(at, 0), len(self.run) - 1))

    def forward(self) -> None:
        """Move one step forward, unless the run ends here."""
        self.go(self.at + 1)

    def back(self) -> None:
        """Move one step back, unless this is the start."""
        self.go(self.at - 1)

    # Branching off ----------------------------------------------------------------------------------------------

    def choices(self) -> tuple[Choice, ...]:
        """The steps that are possible here; none without a model."""
        return () if self._chooser is None else self._chooser.choices(self.step.code)

    def starts(self) -> tuple[Choice, ...]:
        """The initial states that a run may begin in; none without a model."""
        return () if self._chooser is None else self._chooser.starts()

    def refusals(self) -> tuple[Refusal | UntriedAction, ...]:
        """The refusals in the current state, by action and rule; none without a model."""
        return () if self._chooser is None else self._chooser.refusals(self.step.code)

    def take(self, step: Step) -> None:
        """Take a step, which is one of the choices here.

        If a known run takes the same step, move along that run. Otherwise the run grows if this is its end, and a new
        run branches off if it is not.
        """
        self._follow([*self._kept(), step])

    def begin(self, start: Step) -> None:
        """Move to another initial state, which is one of ``starts``."""
        self._follow([start])

    def follow(self, path: Sequence[tuple[str, Args]]) -> None:
        """Take several steps, with arguments in codes; raises UsageError for a step that is not possible."""
        model = self.require_model()
        steps, state = self._kept(), self.step.code
        for action, args in path:
            outcome = model.machine.step(state, action, args)
            if not isinstance(outcome, Taken):
                raise UsageError(f"{action} is not possible there; take one of the enabled steps")
            state = outcome.state
            steps.append(model.origin.step(action, args, state))
        self._follow(steps)

    def _kept(self) -> list[Step]:
        """The run up to here. A repeated step becomes an ordinary one; if it was refused, it is left out."""
        return [attrs.evolve(step, repeat=False) for step in self.run[: self.at + 1] if step.refused is None]

    def _follow(self, steps: Sequence[Step]) -> None:
        """Move to the last of these steps, on a run that begins with them."""
        wanted, runs, number = tuple(steps), self.runs, self.number
        at = len(wanted) - 1
        # Prefer the current run, then the others in their order. If none begins with the steps, extend or branch off.
        for known in (number, *range(len(runs))):
            if runs[known][: at + 1] == wanted:
                self._change(SessionView(runs, known, at))
                return
        if wanted[: len(self.run)] == self.run:
            self._change(SessionView((*runs[:number], wanted, *runs[number + 1 :]), number, at))
        else:
            self._change(SessionView((*runs, wanted), len(runs), at))

    def switch(self, number: int) -> None:
        """Move to another run, at most to the last step that it shares with the current run."""
        other = self.runs[number]
        shared = next(
            (at for at, (one, two) in enumerate(zip(self.run, other, strict=False)) if one != two),
            min(len(self.run), len(other)),
        )
        self._change(SessionView(self.runs, number, max(min(self.at, shared - 1), 0)))

    # Undoing ----------------------------------------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        """Whether there is anything to undo."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether anything was undone since the last change."""
        return bool(self._future)

    def undo(self) -> None:
        """Return to the position before the last change, if there was one."""
        if self._past:
            self._future.append(self._view)
            self._view = self._past.pop()

    def redo(self) -> None:
        """Revert the last undo, if nothing else has changed since."""
        if self._future:
            self._past.append(self._view)
            self._view = self._future.pop()

    def _change(self, view: SessionView) -> None:
        self._past.append(self._view)
        self._future.clear()
        self._view = view

    # Asking -----------------------------------------------------------------------------------------------------

    @cached_property
    def _compiler(self) -> ExpressionCompiler | CellExpressions:
        if self.replayer is None:
            return CellExpressions(self.opened)
        return ExpressionCompiler(self.replayer.system, self.replayer.machine.layout)

    def expression(self, text: str) -> Expression:
        """An expression over the states of these runs; raises UsageError."""
        return self._compiler.compile(text)

    def condition(self, text: str) -> Expression:
        """An expression that is true or false; raises UsageError."""
        found = self.expression(text)
        if not found.is_condition:
            raise UsageError(f"{found.text} is a value and no condition; compare it with something")
        return found

    def value(self, expression: Expression, step: Step) -> Value:
        """The value of an expression in the state after a step."""
        return expression.value(step.values if self.replayer is None else step.code)

    def watch(self, text: str) -> None:
        """Show the value of an expression from now on. Raises UsageError for a text that is no expression."""
        found = self.expression(text)
        if all(found.text != known.text for known in self.watches):
            self.watches = (*self.watches, found)

    def unwatch(self, position: int) -> None:
        """Stop watching the expression at that position."""
        self.watches = tuple(known for index, known in enumerate(self.watches) if index != position)

    def watched(self, expression: Expression) -> tuple[Value, ...]:
        """The values of an expression along the run, that of the start first."""
        return tuple(self.value(expression, step) for step in self.run)

    # Seeking ----------------------------------------------------------------------------------------------------

    def seek(self, condition: Expression) -> bool:
        """Go to the first later state of this run in which the condition holds; False if there is none."""
        for at in range(self.at + 1, len(self.run)):
            if self.value(condition, self.run[at]):
                self.go(at)
                return True
        return False

    def search(self, condition: Expression, *, most: int = BUDGET, stop: Callable[[], bool] = lambda: False) -> Search:
        """Search for the nearest state from here in which the condition holds. It does not move; see ``follow``."""
        machine = self.require_model().machine
        return nearest(machine, self.step.code, condition.value, most=most, stop=stop)

    def violated(self, at: int | None = None) -> str | None:
        """The first property that the step at ``at`` (None: the current step), or the state after it, violates."""
        at = self.at if at is None else at
        step = self.run[at]
        # The opened run may show a claim that the chooser does not judge, or may have no model at all.
        if step.repeat or (self.is_original and at == len(self.run) - 1):
            claim = self.opened.claim
            if claim is not None and claim.kind != "witness":
                return claim.name
        if self._chooser is None:
            return None
        if at == 0:
            return self._chooser.violated_by_state(step.code)
        return self._chooser.violated_by_step(self.run[at - 1].code, step)

    def seek_violation(self) -> bool:
        """Go to the first step of this run that violates a property; False if none does."""
        at = next((at for at in range(len(self.run)) if self.violated(at) is not None), None)
        if at is None:
            return False
        # If a repetition shows that the step is not idempotent, it comes after the step.
        self.go(at + 1 if at + 1 < len(self.run) and self.run[at + 1].repeat else at)
        return True

    # Keeping ----------------------------------------------------------------------------------------------------

    def trace(self) -> Trace:
        """The whole current run, with the claim that its end violates, if any."""
        if self.replayer is None or self.is_original:
            return self.opened
        script = self._script()
        made = self.replayer.trace(script, self.replayer.violated(script))
        assert not isinstance(made, StoppedScript), "every step of a run was possible when it was taken"
        # No engine is known to find a run that a person took by hand.
        return attrs.evolve(made, options=None, seed=None)

    def _script(self) -> Script:
        assert self.replayer is not None
        return self.replayer.script(attrs.evolve(self.opened, steps=self.run))

    def require_model(self) -> Replayer:
        """The replayer of the model; raises UsageError for a session without a model."""
        if self.replayer is None:
            raise UsageError("this run has no model, so that it can be read only; open it with --model MODEL")
        return self.replayer
