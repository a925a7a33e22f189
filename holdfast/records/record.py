"""The record: the source of every report. It holds the question, the answer, and the run that shows the answer.

Every engine's answer becomes a list of records, one for each model and scope. A record is self-contained: a renderer
(``reports/``) needs neither the model nor the engine, and two reports of one answer cannot contradict each other. Each
engine has a module here that makes its records.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import attrs

from holdfast.check.result import Answer
from holdfast.ir.errors import Place
from holdfast.ir.printable import printable
from holdfast.ir.system import LIVENESS, System
from holdfast.trace.line import replay_command
from holdfast.trace.text import NOBODY, back, outcome, render
from holdfast.trace.trace import Claim, Trace
from holdfast.trace.views.events import Event, events

Status = Literal["passed", "failed", "unanswered", "skipped"]
"""The status of a case. ``unanswered``: the budget or the engine left the question open. It is never a success."""

STATE = "state"
"""The process name for steps that no element of the acting sort takes."""


@attrs.frozen
class Moment:
    """A step of a run: the process that takes it, the step in one line, and the line of its action in the model."""

    process: str
    text: str
    at: Place


@attrs.frozen(kw_only=True)
class Case:
    """One question and its answer: about a property, a witness, a mutant.

    ``message`` is the answer in one sentence, ``text`` the command's output about it. ``fingerprint`` is equal for
    equal findings, even if the wording or the lines of the model change. ``flow`` is the run, if there is one.
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

    ``changes`` are the chosen variants and removed rules, ``+NAME`` and ``-LABEL`` as in a replay line. ``figures``
    are its numbers by name, in order; ``seconds`` is its time, or None if that is not known.
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
        """The question, nearly as on the command line."""
        return " ".join(part for part in ("holdfast", self.engine, self.model, self.scope, *self.changes) if part)


def printable_record(record: Record) -> Record:
    """The record with printable texts, as reports show them."""
    found: Record = _printable(record)
    return found


def _printable(value: Any) -> Any:
    """A value of a record in which all texts are printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, tuple):
        return tuple(_printable(each) for each in value)
    if attrs.has(type(value)):
        names = [each.name for each in attrs.fields(type(value))]
        return attrs.evolve(value, **{name: _printable(getattr(value, name)) for name in names})
    return value


def case_of(system: System, trace: Trace) -> Case:
    """The case of a finding: the run violates its claim."""
    claim = trace.shown
    steps = "step" if trace.length == 1 else "steps"
    said = outcome(trace, claim) if claim.kind in LIVENESS else f"violated in {trace.length} {steps}"
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
    """The case of a property, with its name, ids, sentence and place from the claim."""
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
    """The run as moments, each at the line of its action, and a last moment with the conclusion at ``at``.

    For a lasso, the last moment also says to which step the run returns.
    """
    places = {action.name: action.at for action in (system.init, *system.actions)}
    moments = [
        Moment(STATE if event.actor == NOBODY else event.actor, _said(event), places[event.step.action])
        for event in events(trace).each
    ]
    ending = conclusion if trace.loop is None else f"{back(trace)}: {conclusion}"
    return (*moments, Moment(STATE, ending, at))


def _said(event: Event) -> str:
    """A step in one line. A repeated step also says whether a rule refused the repetition."""
    step = event.step
    again = " again" if step.repeat else ""
    refused = f": refused by {step.refused}" if step.refused is not None else ""
    return f"{event.number}. {event.call}{again}{refused}"


def changes_of(variants: tuple[str, ...], removed: tuple[str, ...]) -> tuple[str, ...]:
    """The differences from the plain model, as in a replay line: ``+VARIANT`` and ``-LABEL``."""
    return (*(f"+{name}" for name in variants), *(f"-{label}" for label in removed))


def numbers(answer: Answer) -> tuple[tuple[str, str], ...]:
    """The figures of an answer that are single whole numbers, and the fingerprint of the model."""
    alone = [(name, str(value)) for name, value in answer.figures.to_json().items() if isinstance(value, int)]
    return (*alone, ("fingerprint", answer.fingerprint))


def identified(record: Record, model: str) -> Record:
    """The record with a fingerprint for each case. A case whose run has given it a fingerprint keeps it.

    ``model`` is the name of the model's class. The fingerprint covers the question and the status, not the wording or
    the lines.
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
    """A hash of the parts: 32 hex digits."""
    # The separator keeps ("ab", "c") and ("a", "bc") apart; no part contains a NUL.
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _fingerprint_of(trace: Trace) -> str:
    """A hash that is equal for the same run to the same violation, even if the model's lines or wording change."""
    steps = [f"{step.action}{step.args}" for step in trace.steps]
    return fingerprint(trace.model, trace.scope, *trace.variants, *trace.removed, trace.shown.name, *steps)
