"""Load a run from a replay line or a file, together with its model."""

from __future__ import annotations

from pathlib import Path

import attrs

from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.ir.system import LIVENESS, Action, Property, System
from holdfast.ir.trust import UntrustedModelError, check_bundled
from holdfast.ir.variants import load_variant
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Refused
from holdfast.lower.python.interpreter import Args
from holdfast.runs.matching import NoValueError, choice, first_difference, fit
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.foreign import ForeignRun, ForeignState, argument
from holdfast.trace.line import Call, Line, parse_line
from holdfast.trace.reading import FORMATS, read_file
from holdfast.trace.trace import Claim, Trace

AGAIN = "make the run again"

WHOLE = "give the whole file, as it was written"
"""The remedies for a run of a model that has changed, and for a file that is not as Holdfast writes it."""


class ImpossibleError(HoldfastError):
    """The model has changed, and the run is no longer possible (exit code 20)."""

    exit_code = 20


@attrs.frozen
class LoadedRun:
    """A run with its replayer, which is None for a foreign run.

    ``changed`` is a sentence if the model differs from the one that made the run: its fingerprint is another one, or
    the model is gone. ``asked`` is the property that the line or file names, whether the run shows it or not.
    """

    trace: Trace
    replayer: Replayer | None
    changed: str | None = None
    asked: str | None = None


@attrs.frozen
class RunSource:
    """The model of a line: the target, the scope (None: to be found), the variants, the removed rules."""

    target: str
    scope: str | None = None
    variants: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> RunSource:
        """The source that ``--model`` names, such as ``ownership`` or ``ownership tiny +variant -LABEL``."""
        if is_file(text.partition(":")[0]):
            return cls(text)
        target, *words = text.split() or [""]
        scope = words.pop(0) if words and words[0][0] not in "+-" else None
        for word in words:
            if word[0] not in "+-" or len(word) == 1:
                raise UsageError(f"--model {text!r}: {word!r} is neither +VARIANT nor -LABEL; leave it out")
        variants = tuple(word[1:] for word in words if word[0] == "+")
        return cls(target, scope, variants, tuple(word[1:] for word in words if word[0] == "-"))

    @property
    def is_plain(self) -> bool:
        """Whether it names only a target; then scope, variants and removed rules come from the run."""
        return self == RunSource(self.target)

    def system(self, file: str | None = None) -> System:
        """The compiled model; raises UsageError or ModelError if the model or a rule or variant does not exist.

        ``file``: the file that names the model, or None if the user named it. Raises UntrustedModelError for a file's
        model that does not come along with Holdfast; it is not executed.
        """
        if file is not None:
            check_bundled(self.target, file)
        return load_variant(self.target, self.variants, self.removed)


def open_trace(what: str, *, model: str | None = None, line_from: str | None = None) -> LoadedRun:
    """The run of a replay line, or of a file: ITF, or an output or a dump of TLC.

    ``model`` names the model to replay on, instead of the one that the line or file names, as ``TARGET [SCOPE]
    [+VARIANT…] [-LABEL…]``. ``line_from``: where a line comes from if the user did not write it, such as ``standard
    input``. Without ``model``, a file and such a line may name only a model that comes along with Holdfast: no other
    one is executed.

    Raises UsageError if ``what`` is neither a line nor a file, or does not fit the model, or may not name its model;
    raises ImpossibleError if the model has changed and no longer allows the run.
    """
    if not what.strip():
        raise UsageError("there is neither line nor file in an empty argument; give one of them")
    wanted = None if model is None else RunSource.parse(model)
    if not is_file(what) and (len(what.split()) > 1 or what != what.strip()):
        return _open_line(parse_line(what), wanted, line_from)
    if not is_file(what):
        raise UsageError(f"there is no file {what!r}; {FORMATS}, which is put in single quotes")
    return _open_file(Path(what), wanted)


def is_file(what: str) -> bool:
    """Whether something of that name exists, even if it cannot be read as a file."""
    try:
        return Path(what).exists()
    except (OSError, ValueError):
        # A long line, or one with a zero byte, is no name of a file.
        return False


# Files -----------------------------------------------------------------------------------------------------------


def _open_file(path: Path, wanted: RunSource | None) -> LoadedRun:
    found = read_file(path)
    if isinstance(found, Line):
        return _open_line(found, wanted, str(path))
    said = _said(found)
    if said is not None:
        return _open_own(found, said, wanted)
    if wanted is None:
        return LoadedRun(found.trace(), None)
    replayer, script = _fitted(found, wanted)
    trace = replayer.trace(script, _claim_on(replayer, found, script))
    assert not isinstance(trace, StoppedScript), "every step was found to be possible"
    return LoadedRun(trace, replayer)


def _fitted(run: ForeignRun, wanted: RunSource) -> tuple[Replayer, Script]:
    """A replayer and the script of the run, in the named scope, or else in the first scope that the run fits."""
    system = wanted.system()
    names = [wanted.scope] if wanted.scope is not None else list(system.scopes)
    problem = UsageError(f"{system.name} declares no scope; add tiny = Scope({{...}}) to the class")
    for name in names:
        try:
            owed = None if run.loop is None else tuple(system.of_kind(*LIVENESS))
            replayer = Replayer(system, system.scope(name), target=wanted.target, options=None, liveness=owed)
            return replayer, fit(replayer, run)
        except UsageError as error:
            # The first scope is usually the intended one, so its problem is reported.
            problem = error if name == names[0] else problem
    raise problem


def _claim_on(replayer: Replayer, run: ForeignRun, script: Script) -> str | None:
    """The claim that the run shows on the model: the one that the file names, or else the first violated property."""
    if run.claim is not None:
        for name in replayer.claim_names:
            if _names(run.claim, replayer.claim(name)) and replayer.shows(script, name):
                return name
    return replayer.violated(script)


def _names(said: Claim, known: Claim) -> bool:
    """Whether another tool's file means this claim. Deadlocks agree by kind, properties by the letters of the name."""
    if "deadlock" in (said.kind, known.kind):
        return said.kind == known.kind
    return known.name.removeprefix("@").replace("_", "") == said.name.replace("_", "").lower()


# Files of Holdfast itself ----------------------------------------------------------------------------------------


@attrs.frozen
class RunHeader:
    """The ``#meta`` of an ITF file that Holdfast wrote."""

    source: RunSource
    fingerprint: str
    claim: str | None
    options: tuple[str, ...] | None
    seed: int | None


def _said(run: ForeignRun) -> RunHeader | None:
    """The header of a file that Holdfast wrote; None for a file of another tool."""
    meta = run.heading.get("#meta", {})
    fingerprint, source, scope = (meta.get(name) for name in ("fingerprint", "source", "scope"))
    if not (isinstance(fingerprint, str) and isinstance(source, str) and isinstance(scope, str)):
        return None
    variants, removed, options = (_texts(run, name) for name in ("variants", "without", "options"))
    claim, seed = meta.get("claim"), meta.get("seed")
    return RunHeader(
        RunSource(source, scope, variants or (), removed or ()),
        fingerprint,
        claim if isinstance(claim, str) else None,
        options,
        seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
    )


def _texts(run: ForeignRun, name: str) -> tuple[str, ...] | None:
    found = run.heading["#meta"].get(name)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UsageError(f"{run.path}: #meta: {name} is no list of texts; mend it, or name the model with --model")
    return tuple(found)


def _open_own(run: ForeignRun, said: RunHeader, wanted: RunSource | None) -> LoadedRun:
    source = _instead(said.source, wanted)
    if not source.scope and not said.source.scope:
        # A proof writes such a run: its sizes are those of no scope, so no scope of the model can replay it.
        return LoadedRun(run.trace(), None, "the run is in no scope of its model; the file alone is shown")
    try:
        system = source.system(str(run.path) if wanted is None else None)
        scope = system.scope(source.scope or said.source.scope or "")
    except UntrustedModelError:
        raise
    except HoldfastError as error:
        if wanted is not None:
            raise
        gone = f"the model {source.target} is not here as the file names it ({error.lines[0]}); the file alone is shown"
        return LoadedRun(run.trace(), None, gone)
    known = source == said.source
    replayer = Replayer(
        system,
        scope,
        target=source.target,
        options=said.options if known else None,
        seed=said.seed if known else None,
        liveness=_owed(system, said.claim),
    )
    changed = _changed(replayer, said.fingerprint)
    try:
        script = _own_script(replayer, run)
        if said.claim is not None:
            replayer.claim(said.claim)
        trace = _follow(replayer, script, said.claim, changed)
        # A changed model may lead to other states. ``changed`` already says so.
        if changed is None:
            _check_states(replayer, run, script)
    except UsageError as error:
        if changed is None:
            raise
        raise ImpossibleError(f"{error}; {changed}; {AGAIN}") from None
    return LoadedRun(trace, replayer, changed, said.claim)


def _own_script(replayer: Replayer, run: ForeignRun) -> Script:
    """The script of a file that Holdfast wrote, which names every action and argument."""
    first, *others = (state for state in run.states if not state.repeat)
    steps = []
    for index, state in enumerate(others, start=1):
        if state.action is None:
            raise UsageError(f"{run.path}: state {index + 1} names no action, as a file of Holdfast does; {WHOLE}")
        action = replayer.action(state.action)
        steps.append(replayer.coded(action.name, _values(replayer, run, action, state)))
    init = replayer.system.init
    start = replayer.machine.layout.encode_args(init, _values(replayer, run, init, first)) if init.params else ()
    return Script(start, tuple(steps), run.loop)


def _values(replayer: Replayer, run: ForeignRun, action: Action, state: ForeignState) -> dict[str, Value]:
    """The arguments of an action. Arguments without a parameter are kept; ``encode_args`` refuses them."""
    kinds = {param.name: param.type for param in action.params}
    try:
        return {
            name: choice(replayer.machine.layout, kinds[name], value) if name in kinds else argument(value)
            for name, value in state.args
        }
    except NoValueError as error:
        raise UsageError(f"{run.path}: {action.name}: an argument is {error}; {WHOLE}") from None


def _check_states(replayer: Replayer, run: ForeignRun, script: Script) -> None:
    """Raise UsageError if a state in the file differs from the state that the model gives."""
    states = replayer.states(script)
    assert not isinstance(states, StoppedScript), "it was followed before"
    found = first_difference(replayer.machine.layout, run, states)
    if found is not None:
        raise UsageError(
            f"{run.path}: state {found.index + 1} is not what the model gives there: {found.cell} is {found.in_file} "
            f"in the file and {found.in_model} in the model; was the file edited?"
        )


# Lines -----------------------------------------------------------------------------------------------------------


def _open_line(line: Line, wanted: RunSource | None, file: str | None) -> LoadedRun:
    """The run of a line; ``file``: where the line comes from, or None if the user wrote it."""
    said = RunSource(line.target, line.scope, line.variants, line.removed)
    source = _instead(said, wanted)
    system = source.system(file if wanted is None else None)
    scope = system.scope(source.scope or line.scope)
    replayer = Replayer(system, scope, target=source.target, options=None, liveness=_owed(system, line.claim))
    changed = _changed(replayer, line.fingerprint)
    try:
        script = _script(replayer, line)
        if line.claim is not None:
            replayer.claim(line.claim)
    except UsageError as error:
        if changed is None:
            raise
        raise ImpossibleError(f"{error}; {changed}; {AGAIN}") from None
    return LoadedRun(_follow(replayer, script, line.claim, changed), replayer, changed, line.claim)


def _instead(said: RunSource, wanted: RunSource | None) -> RunSource:
    """The model to replay on: ``wanted``, or the one of the run; a plain ``wanted`` replaces only the target."""
    if wanted is None:
        return said
    return attrs.evolve(said, target=wanted.target) if wanted.is_plain else wanted


def _owed(system: System, claim: str | None) -> tuple[Property, ...] | None:
    """The liveness property that the run claims to violate; None if it claims something else, or nothing."""
    return tuple(prop for prop in system.of_kind(*LIVENESS) if prop.name == claim) or None


def _changed(replayer: Replayer, fingerprint: str) -> str | None:
    """A sentence if the model has another fingerprint now than the run; None if not."""
    if replayer.origin.fingerprint == fingerprint:
        return None
    return (
        f"the model has changed since the run was made: its fingerprint in scope {replayer.machine.scope.name} was "
        f"{fingerprint} and is {replayer.origin.fingerprint}"
    )


def _script(replayer: Replayer, line: Line) -> Script:
    system = replayer.system
    start = line.start or Call("init", (), 0)
    if line.start is None and system.init.params:
        names = ",".join(param.name for param in system.init.params)
        raise UsageError(f"the line does not say how the run starts; write init({names}) before its first step")
    steps = []
    for call in line.steps:
        try:
            replayer.action(call.action)
        except UsageError as error:
            raise UsageError(f"the line, column {call.column}: {error}") from None
        steps.append((call.action, _coded(replayer, call)))
    return Script(_coded(replayer, start), tuple(steps), line.loop)


def _coded(replayer: Replayer, call: Call) -> Args:
    """The arguments of a call in codes; the call writes the values as traces show them."""
    system, layout = replayer.system, replayer.machine.layout
    params = (system.init if call.action == "init" else system.action(call.action)).params
    if len(params) != len(call.args):
        names = ", ".join(param.name for param in params)
        raise UsageError(
            f"the line, column {call.column}: {call} has {len(call.args)} arguments; write {call.action}({names})"
        )
    codes = []
    for param, text in zip(params, call.args, strict=True):
        known = [str(layout.decode_value(param.type, code)) for code in range(layout.codes(param.type))]
        if text not in known:
            choices = ", ".join(known) if len(known) <= 8 else f"{known[0]} to {known[-1]}"
            raise UsageError(
                f"the line, column {call.column}: {text} is not a value of {param.name} ({param.type}) in scope "
                f"{layout.scope.name}; use {choices}"
            )
        codes.append(known.index(text))
    return tuple(codes)


def _follow(replayer: Replayer, script: Script, claim: str | None, changed: str | None) -> Trace:
    trace = replayer.trace(script, claim)
    if isinstance(trace, StoppedScript):
        raise _stopped(replayer, script, trace, changed)
    if trace.loop is not None and trace.steps[trace.loop].code != trace.steps[-1].code:
        problem = f"the loop does not lead back: the last state is not that after step {trace.loop}"
        if changed is None:
            raise UsageError(f"{problem}; check the line, or the file")
        raise ImpossibleError(f"{problem}; {changed}; {AGAIN}")
    return trace


def _stopped(replayer: Replayer, script: Script, stopped: StoppedScript, changed: str | None) -> HoldfastError:
    """The error that says why a script cannot be followed."""
    if stopped.index == 0:
        action, args, where = replayer.system.init, script.start, "the start"
    else:
        name, args = script.steps[stopped.index - 1]
        action, where = replayer.system.action(name), f"step {stopped.index}"
    values = ",".join(str(value) for value in replayer.machine.layout.decode_args(action, args).values())
    outcome = stopped.outcome
    if isinstance(outcome, Refused):
        why = f"is refused by {outcome.label}{f' ({outcome.error})' if outcome.error else ''}"
    else:
        why = f"is cut by {outcome.bound} in scope {replayer.machine.scope.name}"
    problem = f"{where}, {action.name}({values}), {why}"
    if changed is None:
        return UsageError(f"{problem}: the model allows no such run; check the line, or the file")
    return ImpossibleError(f"the run is no longer possible: {problem}; {changed}; {AGAIN}")
