"""TLC as a second opinion: an independent checker searches the same scope.

The model becomes a TLA+ module, and TLC searches it with one worker and without symmetry. Both checkers must give the
same verdict. If nothing is violated, they must agree on the number of states and the depth; otherwise on the length of
the run. TLC's run is then replayed on the model, step by step, and must violate there what TLC says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated

import attrs

from holdfast.check.budget import Budget
from holdfast.check.json_values import written_by
from holdfast.check.search.engine import search
from holdfast.check.tlc.answer import REPORT, TlcAnswer, TlcError, answer_of
from holdfast.check.tlc.process import NoAnswerError, TlcOutput, Tools, run_tlc
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.tla.files import Specification
from holdfast.runs.matching import fit
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.foreign import ForeignRun
from holdfast.trace.line import replay_command
from holdfast.trace.trace import Trace

REPLAY = written_by(replay_command, "replay")
"""The mark of a run of which JSON has only the command that repeats it."""


@attrs.frozen
class CheckerAnswer:
    """The answer of one checker.

    An exhausted search has ``states`` and ``depth`` in steps. A violation has ``property``, and ``steps``: the length
    of the run.
    """

    verdict: str
    states: int | None = None
    depth: int | None = None
    property: str | None = None
    steps: int | None = None

    def __str__(self) -> str:
        """The answer in words."""
        if self.states is not None:
            return f"{self.verdict}, {self.states:,} states, depth {self.depth}"
        return f"{self.verdict} after {self.steps} {'step' if self.steps == 1 else 'steps'}: {self.property}"


@attrs.frozen
class Refinement:
    """Whether TLC finds that the model implements a module written by hand; if not, ``run`` is the counterexample."""

    name: str
    holds: bool
    run: Annotated[Trace | None, REPLAY] = None


@attrs.frozen
class Agreement:
    """The answers of both checkers, and their ``differences``, empty if they agree. ``run`` is TLC's counterexample."""

    model: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    ours: CheckerAnswer
    theirs: CheckerAnswer
    differences: tuple[str, ...]
    run: Trace | None = None

    @property
    def agrees(self) -> bool:
        """Whether both checkers agree."""
        return not self.differences


class SecondOpinion:
    """TLC on one system in one scope.

    - ``target``: what the command line calls the model.
    - ``seconds``: time limit of each run.
    - ``modules``: texts, by name, of modules written by hand: abstract modules, and modules that state which abstract
      module the model implements.
    - ``change``: alters the generated files, so that a test can plant a fault.

    Raises UsageError if a module written by hand has the name of a generated file.
    """

    def __init__(
        self,
        system: System,
        scope: Scope,
        tools: Tools,
        *,
        target: str,
        seconds: float,
        modules: Mapping[str, str] | None = None,
        change: Callable[[dict[str, str]], dict[str, str]] = dict,
    ) -> None:
        self.system = system
        self.scope = scope
        self.tools = tools
        self.target = target
        self.seconds = seconds
        self.specification = Specification.of(system, scope, target)
        by_hand = modules or {}
        # Some file systems ignore the case of names.
        generated = {file.casefold() for file in self.specification.files}
        for name in by_hand:
            if f"{name}.tla".casefold() in generated:
                raise UsageError(
                    f"{target}: its module {name}.tla is written by hand too; rename the file of the model"
                )
        self.files = {f"{name}.tla": text for name, text in by_hand.items()} | change(dict(self.specification.files))
        self.implementing = self.specification.implementing(by_hand)
        """The modules written by hand that state what the model implements, by name."""
        self.files |= self.specification.implementations(self.implementing)

    def compared(self, asked: Callable[[], TlcAnswer] | None = None) -> Agreement:
        """Search with both checkers, and compare. If TLC was started earlier, ``asked`` waits for its answer.

        Raises NoAnswerError if one of them does not finish in time, TlcError if TLC cannot check the module, and
        ModelError if the scope contradicts the model.
        """
        ours, evaluated = self.searched()
        found = (self.ask if asked is None else asked)()
        theirs = self.side(found)
        run, problem = self.taken_again(found)
        problems = [*differences(ours, theirs), *self.unasked(evaluated), *([] if problem is None else [problem])]
        chosen, removed = self.system.chosen, self.system.removed
        return Agreement(self.target, self.scope.name, chosen, removed, ours, theirs, tuple(problems), run)

    def ask(self) -> TlcAnswer:
        """Run TLC on the scope and return its answer."""
        name = self.specification.scope.name
        return answer_of(self.run(name, f"{name}.cfg"))

    def implemented(self, name: str) -> Refinement:
        """Whether the model implements what this module, written by hand, states. Other violations do not count."""
        found = answer_of(self.run(name, f"{name}.cfg"))
        return Refinement(name, found.verdict == "exhausted", None if found.run is None else self.replayed(found.run))

    # The search -----------------------------------------------------------------------------------------------

    def searched(self) -> tuple[CheckerAnswer, tuple[str, ...]]:
        """Search with our own engine. Returns its answer and the names of the properties that it evaluated.

        It keeps the ghosts that the module has, since they add to the number of states.
        """
        ghosts = self.specification.signature.ghosts
        result = search(
            self.system,
            self.scope,
            symmetry=False,
            budget=Budget(seconds=self.seconds),
            target=self.target,
            interpreter=partial(_with_ghosts, ghosts),
            whole=True,
        )
        if result.verdict == "out_of_budget":
            raise NoAnswerError(
                f"the search ended early ({result.ended_by}); give it longer with --limit, or choose a smaller scope"
            )
        evaluated = tuple(name for name, _ in result.figures.evaluated)
        if not result.findings:
            return CheckerAnswer(result.verdict, result.figures.distinct, result.figures.depth), evaluated
        first = result.findings[0]
        return CheckerAnswer("violated", property=first.shown.name, steps=first.length), evaluated

    # TLC ------------------------------------------------------------------------------------------------------

    def run(self, module: str, configuration: str, files: Mapping[str, str] | None = None) -> TlcOutput:
        """Let TLC check a module under a configuration. Both are names of ``files``; None: the files of this scope."""
        wanted = self.files if files is None else files
        return run_tlc(self.tools, wanted, module, configuration, seconds=self.seconds)

    def unasked(self, properties: Iterable[str]) -> list[str]:
        """A problem for each of these properties that the configuration does not ask TLC about."""
        scope = self.specification.scope
        text = self.files[f"{scope.name}.cfg"]
        listed = text.partition("\nINVARIANTS\n")[2].split()
        asked = {name for operator, name in scope.checked.invariants.items() if operator in listed}
        asked |= set(scope.checked.breaks.values()) if scope.unbroken in listed else set()
        return [f"{name}: TLC is not asked about it" for name in properties if name not in asked]

    def side(self, found: TlcAnswer) -> CheckerAnswer:
        """TLC's answer with the names of the model."""
        if found.verdict == "exhausted":
            return CheckerAnswer("exhausted", found.distinct, found.depth)
        return CheckerAnswer("violated", property=self.violated(found), steps=found.steps)

    def violated(self, found: TlcAnswer) -> str:
        """The model's name of the property that TLC found violated.

        Step properties are checked by a variable that names the first broken one; its last value tells which.
        """
        checked = self.specification.scope.checked
        if found.run is not None and checked.broken is not None:
            said = found.run.states[-1].values.get(checked.broken)
            if isinstance(said, str) and said in checked.breaks:
                return checked.breaks[said]
        return checked.invariants.get(found.name, found.name)

    def taken_again(self, found: TlcAnswer) -> tuple[Trace | None, str | None]:
        """TLC's run replayed on the model, and a problem if it does not violate there what TLC says."""
        if found.verdict == "exhausted":
            return None, None
        name = self.violated(found)
        if found.run is None:
            return None, self.at_once(name)
        try:
            replayer, script = self.fitted(found.run)
        except UsageError as error:
            return None, f"the model cannot take TLC's run: {error}"
        claim = name if name in replayer.claim_names else None
        trace = replayer.trace(script if claim is None else _with_culprit(replayer, script, claim), claim)
        assert isinstance(trace, Trace), "every step was found to be possible"
        return trace, None if trace.claim is not None else f"TLC's run does not violate {name} in the model"

    def at_once(self, name: str) -> str | None:
        """The problem if TLC shows no run, as for an invariant over constants, and no initial state violates it."""
        replayer = Replayer(self.system, self.scope, target=self.target, options=None)
        starts = (Script(args, ()) for _, args in replayer.machine.starts())
        if name in replayer.claim_names and any(replayer.shows(start, name) for start in starts):
            return None
        return f"TLC shows no run, and no initial state of the model violates {name}"

    def replayed(self, run: ForeignRun) -> Trace:
        """A run of TLC as a trace of the model. Raises TlcError if the model has no such run."""
        try:
            replayer, script = self.fitted(run)
        except UsageError as error:
            raise TlcError(f"the model cannot take TLC's run: {error}; {REPORT}") from None
        trace = replayer.trace(script, None)
        assert isinstance(trace, Trace), "every step was found to be possible"
        return attrs.evolve(trace, loop=run.loop)

    def fitted(self, run: ForeignRun) -> tuple[Replayer, Script]:
        """The actions and arguments of a run of TLC. Raises UsageError if the model has no such run."""
        replayer = Replayer(self.system, self.scope, target=self.target, options=None)
        operators = self.specification.signature.actions
        actions = {operator: name for name, operator in operators.items()} | self.specification.scope.checked.actions
        fields = {name: var for var, name in self.specification.signature.shared.variables.items()}
        states = tuple(
            attrs.evolve(
                state,
                values={fields.get(name, name): value for name, value in state.values.items()},
                # The module of debts names its own next-state relation, which is no action of the model: None then.
                action=None if state.action is None else actions.get(state.action),
            )
            for state in run.states
        )
        return replayer, fit(replayer, attrs.evolve(run, states=states))


def _with_culprit(replayer: Replayer, script: Script, claim: str) -> Script:
    """The run with a last step that shows the claim. TLC names the action of a step but not its arguments, so several
    last steps may lead to the same state, and not all of them violate a step property.
    """
    states = replayer.states(script)
    if replayer.shows(script, claim) or isinstance(states, StoppedScript) or not script.steps:
        return script
    action = script.steps[-1][0]
    successors = replayer.machine.successors[[each.name for each in replayer.system.actions].index(action)]
    last = sorted(args for state, args in successors(states[-2]) if state == states[-1])
    runs = (attrs.evolve(script, steps=(*script.steps[:-1], (action, args))) for args in last)
    return next((run for run in runs if replayer.shows(run, claim)), script)


def differences(ours: CheckerAnswer, theirs: CheckerAnswer) -> list[str]:
    """The differences between two answers.

    The properties may differ: if runs of the same length violate several, each checker may name another.
    """
    compared = [
        ("verdict", ours.verdict, theirs.verdict),
        ("states", ours.states, theirs.states),
        ("depth", ours.depth, theirs.depth),
        ("steps", ours.steps, theirs.steps),
    ]
    if ours.verdict != theirs.verdict:
        return [f"search: {ours}; TLC: {theirs}"]
    return [f"{name}: search {mine}, TLC {other}" for name, mine, other in compared if mine != other]


def _with_ghosts(wanted: frozenset[str], *arguments: object, **options: object) -> Interpreter:
    """An interpreter that keeps the ghosts ``wanted``, whatever the options say."""
    return Interpreter(*arguments, **(options | {"ghosts": wanted}))  # type: ignore[arg-type]
