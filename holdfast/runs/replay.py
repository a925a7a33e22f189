"""Replay runs step by step: from a script to its states, to the claim that they show, and to a Trace.

A Script is the whole input of a run, because models are deterministic apart from the arguments of their actions. So
other parts store, change and replay scripts: the one-line form, the shrinker, the explorer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import Action, Property, Scope, System
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.lasso_judge import LassoJudge
from holdfast.runs.rebuilding import repeat_differs, repetition
from holdfast.runs.selection import Selection, deadlock_claim, idempotence, select
from holdfast.runs.where import where_it_fails
from holdfast.trace.trace import Claim, Origin, Step, Trace


@attrs.frozen
class Script:
    """The steps of a run in codes: the arguments of ``@init``, then each action with its arguments.

    With ``loop`` it is a lasso: all steps after the first ``loop`` repeat for ever.
    """

    start: Args
    steps: tuple[tuple[str, Args], ...]
    loop: int | None = None


@attrs.frozen
class StoppedScript:
    """A script that cannot be followed to its end: ``index`` is the impossible step (counted from 1; 0 is ``@init``),
    ``outcome`` the reason.
    """

    index: int
    outcome: Refused | Cut


class Replayer:
    """Replays runs of one system in one scope, with the ghosts that any of its properties reads (or with all ghosts).

    Only lassos violate a liveness property. A ghost that still records would keep a lasso from leading back. So with
    ``liveness`` the replayer is for lassos that may violate one of these: it keeps only the ghosts that they read, and
    judges other properties only if these ghosts suffice.

    ``target``, ``options`` and ``seed`` go into the traces: the command line's name for the model, and the further
    options of the command that finds the run (None: no engine is known to find it). Raises UsageError if the scope
    does not fit the model.
    """

    def __init__(
        self,
        system: System,
        scope: Scope,
        *,
        target: str | None = None,
        options: Sequence[str] | None = (),
        seed: int | None = None,
        all_ghosts: bool = False,
        liveness: Sequence[Property] | None = None,
    ) -> None:
        self.system = system
        self.selection: Selection = select(system, None)
        self.liveness = tuple(liveness or ())
        if liveness is not None:
            self.selection = _for_lassos(self.selection, system, ghosts_read(system, liveness))
        ghosts = None if all_ghosts else self.selection.ghosts
        self.machine = Interpreter(system, scope, ghosts=ghosts, properties=self.selection.properties)
        self.origin = Origin(
            system,
            self.machine.layout,
            system.file if target is None else target,
            None if options is None else tuple(options),
            seed,
        )
        self._lassos: LassoJudge | None = None
        self._known = {each.claim.name: each for each in self._claims()}
        self._actions = {action.name: action for action in system.actions}

    # Following --------------------------------------------------------------------------------------------------

    def states(self, script: Script) -> tuple[bytes, ...] | StoppedScript:
        """The states of the run, including the start; the impossible step if the script cannot be followed."""
        found: list[bytes] = []
        # ``@init`` is a step like any other; it begins in the blank state.
        state = self.machine.layout.blank()
        for name, args in ((self.system.init.name, script.start), *script.steps):
            outcome = self.machine.step(state, name, args)
            if not isinstance(outcome, Taken):
                return StoppedScript(len(found), outcome)
            state = outcome.state
            found.append(state)
        return tuple(found)

    # Claims -----------------------------------------------------------------------------------------------------

    @property
    def claim_names(self) -> tuple[str, ...]:
        """The names of all claims that a run can show, in the order in which engines report them."""
        return tuple(self._known)

    def claim(self, name: str) -> Claim:
        """The claim of that name; raises UsageError, with the known names, for any other name."""
        return self._judge(name).claim

    def shows(self, script: Script, claim_name: str) -> bool:
        """Whether the script can be followed and its end shows that claim: violates it, or reaches it as a witness."""
        judge = self._judge(claim_name)
        states = self.states(script)
        return not isinstance(states, StoppedScript) and judge.shown(self, states, script)

    def ends(self, claim_name: str, states: Sequence[bytes], script: Script) -> bool:
        """Like ``shows``, for known states: the last two, and a script of the last step, are enough."""
        return self._judge(claim_name).shown(self, states, script)

    def violated(self, script: Script) -> str | None:
        """The first claim, in the order of the source, that the last state or step violates. None if it violates
        none, or if the script cannot be followed.
        """
        states = self.states(script)
        if isinstance(states, StoppedScript):
            return None
        failing = (
            name
            for name, judge in self._known.items()
            if judge.claim.kind != "witness" and judge.shown(self, states, script)
        )
        return next(failing, None)

    def _judge(self, name: str) -> _ClaimTest:
        found = self._known.get(name)
        if found is None:
            hint = did_you_mean(name, self._known, f"it has: {', '.join(self._known) or 'none'}")
            raise UsageError(f"{self.system.name} has no property {name!r} that a run shows; {hint}")
        return found

    def _claims(self) -> Iterator[_ClaimTest]:
        """All claims that a run can show, in the order in which engines report them."""
        for prop in self.selection.of_kind("invariant", "lemma", "step", "witness"):
            yield _PropertyTest(Claim.of_property(prop), prop)
        for action in self.selection.idempotent:
            yield _RepetitionTest(idempotence(self.system, action), action)
        if self.selection.deadlock:
            yield _DeadlockTest(deadlock_claim(self.system), self.selection.of_kind("final"))
        for prop in self.liveness:
            yield _LivenessTest(Claim.of_property(prop), prop)

    @property
    def lassos(self) -> LassoJudge:
        """The judge of lassos, made at the first use."""
        if self._lassos is None:
            self._lassos = LassoJudge(self.machine)
        return self._lassos

    # Traces -----------------------------------------------------------------------------------------------------

    def trace(self, script: Script, claim_name: str | None) -> Trace | StoppedScript:
        """The trace of the script, in the form that engines give it.

        Its claim is None if no claim is named, or if the end of the run does not show it. Returns the impossible step
        if the script cannot be followed.
        """
        states = self.states(script)
        if isinstance(states, StoppedScript):
            return states
        judge = None if claim_name is None else self._judge(claim_name)
        if judge is not None and not judge.shown(self, states, script):
            judge = None
        steps = [self.origin.start(states[0], script.start)]
        for (name, args), state in zip(script.steps, states[1:], strict=True):
            steps.append(self.origin.step(name, args, state))
        if judge is None:
            return self.origin.trace(None, steps, script.loop)
        steps += judge.repeated(self, states, script)
        return self.origin.trace(judge.located(self, states, script), steps, script.loop)

    # Scripts ----------------------------------------------------------------------------------------------------

    def script(self, trace: Trace) -> Script:
        """The script of a run of this model.

        If the trace has no arguments of ``@init``, the script has the least ones that give the first state. Raises
        UsageError for actions, arguments and initial states that the system does not have in this scope.
        """
        first, *others = trace.steps
        done = [step for step in others if not step.repeat]
        steps = tuple(self.coded(step.action, dict(step.args)) for step in done)
        return Script(self._start(trace, first), steps, trace.loop)

    def coded(self, action: str, args: Mapping[str, Value]) -> tuple[str, Args]:
        """An action with its arguments in codes; raises UsageError for an unknown action or value."""
        return action, self.machine.layout.encode_args(self.action(action), args)

    def action(self, name: str) -> Action:
        """The action of that name; raises UsageError if there is none."""
        found = self._actions.get(name)
        if found is None:
            hint = did_you_mean(name, self._actions, f"it has: {', '.join(self._actions)}")
            raise UsageError(f"{self.system.name} has no action {name!r}; {hint}")
        return found

    def _start(self, trace: Trace, first: Step) -> Args:
        init = self.system.init
        if first.args and init.params:
            return self.machine.layout.encode_args(init, dict(first.args))
        wanted = {cell.name: value for cell, value in zip(trace.cells, first.values, strict=True)}
        for state, args in self.machine.starts():
            values = self.machine.layout.decode(state)
            if all(wanted.get(name, value) == value for name, value in values.items()):
                return args
        raise UsageError(
            f"no initial state of {self.system.name} in scope {self.machine.scope.name} is the first state of the run; "
            "choose the scope and the variants that it was made with"
        )


def _for_lassos(selection: Selection, system: System, ghosts: frozenset[str]) -> Selection:
    """The properties that can be judged on runs that keep only these ghosts.

    A deadlock can be judged if every @final can be read, because a state that a @final allows is no deadlock.
    """
    readable = tuple(prop for prop in selection.properties if ghosts_read(system, [prop]) <= ghosts)
    deadlock = selection.deadlock and all(prop in readable for prop in selection.of_kind("final"))
    return attrs.evolve(selection, properties=readable, deadlock=deadlock, ghosts=ghosts)


def with_every_ghost(trace: Trace, system: System, scope: Scope) -> Trace:
    """The run as a check of all properties shows it: with the ghosts that any property reads, not only the selected
    ones.

    So a run looks the same when it is replayed from its line, which does not name the selection.
    """
    replayer = Replayer(system, scope, target=trace.target, options=trace.options, seed=trace.seed)
    again = replayer.trace(replayer.script(trace), trace.shown.name)
    assert isinstance(again, Trace), "ghosts decide no step"
    return again


# How a claim is judged at the end of a run ---------------------------------------------------------------------------


@attrs.frozen
class _ClaimTest:
    """A claim, and the test whether the end of a run shows it."""

    claim: Claim

    def shown(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> bool:
        """Whether the end of the run shows the claim."""
        raise NotImplementedError

    def repeated(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> list[Step]:  # noqa: ARG002
        """The repeated step that shows the claim, if the claim needs one."""
        return []

    def located(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> Claim:  # noqa: ARG002
        """The claim with the elements for which it fails."""
        return self.claim


@attrs.frozen
class _PropertyTest(_ClaimTest):
    prop: Property

    def shown(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> bool:
        machine, prop = replayer.machine, self.prop
        if prop.kind == "step":
            if not script.steps:
                return False
            name, args = script.steps[-1]
            return prop.of in (None, name) and not machine.holds_step(prop, states[-2], states[-1], args)
        return machine.holds(prop, states[-1]) == (prop.kind == "witness")

    def located(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> Claim:
        if self.prop.kind == "witness":
            return self.claim
        before = states[max(len(states) - 2, 0)]
        args = script.steps[-1][1] if script.steps else ()
        where = where_it_fails(replayer.machine, self.prop, before, states[-1], args)
        return attrs.evolve(self.claim, where=where)


@attrs.frozen
class _RepetitionTest(_ClaimTest):
    action: Action

    def shown(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> bool:
        # A step that changed nothing changes nothing when repeated.
        if not script.steps or script.steps[-1][0] != self.action.name or states[-2] == states[-1]:
            return False
        return repeat_differs(replayer.machine, states[-1], replayer.machine.step(states[-1], *script.steps[-1]))

    def repeated(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> list[Step]:
        return [repetition(replayer.machine, replayer.origin, states[-1], *script.steps[-1])]


@attrs.frozen
class _LivenessTest(_ClaimTest):
    prop: Property

    def shown(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> bool:
        return self._args(replayer, states, script) is not None

    def located(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> Claim:
        args = self._args(replayer, states, script)
        assert args is not None, "it was shown before"
        values = (
            replayer.machine.layout.decode_value(param.type, code)
            for param, code in zip(self.prop.params, args, strict=True)
        )
        return attrs.evolve(self.claim, where=tuple(zip((p.name for p in self.prop.params), values, strict=True)))

    def _args(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> Args | None:
        """The least arguments for which the lasso violates it."""
        if script.loop is None:
            return None
        return replayer.lassos.violated(self.prop, states, script.steps, script.loop)


@attrs.frozen
class _DeadlockTest(_ClaimTest):
    finals: tuple[Property, ...]

    def shown(self, replayer: Replayer, states: Sequence[bytes], script: Script) -> bool:  # noqa: ARG002
        """Whether no step is possible, no bound cuts one, and no @final allows the state."""
        machine, cuts = replayer.machine, replayer.machine.statistics.cut_counts
        # Enumerating successors counts the cuts: an equal sum afterwards means that no step was cut.
        before = sum(cuts)
        stuck = not any(successors(states[-1]) for successors in machine.successors)
        return stuck and sum(cuts) == before and not any(machine.holds(prop, states[-1]) for prop in self.finals)
