"""A scenario file of a model's run: the requests of the run, each with the answer of the model that has all its rules.

The file follows the run in the model with all rules and without variants. Where that model refuses a request, the file
expects the refusal, and goes on in the state that has not changed. So the file passes on the implementation, and fails
where the implementation lacks the rule.

A missing rule may be one of brokers and not of the controller. Then the model with all rules does not send some request
of the run at all. In this case the file follows the model without that rule, but with all rules of the controller.

A variant may be another way to run the protocol, such as G1, and lack no rule. The file follows the model with it, and
states the profile of the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs
from msgspec.structs import replace

from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Refused
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.loading import open_trace
from holdfast.runs.replay import Script
from holdfast.trace.line import to_line
from holdfast.trace.trace import Trace
from impl.bridge import route_epochs
from impl.bridge.missing_rules import FOLLOWED, labels_of, own_rules
from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.bridge.pairings import PAIRINGS
from impl.bridge.route_epochs import RouteEpochRun
from impl.bridge.statement import Statement, document, setup_statements, taken
from impl.controller.view import Profile
from impl.errors import E

CLOSING = "What shows the rest of the state:"
"""The remark above the steps that follow a run."""


class _UnsentError(Exception):
    """A rule of brokers keeps a request of the run from being sent."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


@attrs.frozen
class CounterexampleFile:
    """The file of a run.

    ``own``: the rules of the controller that the run lacks, by their names in the implementation. ``foreign``: the
    rules and variants of the run that are not the controller's. ``skipped``: the steps that are no operation.
    ``search``: the command that finds other runs of the same system, without its last word, the name of a property.
    """

    text: str
    own: tuple[str, ...]
    foreign: tuple[str, ...]
    skipped: tuple[str, ...]
    search: str


def scenario_of(line: str, model: str | None = None) -> CounterexampleFile:
    """The scenario file of a replay line, or of a file with a run. ``model``: its model, as ``open_trace`` takes it.

    Raises UsageError for what is neither, and if no pairing maps its model to a controller; ImpossibleError if the
    model has changed and no longer allows the run; DisagreementError if the controller does not do as the model does.
    """
    loaded = open_trace(line, model=model)
    trace, replayer = loaded.trace, loaded.replayer
    if replayer is None:
        problem = loaded.changed or "the file does not say which model it is of"
        raise UsageError(f"{trace.target}: {problem}; name the model with --model")
    if trace.target not in (*PAIRINGS, route_epochs.MODEL):
        known = ", ".join(sorted({each.name for each in PAIRINGS.values()} | {route_epochs.MODEL}))
        raise UsageError(f"{trace.target}: no pairing runs this model beside the controller; name one of {known}")
    followed = [name for name in trace.variants if name in FOLLOWED]
    system = load_variant(trace.target, followed)
    own = own_rules(trace.removed, trace.variants)
    foreign = tuple(name for name in trace.removed if not own_rules((name,), ()))
    foreign += tuple(name for name in trace.variants if name not in followed and not own_rules((), (name,)))
    script = replayer.script(trace)
    if trace.target == route_epochs.MODEL:
        text, skipped = _of_route_epochs(Interpreter(system, system.scope(trace.scope), properties=()), trace, script)
        return CounterexampleFile(text, own, foreign, skipped, _search(trace))
    try:
        text, skipped = _followed(_pairing(trace, system), trace, script, refusals=not own)
    except _UnsentError as unsent:
        foreign = tuple(dict.fromkeys((*foreign, unsent.rule)))
        own = tuple(name for name in own if name not in labels_of(unsent.rule))
        # The rules of the controller stay: the file expects their answers.
        system = load_variant(
            trace.target,
            [name for name in trace.variants if name in (*foreign, *followed)],
            [name for name in trace.removed if name in foreign],
        )
        text, skipped = _followed(_pairing(trace, system), trace, script, refusals=not own, sends_all=True)
    return CounterexampleFile(text, own, foreign, skipped, _search(trace))


def _search(trace: Trace) -> str:
    """The command that searches the system of a run for a violated property, whose name is to follow."""
    options = [f"--variant {name}" for name in trace.variants] + [f"--without {name}" for name in trace.removed]
    return " ".join(["holdfast check", trace.target, f"--scope {trace.scope}", *options, "--property"])


def _pairing(trace: Trace, system: System) -> Pairing:
    """The pairing of a system in the scope of a run; its profile is that of the variants that the file follows."""
    pairing = PAIRINGS[trace.target](system, system.scope(trace.scope))
    for variant in system.chosen:
        pairing.profile = replace(pairing.profile, **FOLLOWED.get(variant, {}))
    return pairing


def _followed(
    pairing: Pairing, trace: Trace, script: Script, *, refusals: bool, sends_all: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The text of the file, and the steps that are no operation.

    ``refusals``: whether to end with the requests that the model refuses. ``sends_all``: whether the pairing lacks the
    rules of brokers that the run lacks. Otherwise such a rule may keep a request from being sent: _UnsentError.
    """
    machine = pairing.machine
    start = machine.attempt(machine.layout.blank(), machine.system.init.name, script.start)
    assert start is not None, "the rules of the start are the same"
    run = PairedRun(pairing, start)

    def made(action: str, args: Mapping[str, Value]) -> list[Statement]:
        call = _call(pairing, action, args)
        return [] if call is None else _made(run, call, trace, sends_all=sends_all)

    steps, skipped = _remarked(trace, made)
    steps = [*setup_statements(pairing, run), *steps, *_repeated(run, steps), *_end(run, refusals=refusals)]
    return _text(trace, pairing.profile, steps), skipped


def _of_route_epochs(machine: Interpreter, trace: Trace, script: Script) -> tuple[str, tuple[str, ...]]:
    """The text of the file of a run of route_epoch, and the steps that are no operation."""
    start = machine.attempt(machine.layout.blank(), machine.system.init.name, script.start)
    assert start is not None, "the rules of the start are the same"
    run = RouteEpochRun(machine, start)
    setup = run.setup()
    steps, skipped = _remarked(trace, run.take)
    first, *others = run.closing()
    closing = [attrs.evolve(first, remark=(CLOSING,)), *others]
    return _text(trace, Profile(), [*setup, *steps, *closing]), skipped


def _remarked(
    trace: Trace, made: Callable[[str, Mapping[str, Value]], list[Statement]]
) -> tuple[list[Statement], tuple[str, ...]]:
    """The steps of a file for a run, with the run's steps as remarks, and those of them that are no operation."""
    steps, skipped = [], []
    for place, step in enumerate(trace.steps[1:], 1):
        if step.repeat:
            continue
        said = f"{place}. {step.action}({', '.join(f'{name}={value}' for name, value in step.args)})"
        found = made(step.action, dict(step.args))
        if found:
            steps += [attrs.evolve(found[0], remark=(said,)), *found[1:]]
        else:
            skipped.append(said)
            steps.append(Statement(None, remark=(f"{said}: no operation",)))
    return steps, tuple(skipped)


def _text(trace: Trace, profile: Profile, steps: Iterable[Statement]) -> str:
    claim = "no property" if trace.claim is None else trace.claim.title
    remark = (f"Made by `holdfast scenario from-trace` of a run to {claim}:", f"  {to_line(trace)}")
    return document(f"{trace.target}: a run to {claim}", profile, steps, remark)


def _call(pairing: Pairing, action: str, args: Mapping[str, Value]) -> PairedCall | None:
    """The call of a step, without what the controller decides; None if the model with all rules has no such action."""
    if action not in pairing.actions:
        return None
    theirs = pairing.decided.get(action, ())
    return PairedCall(action, tuple(value for name, value in args.items() if name not in theirs))


def _made(run: PairedRun, call: PairedCall, trace: Trace, *, sends_all: bool) -> list[Statement]:
    """The steps of a call; none if the model refuses a step of its own. ``sends_all``: as in ``_followed``."""
    pairing = run.pairing
    choice = pairing.choice(run.state, call.action, call.values)
    if choice.kind(run.state) != "none":
        return taken(run, call)
    args = pairing.named(call.action, call.values)
    if not pairing.requests(run.controller.image, call.action, run.cells, args):
        return []
    label = refusing(run, call)
    if label is None or sends_all:
        raise UsageError(f"{call.text(pairing)}: {_too_small(trace, pairing.machine.system)}")
    raise _UnsentError(label)


def _too_small(trace: Trace, system: System) -> str:
    """That a step leaves the scope of a run, and how to follow the run in scope ``large``, if that is another one."""
    left = f"with all its rules, the model leaves scope {trace.scope} in this step of the run; "
    if trace.scope == "large" or "large" not in system.scopes:
        return f"{left}use a run of a larger one"
    lacks = [f"+{name}" for name in trace.variants] + [f"-{name}" for name in trace.removed]
    return f"{left}try scope large: --model '{' '.join([trace.target, 'large', *lacks])}'"


def refusing(run: PairedRun, call: PairedCall) -> str | None:
    """The rule of the model that refuses a call in the present state; None if none does."""
    pairing = run.pairing
    codes = pairing.codes(call.action, call.values)
    outcomes = [pairing.machine.step(run.state, call.action, each) for each in codes]
    return next((outcome.label for outcome in outcomes if isinstance(outcome, Refused)), None)


def _repeated(run: PairedRun, steps: Iterable[Statement]) -> list[Statement]:
    """The close of a stream once more, if the run ends with it: it succeeds again, and writes no records (ST-33)."""
    asked = [(step.request, step.expected) for step in steps if step.request is not None and step.request.answer]
    if not asked or asked[-1][0].op != "close" or asked[-1][1].get("error") != E.NONE.name:
        return []
    again = attrs.evolve(asked[-1][0], again=True)
    result = again.perform(run.session)
    if again.error(result) is not E.NONE or result["records"]:
        said = f"the close once more (ST-33): {result['error']}, records {result['records']}"
        raise DisagreementError(run.pairing, run.start, run.run, said)
    return [Statement(again, {"error": E.NONE.name, "records": []}, remark=("The last request once more (ST-33):",))]


def _end(run: PairedRun, *, refusals: bool) -> list[Statement]:
    """What shows the end of a run: the requests that the model refuses there, and the calls that close a run.

    A run that lacks no rule of the controller ends where something does not go on, or must not.
    """
    steps: list[Statement] = []
    if refusals:
        found: set[tuple[str, str | None]] = set()
        for call in list(run.calls("refusal")):
            kind = (call.action, refusing(run, call))
            steps += [] if kind in found else taken(run, call)
            found.add(kind)
    if steps:
        steps[0] = attrs.evolve(steps[0], remark=("What the model refuses at the end, once for each rule:",))
    closing = [made for call in run.pairing.closing for made in _closing(run, PairedCall(*call))]
    if closing:
        closing[0] = attrs.evolve(closing[0], remark=(CLOSING,))
    return [*steps, *closing]


def _closing(run: PairedRun, call: PairedCall) -> Iterable[Statement]:
    kind = run.pairing.choice(run.state, call.action, call.values).kind(run.state)
    return taken(run, call) if kind != "none" else []
