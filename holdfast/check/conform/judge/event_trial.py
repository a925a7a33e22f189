"""The data that the parts of a world exchange: an event as the world sees it, a path to a state, a tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from holdfast.check.conform.judge.event_facts import Facts, ToldCell
from holdfast.check.conform.logs.names import Number
from holdfast.ir.system import Action
from holdfast.lower.layout import Field
from holdfast.lower.outcome import Outcome, Taken

Expected = tuple[int, int, ToldCell]
"""A cell, the code that an event gives it, and the part of the event that does."""

Args = tuple[int, ...]


def agrees(state: bytes, cells: Sequence[Expected]) -> bool:
    """Whether the cells of a state have the codes that an event gives them."""
    for cell, code, _ in cells:  # noqa: SIM110 - a generator takes twice as long
        if state[cell] != code:
            return False
    return True


@attrs.frozen
class StatePath:
    """A path to a state: the last step, and the path before it. ``args`` are codes, or numbers of Nats.

    ``counted``: the cells that the step counted on: the field, the index of the cell in the field, its new number.
    """

    action: str
    args: tuple[int | Number, ...]
    before: StatePath | None = None
    counted: tuple[tuple[str, int, Number], ...] = ()

    def steps(self) -> list[StatePath]:
        """All steps of the path, the first one first."""
        found: list[StatePath] = []
        at: StatePath | None = self
        while at is not None:
            found.append(at)
            at = at.before
        return found[::-1]


@attrs.define
class EventTrial:
    """An event as one world sees it.

    ``wanted``: the numbers that the windows must hold. ``counted``: those of them to which the action may count.
    ``own``: whether the event concerns this world's streams. ``action`` is None for an event of another stream that
    only tells cells of this world.
    """

    facts: Facts
    action: Action | None
    own: bool
    pre: list[ToldCell]
    post: list[ToldCell]
    span: tuple[Number, Number] | None
    wanted: list[Number]
    counted: list[Number]


@attrs.define
class JudgeTally:
    """Figures about the work of a log's worlds. ``hidden`` counts the events that needed hidden steps."""

    decisive: set[str] = attrs.field(factory=set)
    peak: int = 1
    unjudged: Counter[str] = attrs.field(factory=Counter)
    hidden: Counter[str] = attrs.field(factory=Counter)
    widest: dict[str, int] = attrs.field(factory=dict)
    steps: int = 0


def counted_on(outcome: Outcome, state: bytes, field: Field, code: int) -> bytes | None:
    """The state after a step that counts one cell of the field on from ``code`` and changes no other cell of the field;
    None if the outcome is no such step.
    """
    if not isinstance(outcome, Taken):
        return None
    after = outcome.state
    changed = [cell for cell in range(field.offset, field.offset + field.count) if state[cell] != after[cell]]
    if len(changed) != 1 or state[changed[0]] != code or after[changed[0]] != code + 1:
        return None
    return after
