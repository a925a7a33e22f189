"""The one record from which every report is written: what was asked, what the answer is, and the run that shows it.

Every engine's answer becomes a list of records, one for each model and scope. A record stands on its own: a renderer
(``reports/``) needs neither the model nor the engine, and two reports of one answer cannot contradict each other. Each
engine has a module here that makes its records.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import attrs

from holdfast.check.result import Answer
from holdfast.ir.errors import Place
from holdfast.ir.system import System
from holdfast.trace.line import replay_command
from holdfast.trace.text import NOBODY, back, outcome, render
from holdfast.trace.trace import Claim, Trace
from holdfast.trace.views.events import Event, events

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
    ids: tuple[str, ...] = ()
    sentence: str
    at: Place
    status: Status
    message: str
    text: str = ""
    replay: str | None = None
    fingerprint: str = ""
    flow: tuple[Moment, ...] = ()


@attrs.frozen(kw_only=True)
class Record:
    """An answer about one model in one scope.

    ``changes`` are the chosen variants and removed rules, ``+NAME`` and ``-LABEL`` as a replay line has them.
    ``figures`` are its numbers by name, in order; ``seconds`` its time, where that is known.
    """

    engine: str
    model: str
    scope: str
    changes: tuple[str, ...] = ()
    verdict: str
    exit_code: int
    cases: tuple[Case, ...]
    figures: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None

    @property
    def title(self) -> str:
        """What was asked, nearly as the command line says it."""
        return " ".join(part for part in ("holdfast", self.engine, self.model, self.scope, *self.changes) if part)


def case_of(system: System, trace: Trace) -> Case:
    """The finding that a run shows: a violation of its claim."""
    claim = trace.shown
    steps = "step" if trace.length == 1 else "steps"
    said = outcome(trace, claim) if claim.kind == "leads_to" else f"violated in {trace.length} {steps}"
    return plain_case(
        claim,
        "failed",
        f"{claim.title} is {said}",
        text=render(trace),
        replay=replay_command(trace),
        fingerprint=_fingerprint_of(trace),
        flow=flow_of(system, trace, f"{claim.title} is violated", claim.at),
    )


def plain_case(
    claim: Claim,
    status: Status,
    message: str,
    *,
    text: str = "",
    replay: str | None = None,
    fingerprint: str = "",
    flow: tuple[Moment, ...] = (),
) -> Case:
    """What became of a property."""
    return Case(
        name=claim.name,
        kind=claim.kind,
        ids=claim.ids,
        sentence=claim.sentence,
        at=claim.at,
        status=status,
        message=message,
        text=text,
        replay=replay,
        fingerprint=fingerprint,
        flow=flow,
    )


def flow_of(system: System, trace: Trace, conclusion: str, at: Place) -> tuple[Moment, ...]:
    """The run on the model's lines, with what it comes to at the end. A lasso tells where it goes on for ever."""
    places = {action.name: action.at for action in (system.init, *system.actions)}
    moments = [
        Moment(STATE if event.actor == NOBODY else event.actor, _said(event), places[event.step.action])
        for event in events(trace).each
    ]
    ending = conclusion if trace.loop is None else f"{back(trace)}: {conclusion}"
    return (*moments, Moment(STATE, ending, at))


def _said(event: Event) -> str:
    """A step in one line; the repetition of one says what became of it."""
    step = event.step
    again = " again" if step.repeat else ""
    refused = f": refused by {step.refused}" if step.refused is not None else ""
    return f"{event.number}. {event.call}{again}{refused}"


def changes_of(variants: tuple[str, ...], removed: tuple[str, ...]) -> tuple[str, ...]:
    """What differs from the model as it stands."""
    return (*(f"+{name}" for name in variants), *(f"-{label}" for label in removed))


def numbers(answer: Answer) -> tuple[tuple[str, str], ...]:
    """The numbers of an answer's figures that stand alone, and the fingerprint of the model."""
    alone = [(name, str(value)) for name, value in answer.figures.to_json().items() if isinstance(value, int)]
    return (*alone, ("fingerprint", answer.fingerprint))


def identified(record: Record, model: str) -> Record:
    """The record with a fingerprint for each finding that has none by its run; ``model`` is the name of the class.

    It is made of what was asked and of how that ended, and not of words or lines.
    """
    asked = (record.engine, model, record.scope, *record.changes)
    return attrs.evolve(
        record,
        cases=tuple(
            case if case.fingerprint else attrs.evolve(case, fingerprint=fingerprint(*asked, case.name, case.status))
            for case in record.cases
        ),
    )


def fingerprint(*parts: str) -> str:
    """Thirty-two hex digits over some words."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _fingerprint_of(trace: Trace) -> str:
    """Equal for the same run to the same violation; lines and wording of the model do not matter."""
    steps = [f"{step.action}{step.args}" for step in trace.steps]
    return fingerprint(trace.model, trace.scope, *trace.variants, *trace.removed, trace.shown.name, *steps)
