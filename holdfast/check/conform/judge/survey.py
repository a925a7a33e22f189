"""The survey: the first reading of a log. It collects the log's names and checks that each line fits the model."""

from __future__ import annotations

from collections import Counter

import attrs

from holdfast.check.budget import Meter
from holdfast.check.conform.judge.event_facts import Reader, numbers
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.spans import counted_by_spans
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import UNKNOWN, LogEvent
from holdfast.check.conform.logs.names import LogNames, Number
from holdfast.ir.errors import Place
from holdfast.ir.system import Action


@attrs.define
class Survey:
    """The results of the first reading of a log: its elements, its actions, and the number of its events.

    ``unknown`` counts the events with an unknown outcome, ``open`` those with an unknown argument.
    """

    names: LogNames
    reader: Reader
    frame: Frame
    meter: Meter
    seen: Counter[str] = attrs.field(factory=Counter)
    count: int = 0
    unknown: int = 0
    open: int = 0
    _spans: dict[str, str] = attrs.field(factory=dict)

    def visit(self, event: LogEvent) -> None:
        """Read one event. Raises UsageError if it does not fit the model, and Unjudged at a limit."""
        facts = self.reader.facts(event)
        if any(self.frame.literals.values()):
            for what, number in numbers(facts):
                self._check_literal(event, what, number)
        if event.span is not None:
            nat = self._nat_of_span(facts.action, event.at)
            for value in event.span:
                self._check_literal(event, "span", (nat, value))
            if event.span[0] == event.span[1]:
                damaged(event.at, f"span {shown(list(event.span))} has no offset", "leave out what does nothing")
        self.seen[event.action] += 1
        self.count += 1
        self.unknown += event.outcome == UNKNOWN
        self.open += None in facts.args
        if self.meter.tick(self.count, 0, 0, 0):
            at = event.at
            raise UnjudgedError(
                f"stopped by a limit ({self.meter.spent}) at {at.file}:{at.line}, before the log was judged"
            )

    def _nat_of_span(self, action: Action, at: Place) -> str:
        """The Nat of the action's spans; the model is checked only once for each action."""
        if action.name not in self._spans:
            frame = self.frame
            self._spans[action.name] = counted_by_spans(frame.system, frame.uses, frame.dropped, action, at)
        return self._spans[action.name]

    def _check_literal(self, event: LogEvent, what: str, number: Number) -> None:
        """Raise UsageError for a number between the literals of a model: between its 0 and its 1 there is nothing."""
        nat, value = number
        literals = self.frame.literals[nat]
        if literals and 0 < value < literals[-1] and value not in literals:
            known = ", ".join(f"{place} is {each}" for place, each in enumerate(literals, start=1))
            damaged(event.at, f"{what} is {value}, between the literals of {nat} ({known})", "correct the literals")
