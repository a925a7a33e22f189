"""What the facts expect of the answer to a request, or to an item of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from impl.errors import E
from impl.metadata.image import Image

Effect = Callable[[Image], Iterator[str]]
"""Looks at the metadata after an event, and says in words what they should have been."""


class ExpectedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer that the facts demand.

    ``errors``: the answer has one of these; if empty, any. ``writes``: whether the event has records; None: either.
    ``values``: the answer holds these. ``effect``: what the records do; None: anything.
    """

    errors: tuple[E, ...] = ()
    writes: bool | None = None
    values: dict[str, Any] = {}
    effect: Effect | None = None


OPEN = ExpectedAnswer()
"""The facts say nothing, or say it of a state that an earlier item of the request has changed."""


def refused(*errors: E) -> ExpectedAnswer:
    """A refusal, which changes nothing."""
    return ExpectedAnswer(errors=errors, writes=False)


def unchanged(**values: Any) -> ExpectedAnswer:
    """A success that changes nothing."""
    return ExpectedAnswer(errors=(E.NONE,), writes=False, values=values)


def written(effect: Effect | None = None, **values: Any) -> ExpectedAnswer:
    """A success with records."""
    return ExpectedAnswer(errors=(E.NONE,), writes=True, values=values, effect=effect)
