"""The commands ``holdfast scenario from-trace`` and ``holdfast scenario from-model``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from holdfast.check.budget import Budget, Meter, Progress
from holdfast.cli.output import Ticker, cannot_write, note, say, write
from holdfast.cli.output_files import ScenarioFile
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_names
from impl.bridge.counterexample import CounterexampleFile, scenario_of
from impl.bridge.missing_rules import PROFILES, NeededRules, lacks_switch, needed
from impl.bridge.paired_run import DisagreementError
from impl.bridge.pairings import PAIRINGS
from impl.bridge.suite import Goal, suite_of
from impl.rules import guards
from impl.scenario.language import read_text
from impl.scenario.suggest import unknown

PASSED, FAILED = 0, 12
NOUNS: dict[Goal, str] = {"edges": "edges", "rules": "decisions of rules", "pairs": "pairs"}
"""What the files of each cover show."""


def from_trace(
    line: Annotated[str, Parameter(allow_leading_hyphen=True)], /, *, out: ScenarioFile, model: str | None = None
) -> int:
    """Make a scenario file of a run of a model, such as a counterexample.

    The file holds the requests of the run that reach the controller, each with the answer of the model that has all its
    rules. It is run on the implementation: with all rules, and without each rule that the run lacks. The exit code is 0
    if it passes with all rules, and fails without one of these. If the controller has none of them, it must fail
    without some other rule.

    Parameters
    ----------
    line
        The line that a failure prints after `replay:`, in single quotes; or a file with a run.
    out
        The file to write, such as mine.yaml. If it exists, it must be empty or have the same text.
    model
        The model behind the run, instead of the one that it names: MODEL, or 'MODEL SCOPE +VARIANT -LABEL'.
    """
    try:
        made = scenario_of(line, model)
    except DisagreementError as error:
        note(f"holdfast: the controller differs from the model: {error}")
        return FAILED
    (scenario,) = read_text(made.text, str(out))
    _check_same(out, made.text)
    rules = needed(scenario, made.own)
    write(out, made.text)
    say("\n".join(_told(out, len(scenario.steps), made, rules)))
    return PASSED if rules.verdict.failure is None and rules.is_needed else FAILED


def from_model(
    model: str,
    /,
    *,
    scope: str = "tiny",
    cover: Annotated[Goal, Parameter(show_choices=False)] = "edges",
    out: Path,
    budget: str | None = None,
) -> int:
    """Make scenario files that cover what a model asks of a controller; each step expects the model's answer.

    The reference implementation is driven beside the model while the files are made. The exit code is 12 if they
    differ, or if a file does not cover all; 20 if a limit ends the work.

    Parameters
    ----------
    model
        The model, such as ownership; or kraft, the variant of replica_reassignment for KRaft as shipped.
    scope
        The scope of the model (tiny).
    cover
        edges: each request in each state of the controller. rules: each rule of the model where it decides a request,
        and where it does not. pairs: each two requests, with their answers, of which one may follow the other.
    out
        The folder to write; it must be new or empty.
    budget
        Stop at a limit of time, states or memory, and write nothing: 30s,1e6states,2GB.
    """
    if model not in PAIRINGS:
        raise UsageError(_unpaired(model))
    _check_folder(out)
    limits = Budget() if budget is None else Budget.parse(budget)
    try:
        with Ticker() as ticker:
            made = suite_of(model, scope, cover, Meter(limits, lambda now: ticker.show(_progress(now, cover))))
    except DisagreementError as error:
        note(f"holdfast: the controller differs from the model: {error}")
        return FAILED
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    for name, text in made.files.items():
        write(out / name, text)
    covered = made.found - len(made.uncovered) - len(made.unasked)
    say(f"{model}, scope {scope}: {made.found:,} {NOUNS[cover]}, {covered:,} of them covered")
    say(f"{out}: {made.scenarios:,} scenarios in {len(made.files)} files, {made.steps:,} steps")
    unasked = (f"no request that the graph visits shows: {each}" for each in made.unasked)
    for line in (*made.remarks, *unasked, *(f"not covered: {each}" for each in made.uncovered)):
        say(f"  {line}")
    return FAILED if made.uncovered else PASSED


def _progress(now: Progress, cover: Goal) -> str:
    """The progress line: what the graph has so far, then how much no walk has covered yet."""
    found = f"{now.distinct:,} states, {now.generated:,} edges"
    return f"{found}, {now.queue:,} {NOUNS[cover]} left" if now.depth else f"{found} so far, {now.seconds:.0f} s"


def _unpaired(model: str) -> str:
    """Why there is no suite of a model: it is not paired with a controller, or it does not exist."""
    if model in model_names():
        return f"{model}: no pairing runs this model beside the controller; name one of {', '.join(sorted(PAIRINGS))}"
    return unknown("model", model, sorted(PAIRINGS))


def _check_folder(out: Path) -> None:
    """Raise UsageError if a folder cannot be made, or is not empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: it exists and is no empty folder; name a new one")
    above = next(each for each in out.absolute().parents if each.exists())
    if not above.is_dir():
        raise UsageError(f"--out {out}: {above} is a file, and no folder; name another folder")


def _check_same(out: Path, text: str) -> None:
    """Raise UsageError if a file has another text than the one to write: it may be the user's work."""
    if not out.is_file():
        return
    before = out.read_text(encoding="utf-8", errors="replace")
    if before and before != text:
        raise UsageError(f"--out {out}: the file exists, and has another text; choose another name, or delete the file")


def _told(out: Path, steps: int, made: CounterexampleFile, rules: NeededRules) -> list[str]:
    """The lines of the report."""
    outcome = "passes" if rules.verdict.failure is None else "fails"
    lines = [f"{out}: {steps} steps; with all rules it {outcome}"]
    lines += [f"  {_lacking(name)} it {'fails' if fails else 'passes'}" for name, fails in rules.own]
    lines += [f"  {name}: {_foreign(name)}" for name in made.foreign]
    if rules.verdict.failure is None and rules.own and not rules.is_needed:
        lines.append(f"  the run does not show the rule at its end; try a run to another property: {made.search} NAME")
    if rules.others:
        lines.append(f"  {'also ' if rules.own else ''}fails without {', '.join(rules.others)}")
    lines += [f"  no operation: {each}" for each in made.skipped]
    return lines


def _lacking(name: str) -> str:
    """How a run of the file lacks a rule: by an option of ``holdfast scenario run``, or by a profile in the file."""
    if name in PROFILES:
        return f"with profile: {{{name}}}"
    return f"with {'--without' if name in guards() else '--switch'} {name}"


def _foreign(name: str) -> str:
    """Why the report does not run the implementation without a rule."""
    if lacks_switch(name):
        return "a rule of the controller, but no label of the implementation switches it off alone"
    return "no rule of the controller, which does the same without it"
