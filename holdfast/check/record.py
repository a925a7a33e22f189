"""The one record from which every report is written: what was asked, what the answer is, and the run that shows it.

Every engine's answer becomes a list of records, one for each model and scope. A record stands on its own: a renderer
(``reports/``) needs neither the model nor the engine, and two reports of one answer cannot contradict each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Literal

import attrs

from holdfast.check.result import VIOLATION, Answer, Result
from holdfast.ir.errors import Place
from holdfast.ir.system import System
from holdfast.trace.line import replay_command
from holdfast.trace.text import NOBODY, render
from holdfast.trace.trace import Claim, Trace
from holdfast.trace.views.events import events

Status = Literal["passed", "failed", "unanswered", "skipped"]
"""``unanswered`` is a question that the budget or the engine left open: it is never shown as a success."""

STATE = "state"
"""The process of steps that nobody of the acting sort takes."""


@attrs.frozen
class Moment:
    """A step of a run: whose it is, what it does in one line, and where the model says so."""

    process: str
    text: str
    at: Place


@attrs.frozen(kw_only=True)
class Case:
    """One thing that was asked: a property, a witness, a mutant.

    ``message`` is the answer in one sentence, ``text`` what the command prints of it. ``fingerprint`` is equal for
    equal findings, whatever the wording and the lines of the model are. ``flow`` is the run, if there is one.
    """

    name: str
    kind: str
    ids: tuple[str, ...]
    sentence: str
    at: Place | None
    status: Status
    message: str
    text: str = ""
    replay: str | None = None
    fingerprint: str = ""
    flow: tuple[Moment, ...] = ()


@attrs.frozen(kw_only=True)
class Record:
    """An answer about one model in one scope. ``figures`` are its numbers by name, in order; ``seconds`` its time."""

    engine: str
    model: str
    scope: str
    verdict: str
    exit_code: int
    cases: tuple[Case, ...]
    figures: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """What was asked, as the command line says it."""
        return " ".join(part for part in ("holdfast", self.engine, self.model, self.scope) if part)


def record_of(system: System, answer: Answer, command: str, *, expected: bool = False) -> Record:
    """The record of a search or of random runs; ``command`` is the verb that asked.

    Where a violation is ``expected``, to find one is what should happen.
    """
    found = {trace.shown.name: trace for trace in answer.findings}
    missing = {claim.name for claim in answer.missing} if isinstance(answer, Result) else set()
    vacuous = {claim.name for claim in answer.vacuous} if isinstance(answer, Result) else set()
    open_ended = answer.verdict == "out_of_budget" or answer.ended_by == VIOLATION
    cases = [case_of(system, trace) for trace in answer.findings]
    if expected:
        cases = [attrs.evolve(case, status="passed", message=f"{case.message}, as expected") for case in cases]
    for claim in _asked(system, answer):
        if claim.name in found:
            continue
        if open_ended:
            said = f"not answered: ended by {answer.ended_by}"
            cases.append(_plain(claim, "skipped" if answer.ended_by == VIOLATION else "unanswered", said))
        elif claim.name in missing:
            cases.append(_plain(claim, "failed", "no state that was reached is such a witness"))
        elif claim.name in vacuous:
            cases.append(_plain(claim, "failed", "its premise was never met, so it says nothing"))
        else:
            cases.append(_plain(claim, "passed", answer.verdict))
    return Record(
        engine=command,
        model=answer.target,
        scope=answer.scope,
        verdict=answer.verdict,
        exit_code=answer.exit_code,
        cases=tuple(cases),
        figures=(*_numbers(answer), ("fingerprint", answer.fingerprint)),
        seconds=float(getattr(answer.timing, "seconds", 0.0)),
    )


def case_of(system: System, trace: Trace) -> Case:
    """The finding that a run shows."""
    claim = trace.shown
    return Case(
        name=claim.name,
        kind=claim.kind,
        ids=claim.ids,
        sentence=claim.sentence,
        at=claim.at,
        status="failed",
        message=f"{claim.title} is violated in {trace.length} {'step' if trace.length == 1 else 'steps'}",
        text=render(trace),
        replay=replay_command(trace),
        fingerprint=_fingerprint(trace),
        flow=tuple(_flow(system, trace)),
    )


def _asked(system: System, answer: Answer) -> Iterator[Claim]:
    """The claims that the engine was asked about, in the order of the model."""
    asked = {name for name, _ in answer.figures.evaluated} | {each.claim.name for each in answer.witnesses}
    for prop in system.properties:
        if prop.name in asked and prop.kind in ("invariant", "lemma", "step", "witness"):
            yield Claim.of_property(prop)


def _plain(claim: Claim, status: Status, message: str) -> Case:
    return Case(
        name=claim.name,
        kind=claim.kind,
        ids=claim.ids,
        sentence=claim.sentence,
        at=claim.at,
        status=status,
        message=message,
    )


def _flow(system: System, trace: Trace) -> Iterator[Moment]:
    """The run on the model's lines."""
    places = {action.name: action.at for action in (system.init, *system.actions)}
    for event in events(trace).each:
        process = STATE if event.actor == NOBODY else event.actor
        yield Moment(process, f"{event.number}. {event.call}", places[event.step.action])
    yield Moment(STATE, f"{trace.shown.title} is violated", trace.shown.at)


def _fingerprint(trace: Trace) -> str:
    """Equal for the same run to the same violation; lines and wording of the model do not matter."""
    said = [trace.model, trace.scope, *trace.variants, *trace.removed, trace.shown.name]
    said += [f"{step.action}{step.args}" for step in trace.steps]
    return hashlib.blake2b("\0".join(said).encode(), digest_size=16).hexdigest()


def _numbers(answer: Answer) -> Iterator[tuple[str, str]]:
    """The numbers of the figures that stand alone."""
    for name, value in answer.figures.to_json().items():
        if isinstance(value, int):
            yield name, str(value)
