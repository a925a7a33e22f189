"""A verdict on a log with all that its page tells."""

from __future__ import annotations

import attrs

from holdfast import __version__
from holdfast.check.conform.answer.verdict import LogVerdict, call, headline, in_model, place, scope_of
from holdfast.check.conform.judge.event_facts import Facts


@attrs.frozen
class LoggedEvent:
    """An event. ``place``: its file and line. ``call``: its action and arguments, written as a call."""

    place: str
    call: str


@attrs.frozen
class Objection:
    """A reason why no state allows an event. ``states``: in how many it is one. ``place``: of the guard; "" for none.

    ``blame``: the mistake that model, code or log would have made.
    """

    text: str
    place: str
    blame: str
    states: int


@attrs.frozen
class JudgedLog:
    """A verdict for its page.

    ``event``: the first event that no run explains, None if there is none. ``also``: the events of other sources that
    could come next instead, each with the first reason against it, "" for none. ``nearby``: sentences about steps that
    would be possible. ``last``: the last events that the model allows. ``run``: lines about the run that explains the
    log. ``scope``: what was judged and what was not.
    """

    holdfast: str
    model: str
    verdict: str
    headline: str
    event: LoggedEvent | None
    reasons: tuple[Objection, ...]
    also: tuple[tuple[LoggedEvent, str], ...]
    nearby: tuple[str, ...]
    last: tuple[LoggedEvent, ...]
    run: tuple[str, ...]
    scope: tuple[tuple[str, str], ...]


def judged_log(verdict: LogVerdict) -> JudgedLog:
    """The verdict with its events and reasons as texts."""
    judgement = verdict.judgement
    reasons = verdict.candidates
    return JudgedLog(
        holdfast=__version__,
        model=verdict.system.name,
        verdict=judgement.kind,
        headline=headline(verdict),
        event=None if judgement.facts is None else _event(judgement.facts),
        reasons=tuple(Objection(each.text, in_model(each.at), each.blame, each.states) for each in reasons),
        also=tuple((_event(facts), "" if reason is None else reason.text) for facts, reason in verdict.also),
        nearby=verdict.nearby,
        last=tuple(_event(facts) for facts in judgement.last),
        run=verdict.run,
        scope=tuple(scope_of(verdict).items()),
    )


def _event(facts: Facts) -> LoggedEvent:
    return LoggedEvent(place(facts), call(facts))
