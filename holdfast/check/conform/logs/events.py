"""The events of a log: source, action, arguments and outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from holdfast.ir.errors import Place

Json = bool | int | float | str | None | Sequence["Json"] | Mapping[str, "Json"]
"""A JSON value."""

UNKNOWN = "?"
"""The outcome of a request without an answer: it may have taken effect, or not."""

STATE = "(state)"
"""The action of a pseudo-event: its ``post`` sets the cells with which the log begins."""


class LogEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a source.

    ``number`` counts the events of a source from 1. The event took effect between ``begin`` and ``end``, which are
    microseconds of one clock; they are equal for an instant. ``cause`` is an event, by source and number, that came
    before this one. ``args`` are the arguments by the names of the action's parameters; a missing one is unknown. An
    element of a sort is written in the log's own way: a number, a text, or a list of both, such as a node with its
    epoch. ``outcome`` is None for a step that was taken, UNKNOWN, or the name of the error in the answer. ``span`` is
    the range of offsets that the event covers, if it stands for several single steps. ``pre`` and ``post`` are cells
    before and after the event: by field, nested by the field's keys. ``offset`` is the place of the event in a metadata
    log.
    """

    at: Place
    source: str
    number: int
    begin: int
    end: int
    cause: tuple[str, int] | None
    action: str
    args: Mapping[str, Json]
    outcome: str | None = None
    span: tuple[int, int] | None = None
    pre: Mapping[str, Json] = msgspec.field(default_factory=dict)
    post: Mapping[str, Json] = msgspec.field(default_factory=dict)
    offset: int | None = None
