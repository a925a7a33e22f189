"""Write the steps of a walk as the lines of a log, in the way a system could have written them.

A growing random function maps each number of the model to a number of the log. So the log has offsets thousands apart
and gaps in epochs, and is still the log of a run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from holdfast.check.conform.judge.spans import counted_by_spans
from holdfast.check.conform.judge.window import Windows
from holdfast.check.conform.logs.names import processes
from holdfast.check.conform.logs.own_format import KEYS
from holdfast.check.conform.walks.log_steps import LogStep, LogSteps
from holdfast.check.conform.walks.stretch import Numbers
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.ir.types import BoolType, EnumType, IntType, NatType, OptionalType, Plain, Scalar, SortType

CAUSES = 8
"""Among several sources, one in N events names its cause."""


@attrs.frozen
class Gaps:
    """The information that a log leaves out. ``unknown``: the share of requests with the outcome "?". ``omitted``: the
    share of events that leave out an argument. ``spans``: whether steps that count an offset on are logged as spans.
    """

    unknown: float = 0.0
    omitted: float = 0.0
    spans: bool = False


class LogLines:
    """Writes the steps of one walk as lines."""

    def __init__(self, steps: LogSteps, numbers: Numbers, chance: random.Random, gaps: Gaps) -> None:
        self.steps, self.numbers, self.chance, self.gaps = steps, numbers, chance, gaps
        self.layout = steps.layout
        self.processes = processes(steps.sizes.system)
        self.by_spans = frozenset(self._by_spans())

    def header(self) -> dict[str, Any]:
        """The header, which is the first line of the log."""
        system: System = self.steps.sizes.system
        uses = self.steps.uses
        return {
            "holdfast": "log", "version": 1, "model": system.name, "variants": list(system.chosen),
            "literals": {
                nat: {str(each): self.numbers.of(nat, each) for each in range(1, max(found) + 1)}
                for nat, found in uses.literals.items() if nat not in uses.plain
            },
        }  # fmt: skip

    def spanned(self, step: LogStep) -> bool:
        """Whether a step is logged as a span."""
        return step.error is None and step.action.name in self.by_spans

    def _by_spans(self) -> Iterator[str]:
        """The actions that increment an offset, so that one line with a span may stand for several of their steps."""
        system, uses = self.steps.sizes.system, self.steps.uses
        dropped = frozenset(var.name for var in system.variables if var.ghost)
        for action in system.actions if self.gaps.spans else ():
            try:
                nat = counted_by_spans(system, uses, dropped, action, action.at)
            except UsageError:
                continue
            if self.numbers.is_offset(nat):
                yield action.name

    def event(self, run: Sequence[LogStep]) -> dict[str, Any]:
        """The line of a step, or of several steps that are one span."""
        first, last = run[0], run[-1]
        line = self._call(last)
        if self.spanned(first):
            return line | self._span(first, last)
        if self.chance.random() < self.gaps.unknown and last.action.name not in self.steps.counted:
            # If a step counts on, only post tells to which number, and a request without an answer has no post.
            return line | {"error": "?"}
        if last.error is not None:
            return line | {"error": last.error}
        return line | self._post(last.action.name, last.old, last.new, last.windows)

    def _call(self, step: LogStep) -> dict[str, Any]:
        params = list(step.action.params)
        if self.chance.random() < self.gaps.omitted:
            open_to = [param for param in params if self._can_be_tried(param.plain)]
            if open_to:
                params.remove(self.chance.choice(open_to))
        named = {
            param.name: self._json(param.plain, code, step.windows)
            for param, code in zip(step.action.params, step.args, strict=True)
            if param in params
        }
        inner = {name: value for name, value in named.items() if name in KEYS}
        outer = {name: value for name, value in named.items() if name not in KEYS}
        return {"action": step.action.name, **outer, **({"args": inner} if inner else {})}

    def _can_be_tried(self, kind: Plain) -> bool:
        """Whether a judge can try all values of a type. It cannot for values of a window, nor for streams, by which it
        divides the log.
        """
        return kind != SortType("Stream") and not (isinstance(kind, NatType) and kind.name not in self.steps.uses.plain)

    def _span(self, first: LogStep, last: LogStep) -> dict[str, Any]:
        (field,) = self.steps.counted[last.action.name]
        nat = str(field.type)
        cells = range(field.offset, field.offset + field.count)
        (begin,) = [first.old[cell] for cell in cells if first.old[cell] != first.new[cell]]
        (end,) = [last.new[cell] for cell in cells if last.old[cell] != last.new[cell]]
        base = first.windows.values[nat][begin]
        return {"span": [self.numbers.of(nat, base), self.numbers.of(nat, last.windows.values[nat][end])]}

    def _post(self, action: str, old: bytes, new: bytes, windows: Windows) -> dict[str, Any]:
        """The cells that a step changed or can count on. Fields with a key from a window are left out."""
        counted = {field.name for field in self.steps.counted.get(action, [])}
        found: dict[str, Any] = {}
        for field in self.layout.fields:
            if field.hidden or any(
                isinstance(key, NatType) and key.name not in self.steps.uses.plain for key in field.keys
            ):
                continue
            told = field.name in counted and not field.keys
            if (
                not told
                and old[field.offset : field.offset + field.count] == new[field.offset : field.offset + field.count]
            ):
                continue
            for number, index in enumerate(field.indices):
                cell = field.offset + number
                if told or old[cell] != new[cell]:
                    inner = found
                    names: list[Any] = [field.name]
                    for key, code in zip(field.keys, index, strict=True):
                        name = self._json(key, code, windows)
                        names.append(name if isinstance(name, str) else json.dumps(name, separators=(",", ":")))
                    for name in names[:-1]:
                        inner = inner.setdefault(name, {})
                    inner[names[-1]] = self._json(field.type, new[cell], windows)
        return {"post": found} if found else {}

    def _json(self, kind: Scalar, code: int, windows: Windows) -> Any:
        match kind:
            case OptionalType(of):
                return None if code == 0 else self._json(of, code - 1, windows)
            case SortType(name) if name in self.processes:
                return [
                    self._json(var.value, self.layout.given[var.name][code], windows) for var in self.processes[name]
                ]
            case SortType(name):
                return self.layout.elements[name][code]
            case NatType(name) if name in self.steps.uses.plain:
                return code
            case NatType(name):
                return self.numbers.of(name, windows.values[name][code])
            case BoolType():
                return bool(code)
            case EnumType(members=members):
                return members[code]
            case IntType(lo=lo):
                return lo + code


def timed(events: Iterable[dict[str, Any]], sources: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """The events with their sources, numbers and times: instants for one source, overlapping intervals for several.

    The true order lies within the intervals. With several sources, some events name an earlier event as their cause.
    """
    clock = 1_000_000
    seqs, begins = [0] * sources, [0] * sources
    for event in events:
        clock += chance.randint(1, 40)
        place = chance.randrange(sources)
        seqs[place] += 1
        if sources == 1:
            yield {"source": "n1", "seq": seqs[0], "t": [clock, clock], **event}
            continue
        # Begins of a source must ascend, and the true time of the event lies between begin and end.
        begins[place] = max(begins[place], clock - chance.randint(0, 60))
        cause = chance.randrange(sources)
        named = cause != place and seqs[cause] and not chance.randrange(CAUSES)
        yield {
            "source": f"n{place + 1}", "seq": seqs[place], "t": [begins[place], clock + chance.randint(0, 60)],
            **({"cause": [f"n{cause + 1}", seqs[cause]]} if named else {}), **event,
        }  # fmt: skip
