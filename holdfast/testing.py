"""Hypothesis drives a model: each action is a rule, and all properties are checked after every step.

    from holdfast.testing import state_machine
    from models.ownership import Ownership

    TestOwnership = state_machine(Ownership, scope="tiny").TestCase

Hypothesis shrinks a run that violates a property, and then the algorithm of ``holdfast shrink`` shrinks it further. The
run is printed as a program with one line for each step. The message contains the ``holdfast replay`` command that
repeats the run.
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
"""All phases except ``explain``: it would name lines of the engine, and it takes far longer than all other phases."""


def register_profiles() -> None:
    """Register the profiles ``dev``, ``ci`` (a fixed seed, no saved examples) and ``nightly`` (many more examples).

    Under ``ci`` two processes that have loaded the same modules get the same examples. Other modules change the
    examples, because Hypothesis also draws numbers and strings that it finds in the source of modules.
    """
    settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
    settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
    settings.register_profile("dev", deadline=None)


def run(machine: Machine) -> None:
    """Drive a machine with the settings of its test case. Raises ViolatedError, its run shortened if possible."""
    try:
        run_state_machine_as_test(machine, settings=machine.TestCase.settings)
    except ViolatedError as error:
        machine._shorten(error)
        raise


class ViolatedError(AssertionError):
    """A run violates a property.

    ``script``: the run. ``claim``: the name of the property. Each property has a subclass of its own. Hypothesis tells
    failures apart by their class, so it does not shrink the violation of one property into that of another.
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

    ``variants``: the chosen variants. ``removed``: the labels of removed rules. ``properties``: names or rule ids of
    the properties to check; by default all properties that a state or step can violate. ``target``: the name of the
    model on the command line, for the replay command. Raises UsageError and ModelError as ``holdfast check`` does.
    """
    system = compile_variant(model, variants, removed)
    replayer = Replayer(system, system.scope(scope), target=target, options=None)
    initial_states(replayer.machine, replayer.selection)  # raises ModelError if the scope contradicts the model
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
    """The names of the claims to check, in the order in which engines report them.

    A witness is no claim that a state or step can violate, so it is left out.
    """
    wanted = select(replayer.system, properties)
    asked = {prop.name for prop in wanted.properties} | {action.idempotent for action in wanted.idempotent}
    claims = (replayer.claim(name) for name in replayer.claim_names)
    return tuple(claim.name for claim in claims if claim.kind != "witness" and _is_asked(claim, asked, wanted.deadlock))


def _is_asked(claim: Claim, asked: set[str | None], deadlock: bool) -> bool:
    if claim.kind == "deadlock":
        return deadlock
    return claim.name in asked or (claim.kind == "idempotent" and claim.ids[0] in asked)


def _own(name: str) -> str:
    """The name of an action's rule. It differs from the names that Hypothesis uses, and from ``init``."""
    return f"{name}_" if hasattr(RuleBasedStateMachine, name) or name == "init" else name


# Rules -------------------------------------------------------------------------------------------------------------


def _rule(index: int, action: Action) -> Any:
    """The Hypothesis rule of an action. Its precondition is that ``_choices`` has a step of the action."""

    def take(self: ModelMachine, **values: Value) -> None:
        self._take(index, values)

    take.__name__ = take.__qualname__ = _own(action.name)
    take.__doc__ = action.doc
    decorated = precondition(lambda self: bool(self._choices()[index]))(take)
    return _given(rule, action, index)(decorated)


def _start(init: Action) -> Any:
    """The Hypothesis rule of an initial condition with parameters."""

    def begin(self: ModelMachine, **values: Value) -> None:
        self._begin(values)

    begin.__name__ = begin.__qualname__ = "init"
    return _given(initialize, init, None)(begin)


def _given(decorator: Any, action: Action, index: int | None) -> Any:
    """Hypothesis's decorator with a strategy for each parameter of an action.

    A strategy draws a value with which the step stays possible, given the parameters already drawn. ``index`` is the
    position of the action, or None for the initial condition.
    """

    def values(place: int) -> st.SearchStrategy[Value]:
        def offered(machine: ModelMachine) -> st.SearchStrategy[Value]:
            # Draw from the whole domain and filter: so a drawn index means the same value after Hypothesis has shrunk
            # other steps away, which changes ``possible``.
            possible = machine._offer(index, place)
            domain = st.sampled_from(machine._domain(action, place)).filter(lambda value: value in possible)
            # ``flatmap``, because ``map`` would also call ``_draw`` for values that the filter rejects.
            return domain.flatmap(lambda drawn: st.just(machine._draw(action, place, drawn)))

        return st.runner().flatmap(offered)

    return decorator(**{_keyword(param.name): values(place) for place, param in enumerate(action.params)})


def _keyword(name: str) -> str:
    """A parameter's name as a keyword of Hypothesis. ``target`` and ``targets`` have a meaning there."""
    return f"{name}_" if name in ("target", "targets") else name


# The machine -------------------------------------------------------------------------------------------------------


class ModelMachine(RuleBasedStateMachine):
    """One run of a model. Its rules are the actions of the model, with their parameters; see ``state_machine``."""

    _replayer: ClassVar[Replayer]
    _claims: ClassVar[tuple[str, ...]]
    _errors: ClassVar[dict[str, type[ViolatedError]]]

    def __init__(self) -> None:
        super().__init__()
        self._start: Args = ()
        self._steps: list[Call] = []
        self._state: bytes | None = None
        self._known: list[list[Args]] | None = None  # the result of _choices, until the next step
        self._starts = [args for _, args in self._replayer.machine.starts()]
        # The codes drawn for the step in ``_drawing``, by the position of the parameter.
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
        # The arguments determine the successor: parameters are an action's only nondeterminism.
        new = next(state for state, found in self._replayer.machine.successors[index](before) if found == args)
        self._state, self._known = new, None
        self._steps.append((action.name, args))
        # The claims need only the two states and the last step, so the whole run is not replayed.
        self._judge((before, new), Script(self._start, ((action.name, args),)))

    def _coded(self, action: Action, values: dict[str, Value]) -> Args:
        named = {param.name: values[_keyword(param.name)] for param in action.params}
        return self._replayer.machine.layout.encode_args(action, named)

    @precondition(lambda self: self._state is not None and not any(self._choices()))
    @rule()
    def nothing_is_possible(self) -> None:
        """A run may end. Hypothesis needs a rule that is possible in every state."""

    # Choices --------------------------------------------------------------------------------------------------------

    def _choices(self) -> list[list[Args]]:
        """For each action, the arguments of its enabled steps.

        A step that changes nothing is left out, unless it violates a property.
        """
        if self._known is None:
            state, machine = self._state, self._replayer.machine
            assert state is not None, "a run has started"
            self._known = [
                [args for new, args in successors(state) if new != state or judge(new, state, args) >= 0]
                for successors, judge in zip(machine.successors, machine.steps, strict=True)
            ]
        return self._known

    def _offer(self, index: int | None, place: int) -> list[Value]:
        """The values of a parameter that are possible together with the values already drawn for this step."""
        step = (index, len(self._steps))
        # A parameter that has a value already means that Hypothesis draws the arguments of this step again.
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
        """Remember the value that was drawn for a parameter, and return it."""
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
        """Replace the run of the error by a shorter one, if ``shrink`` finds one.

        Hypothesis drops steps and lowers values. It does not try to let one process do the work of two.
        """
        found = shrink(cls._replayer, error.script, error.claim)
        notes, program = list(getattr(error, "__notes__", ())), cls._program(error.script)
        # The notes are a heading, the program as Hypothesis prints it, and the rest. If they differ, leave them alone.
        if not found.removed or notes[1 : 1 + len(program)] != program:
            return
        error.__notes__ = [notes[0], *cls._program(found.script), *notes[1 + len(program) :]]
        error.args = (cls._message(found.trace),)
        error.script = found.script

    @classmethod
    def _program(cls, script: Script) -> list[str]:
        """The lines of a run, exactly as Hypothesis prints them: with sorted keywords."""
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
