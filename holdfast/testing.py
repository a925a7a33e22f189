"""Hypothesis drives a model: one rule for each action, and all properties checked after every step.

    from holdfast.testing import state_machine
    from models.ownership import Ownership

    TestOwnership = state_machine(Ownership, scope="tiny").TestCase

A run that violates something is shrunk by Hypothesis, and then further as ``holdfast shrink`` does it. It is printed as
a program, a line for each step; the message has the line that takes it again with ``holdfast replay``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from holdfast.ir.system import Action
from holdfast.ir.variants import compile_variant
from holdfast.lower.layout import Value
from holdfast.lower.python.interpreter import Args
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.selection import select
from holdfast.runs.shrink import shrink
from holdfast.runs.starts import initial_states
from holdfast.trace.line import replay_command
from holdfast.trace.text import conclusion
from holdfast.trace.trace import Claim, Trace

Machine = type["ModelMachine"]
Call = tuple[str, Args]


PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
"""All but the explanation, which would name lines of the engine, and takes far longer than all else together."""


def register_profiles() -> None:
    """The profiles ``dev``, ``ci`` (no seed of the day, no saved examples) and ``nightly`` (many more examples).

    Under ``ci`` the examples are the same wherever the same modules are loaded: Hypothesis also draws numbers and
    strings that it reads in them.
    """
    settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
    settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
    settings.register_profile("dev", deadline=None)


def run(machine: Machine) -> None:
    """Drive a machine under the settings of the profile in force; raises what a violation raises."""
    try:
        run_state_machine_as_test(machine, settings=machine.TestCase.settings)
    except ViolatedError as error:
        machine._shorten(error)
        raise


class ViolatedError(AssertionError):
    """A run violates a property. Each property has a class of its own, so that none is shrunk into another.

    ``script``: the run. ``claim``: the name of the property.
    """

    def __init__(self, message: str, script: Script, claim: str) -> None:
        super().__init__(message)
        self.script, self.claim = script, claim


def state_machine(
    model: type,
    scope: str = "tiny",
    *,
    variants: Sequence[str] = (),
    removed: Sequence[str] = (),
    properties: Sequence[str] | None = None,
    target: str | None = None,
) -> Machine:
    """A RuleBasedStateMachine that takes the steps of a model in a scope.

    ``variants`` are chosen and ``removed`` rules taken away, as on the command line; ``properties`` are names or rule
    ids, by default all that one state or step can violate. ``target`` is what the command line calls the model, for
    the line that repeats a run. Raises UsageError and ModelError as a check does.
    """
    system = compile_variant(model, variants, removed)
    replayer = Replayer(system, system.scope(scope), target=target, options=None)
    initial_states(replayer.machine, replayer.selection)
    body: dict[str, Any] = {
        "__doc__": f"Steps of {system.name} in scope {scope}.",
        "_replayer": replayer,
        "_claims": _claims(replayer, properties),
        "_errors": {name: type(name, (ViolatedError,), {}) for name in replayer.claim_names},
    }
    for index, action in enumerate(system.actions):
        body[_own(action.name)] = _rule(index, action)
    if system.init.params:
        body["init"] = _start(system.init)
    machine: Machine = type(system.name, (ModelMachine,), body)
    machine.TestCase.settings = settings(machine.TestCase.settings, phases=PHASES, report_multiple_bugs=False)
    machine.TestCase.runTest = _test_of(machine)  # type: ignore[method-assign]
    return machine


def _test_of(machine: Machine) -> Any:
    """The test of a machine for unittest and pytest."""

    def run_test(self: Any) -> None:  # noqa: ARG001 - a method of Hypothesis's test case
        run(machine)

    run_test.is_hypothesis_test = True  # type: ignore[attr-defined]
    return run_test


def _claims(replayer: Replayer, properties: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the claims to check: those that a violation shows, in the order in which engines report them."""
    wanted = select(replayer.system, properties)
    asked = {prop.name for prop in wanted.properties} | {action.idempotent for action in wanted.idempotent}
    claims = (replayer.claim(name) for name in replayer.claim_names)
    return tuple(claim.name for claim in claims if claim.kind != "witness" and _is_asked(claim, asked, wanted.deadlock))


def _is_asked(claim: Claim, asked: set[str | None], deadlock: bool) -> bool:
    if claim.kind == "deadlock":
        return deadlock
    return claim.name in asked or (claim.kind == "idempotent" and claim.ids[0] in asked)


def _own(name: str) -> str:
    """A name that Hypothesis does not use itself."""
    return f"{name}_" if hasattr(RuleBasedStateMachine, name) or name == "init" else name


# Rules -------------------------------------------------------------------------------------------------------------


def _rule(index: int, action: Action) -> Any:
    """The rule of an action: possible where one of its steps is."""

    def take(self: ModelMachine, **values: Value) -> None:
        self._take(index, values)

    take.__name__ = take.__qualname__ = _own(action.name)
    take.__doc__ = action.doc
    decorated = precondition(lambda self: bool(self._choices()[index]))(take)
    return _given(rule, action, index)(decorated)


def _start(init: Action) -> Any:
    """The rule of an initial condition with parameters."""

    def begin(self: ModelMachine, **values: Value) -> None:
        self._begin(values)

    begin.__name__ = begin.__qualname__ = "init"
    return _given(initialize, init, None)(begin)


def _given(decorator: Any, action: Action, index: int | None) -> Any:
    """Hypothesis's decorator with values for each parameter: those by which, with others drawn before, the step stays
    possible.
    """

    def values(place: int) -> st.SearchStrategy[Value]:
        def offered(machine: ModelMachine) -> st.SearchStrategy[Value]:
            # A filter keeps what was drawn the same value while other steps are shrunk away.
            possible = machine._offer(index, place)
            domain = st.sampled_from(machine._domain(action, place)).filter(lambda value: value in possible)
            # To map would not do: what a filter tries, and drops, is mapped too.
            return domain.flatmap(lambda drawn: st.just(machine._draw(action, place, drawn)))

        return st.runner().flatmap(offered)

    return decorator(**{_keyword(param.name): values(place) for place, param in enumerate(action.params)})


def _keyword(name: str) -> str:
    """A parameter's name as Hypothesis takes it: these two mean something to it."""
    return f"{name}_" if name in ("target", "targets") else name


# The machine -------------------------------------------------------------------------------------------------------


class ModelMachine(RuleBasedStateMachine):
    """One run of a model. Rules are the model's actions, by their names and parameters; see ``state_machine``."""

    _replayer: ClassVar[Replayer]
    _claims: ClassVar[tuple[str, ...]]
    _errors: ClassVar[dict[str, type[ViolatedError]]]

    def __init__(self) -> None:
        super().__init__()
        self._start: Args = ()
        self._steps: list[Call] = []
        self._state: bytes | None = None
        self._known: list[list[Args]] | None = None
        self._starts = [args for _, args in self._replayer.machine.starts()]
        self._drawn: dict[int, int] = {}
        self._drawing: tuple[int | None, int] = (None, 0)
        if not self._replayer.system.init.params:
            self._begin({})

    def _begin(self, values: dict[str, Value]) -> None:
        self._start = self._coded(self._replayer.system.init, values)
        states = self._replayer.states(Script(self._start, ()))
        assert isinstance(states, tuple), "the arguments are those of an initial state"
        self._state = states[0]
        self._judge(states, Script(self._start, ()))

    def _take(self, index: int, values: dict[str, Value]) -> None:
        action, before = self._replayer.system.actions[index], self._state
        assert before is not None, "a run has started"
        args = self._coded(action, values)
        new = next(state for state, found in self._replayer.machine.successors[index](before) if found == args)
        self._state, self._known = new, None
        self._steps.append((action.name, args))
        self._judge((before, new), Script(self._start, ((action.name, args),)))

    def _coded(self, action: Action, values: dict[str, Value]) -> Args:
        named = {param.name: values[_keyword(param.name)] for param in action.params}
        return self._replayer.machine.layout.encode_args(action, named)

    @precondition(lambda self: self._state is not None and not any(self._choices()))
    @rule()
    def nothing_is_possible(self) -> None:
        """A run may end; Hypothesis wants a rule for it."""

    # Choices --------------------------------------------------------------------------------------------------------

    def _choices(self) -> list[list[Args]]:
        """For each action the arguments of its steps that change something, or violate something all the same."""
        if self._known is None:
            state, machine = self._state, self._replayer.machine
            assert state is not None, "a run has started"
            self._known = [
                [args for new, args in successors(state) if new != state or judge(new, state, args) >= 0]
                for successors, judge in zip(machine.successors, machine.steps, strict=True)
            ]
        return self._known

    def _offer(self, index: int | None, place: int) -> list[Value]:
        """The values of a parameter that go with those drawn before it, of this step."""
        step = (index, len(self._steps))
        if self._drawing != step or place in self._drawn:
            self._drawing, self._drawn = step, {}
        choices = self._starts if index is None else self._choices()[index]
        left = [args for args in choices if all(args[at] == code for at, code in self._drawn.items())]
        codes = {args[place] for args in left}
        action = self._replayer.system.init if index is None else self._replayer.system.actions[index]
        return [value for code, value in enumerate(self._domain(action, place)) if code in codes]

    def _domain(self, action: Action, place: int) -> list[Value]:
        """All values of a parameter."""
        layout, kind = self._replayer.machine.layout, action.params[place].type
        return [layout.decode_value(kind, code) for code in range(layout.codes(kind))]

    def _draw(self, action: Action, place: int, value: Value) -> Value:
        """Note what was drawn."""
        self._drawn[place] = self._replayer.machine.layout.encode_value(action.params[place].type, value)
        return value

    # Properties -----------------------------------------------------------------------------------------------------

    def _judge(self, states: Sequence[bytes], script: Script) -> None:
        """Raise the error of the first property that the last state or step violates."""
        for name in self._claims:
            if self._replayer.ends(name, states, script):
                made = Script(self._start, tuple(self._steps))
                trace = self._replayer.trace(made, name)
                assert isinstance(trace, Trace), "the run was just made"
                raise self._errors[name](self._message(trace), made, name)

    @classmethod
    def _shorten(cls, error: ViolatedError) -> None:
        """Put a shorter run in the place of the error's, if there is one.

        Hypothesis drops and lessens steps. It does not see that one process can do what two do.
        """
        found = shrink(cls._replayer, error.script, error.claim)
        notes, program = list(getattr(error, "__notes__", ())), cls._program(error.script)
        if not found.removed or notes[1 : 1 + len(program)] != program:
            return
        error.__notes__ = [notes[0], *cls._program(found.script), *notes[1 + len(program) :]]
        error.args = (cls._message(found.trace),)
        error.script = found.script

    @classmethod
    def _program(cls, script: Script) -> list[str]:
        """A run as Hypothesis prints it."""
        system, layout = cls._replayer.system, cls._replayer.machine.layout
        actions = {action.name: action for action in system.actions}
        calls = [(_own(name), actions[name], args) for name, args in script.steps]
        if system.init.params:
            calls.insert(0, ("init", system.init, script.start))
        lines = [f"state = {cls.__name__}()"]
        for name, action, args in calls:
            values = {
                _keyword(param.name): layout.decode_value(param.type, code)
                for param, code in zip(action.params, args, strict=True)
            }
            lines.append(f"state.{name}({', '.join(f'{key}={value!r}' for key, value in sorted(values.items()))})")
        return lines

    @staticmethod
    def _message(trace: Trace) -> str:
        said = f"{conclusion(trace.shown)} {trace.shown.sentence}".strip()
        return f"{said}\nreplay: {replay_command(trace)}"
