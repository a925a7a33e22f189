"""What a log says: events of sources, with their arguments and outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from holdfast.ir.errors import Place

Json = bool | int | float | str | None | Sequence["Json"] | Mapping[str, "Json"]
"""A value as JSON has it."""

UNKNOWN = "?"
"""The outcome of a request whose answer nobody heard: it may have taken effect, or not."""

STATE = "(state)"
"""The action of an event that is none: its ``post`` sets cells, as the log begins with them."""


class LogEvent(msgspec.Struct, frozen=True, gc=False):
    """One thing that a source did.

    ``number`` counts the events of a source from 1. ``begin`` and ``end`` are microseconds of one clock, between which
    the event took effect; they are equal for an instant. ``cause`` is the event, by source and number, that this one
    came after. ``args`` are arguments of the action by the names of its parameters; one that is missing is not known.
    An element of a sort is whatever the log calls it: a number, a text, or a list of both, such as a node with its
    epoch. ``outcome`` is None for a step that was taken, UNKNOWN, or the name of the error that was answered.
    ``span`` is the range of offsets that the event covers, if it stands for a run of single steps.
    ``pre`` and ``post`` are cells before and after the event: by field, nested by the field's keys. ``offset`` is the
    place of the event in a metadata log.
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
