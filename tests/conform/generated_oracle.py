"""Decide whether a log is a run of a model, by trying every run in CPython with all streams together.

This shares nothing with the judge of logs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from holdfast.ir.marks import ScopeMark
from holdfast.lang.model import Model
from holdfast.lang.rules import Refused
from holdfast.lang.sorts import Cut
from tests.conform.generated_scope import Line, LogScope, cells
from tests.generated.oracle import Oracle

States = dict[tuple[Any, ...], Model]

UNKNOWN = "?"

MOST_STATES = 150
"""The most states of the model at once."""

MOST_CHOICES = 120
"""The most choices of the unknown arguments of a step."""


class TooManyError(Exception):
    """The log leaves too many possibilities for this search."""


class LogOracle:
    """A model in the scope of one log, its header and its lines. ``hidden``: the actions that the log omits.

    Other arguments are passed to ``LogScope``.
    """

    def __init__(
        self,
        model: type[Model],
        mark: ScopeMark,
        log: Sequence[Line],
        *,
        variants: Iterable[str] = (),
        removed: Iterable[str] = (),
        hidden: Iterable[str] = (),
        **more: Any,
    ) -> None:
        self.lines = list(log[1:])
        self.scope = LogScope(model, mark, log, **more)
        self.oracle = Oracle(model, self.scope.mark, variants, removed)
        self.fields = [name for name in self.oracle.fields if name not in self.oracle.ghosts]
        self.hidden = [act for act in self.oracle.acts if act.name in set(hidden)]
        self.hidden_args = {act.name: self._choices(act.types) for act in self.hidden}

    def possible(self) -> bool:
        """Whether some order of the lines is a run. Raises NoStartError if the model has no initial state."""
        before = [self._before(place) for place in range(len(self.lines))]
        nodes: dict[frozenset[int], States] = {frozenset(): self._unlike(self.oracle.starts())}
        for _ in self.lines:
            following: dict[frozenset[int], States] = {}
            for taken, states in nodes.items():
                for place, line in enumerate(self.lines):
                    if place not in taken and before[place] <= taken:
                        after = self._after(line, states)
                        if after:
                            following.setdefault(taken | {place}, {}).update(after)
            nodes = following
        return bool(nodes)

    def _before(self, place: int) -> set[int]:
        """The lines that come before a line in every order."""
        line = self.lines[place]
        return {
            number
            for number, other in enumerate(self.lines)
            if (other["source"] == line["source"] and other["seq"] < line["seq"])
            or other["t"][1] < line["t"][0]
            or [other["source"], other["seq"]] == line.get("cause")
        }

    def _after(self, line: Line, states: States) -> States:
        found: list[Model] = []
        for state in self._with_hidden(states).values():
            if self._agrees(state, line.get("pre", {})):
                found += self._steps(line, state)
        return self._unlike(state for state in found if self._agrees(state, line.get("post", {})))

    def _with_hidden(self, states: States) -> States:
        found = dict(states)
        waiting = list(found.values())
        for state in waiting:
            for act in self.hidden:
                for args in self.hidden_args[act.name]:
                    after = self.oracle.step(state, act, args)
                    if isinstance(after, Model) and (key := self.oracle.key(after, self.fields)) not in found:
                        found[key] = after
                        waiting.append(after)
                        _check(len(found), MOST_STATES)
        return found

    def _steps(self, line: Line, state: Model) -> Iterator[Model]:
        error, told = line.get("error"), line.get("args", {})
        kinds = self.scope.params[line["action"]]
        known = {name: self.scope.value(kinds[name], value) for name, value in told.items()}
        if error == UNKNOWN:
            yield state
        for rest in self._choices([(name, kind) for name, kind in kinds.items() if name not in known]):
            try:
                after = state.take(line["action"], **known, **rest)
            except Refused as refused:
                if refused.error is not None and refused.error.name == error:
                    yield state
            except Cut:
                pass
            else:
                if error in (None, UNKNOWN):
                    yield after

    def _choices(self, params: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
        found = list(itertools.islice(self.oracle.values(params), MOST_CHOICES + 1))
        _check(len(found), MOST_CHOICES)
        return found

    def _agrees(self, state: Model, told: Mapping[str, Any]) -> bool:
        for name, keys, value in cells(told, self.scope.kinds):
            kinds, kind = self.scope.kinds[name]
            held = getattr(state, name)
            place = tuple(self.scope.value(key_kind, key) for key_kind, key in zip(kinds, keys, strict=True))
            if (held[place] if place else held) != self.scope.value(kind, value):
                return False
        return True

    def _unlike(self, states: Iterable[Model]) -> States:
        found = {self.oracle.key(state, self.fields): state for state in states}
        _check(len(found), MOST_STATES)
        return found


def _check(number: int, most: int) -> None:
    if number > most:
        raise TooManyError
