"""The differences between a model and the controller that are intended: different answers, requests that are not tried,
facts that are not compared; each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from impl.errors import E

Cells = Mapping[tuple[Any, ...], Any]
"""The values of all cells of a state and all constants of the scope, by name and keys: ``("epoch", "s1")``."""
Arguments = Mapping[str, Any]
"""The arguments of an action, by the names of its parameters."""
Answered = Callable[[Cells, Arguments], bool]


@attrs.frozen
class IntendedDifference:
    """An intended difference for some actions of a model, with its ``rule`` and ``reason``.

    ``answered``: a predicate on the state before and the arguments. Where it holds, the model answers ``model`` and the
    controller ``controller``. If it is None, the answers are equal, and the reason says how the two are mapped.
    """

    model_name: str
    actions: tuple[str, ...]
    rule: str
    reason: str
    answered: Answered | None = None
    model: E = E.NONE
    controller: E = E.NONE


def _opened_anew(cells: Cells, args: Arguments) -> bool:
    """Whether another node or epoch has opened the stream since the recovering process lost it."""
    p, s = args["p"], args["s"]
    return bool(cells["epoch", s] > cells["handle", p, s] or cells["owner", s] != cells["node_of", p])


DIFFERENCES = (
    IntendedDifference(
        "fast_close",
        ("end_recovery",),
        "RC-06",
        "A recovery has ended when its close is answered with STREAM_FENCED. The model's step is the end of the "
        "recovery, and not the request.",
        answered=_opened_anew,
        controller=E.STREAM_FENCED,
    ),
    IntendedDifference(
        "replica_reassignment",
        ("append", "fetch"),
        "RA-45",
        "The model keeps no leader epoch, but who fetches under it: a new epoch is compared while somebody fetches.",
    ),
    IntendedDifference(
        "cancellation",
        ("crash", "isolate"),
        "FO-10",
        "In the model a partition may go to any active broker. The controller chooses the broker with the fewest "
        "partitions; the model takes the step with the same choice.",
    ),
    IntendedDifference(
        "cancellation",
        ("cancel",),
        "CA-44",
        "In the model the origin leads with the cancel or after an election. The controller lets it lead at once "
        "wherever that is allowed.",
    ),
    IntendedDifference(
        "cancellation",
        ("restart",),
        "CK-01",
        "The model has no node epochs: a restart voids what the process before it has sent. Each restart registers the "
        "next node epoch, and a request carries the newest.",
    ),
    IntendedDifference(
        "cancellation",
        ("timer_fires",),
        "EL-01",
        "The model has no time. The clock moves to the deadline of the timer; while none runs, eleven seconds pass and "
        "nothing fires.",
    ),
)


def answers(model: str, action: str, cells: Cells, args: Arguments) -> Iterator[IntendedDifference]:
    """The differences that allow the controller another answer to an action. ``cells``: the state before it."""
    for each in DIFFERENCES:
        named = each.model_name == model and action in each.actions
        if named and each.answered is not None and each.answered(cells, args):
            yield each
