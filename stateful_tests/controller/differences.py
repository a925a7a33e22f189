"""Where a model and the controller differ on purpose: what is answered otherwise, what is not tried, what is not
compared, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from impl.errors import E

if TYPE_CHECKING:
    from impl.controller.node import Controller

Cells = Mapping[tuple[Any, ...], Any]
"""The value of each cell of a state, and of each constant of the scope, by its name and keys: ``("epoch", "s1")``."""
Arguments = Mapping[str, Any]
"""The arguments of an action, by the names of its parameters."""
Answered = Callable[[Cells, Arguments, "Controller"], bool]


@attrs.frozen
class Difference:
    """``answered``: the states in which the model answers ``model`` to the actions, and the controller ``controller``.
    ``untried``: the states in which the actions are not tried. Without either, the reason says how the two are mapped.
    """

    model_name: str
    actions: tuple[str, ...]
    rule: str
    reason: str
    answered: Answered | None = None
    model: E = E.NONE
    controller: E = E.NONE
    untried: Callable[[Cells], bool] | None = None


def _sealed_elsewhere(cells: Cells, args: Arguments, controller: Controller) -> bool:
    """The stream is CLOSED, and its range does not end where the stream does: its last close was a legacy close."""
    stream = int(args["s"][1:]) - 1
    current = controller.image.current_range(stream)
    end = controller.image.streams[stream].end
    return not cells["opened", args["s"]] and current is not None and current.end != end


def _opened_anew(cells: Cells, args: Arguments, controller: Controller) -> bool:  # noqa: ARG001
    """The stream was opened anew since the process, which recovers it, lost it: another node or epoch has it."""
    p, s = args["p"], args["s"]
    return bool(cells["epoch", s] > cells["handle", p, s] or cells["owner", s] != cells["node_of", p])


def _completion_is_due(cells: Cells) -> bool:
    """A reassignment is running whose remaining replicas are all in sync: an unclean election has just reached that."""
    brokers = [key[1] for key in cells if key[0] == "replica"]
    running = any(cells["adding", n] or cells["removing", n] for n in brokers)
    remaining = [n for n in brokers if cells["replica", n] and not cells["removing", n]]
    return running and bool(remaining) and all(cells["isr", n] for n in remaining)


DIFFERENCES = (
    Difference(
        "FastClose",
        ("close",),
        "ST-33",
        "A fast close repeats an earlier one if it names the end of the current range. The model keeps no ends of "
        "ranges and compares the end of the stream, which lies above the range after a legacy close (ST-36).",
        answered=_sealed_elsewhere,
        controller=E.OFFSET_NOT_MATCHED,
    ),
    Difference(
        "FastClose",
        ("close",),
        "ST-34",
        "As ST-33, the other way round: the close names the end of the range, and the stream ends above it.",
        answered=_sealed_elsewhere,
        model=E.OFFSET_NOT_MATCHED,
    ),
    Difference(
        "FastClose",
        ("end_recovery",),
        "RC-06",
        "A recovery has ended when its close is answered with STREAM_FENCED. The model's step is the end of the "
        "recovery, and not the request.",
        answered=_opened_anew,
        controller=E.STREAM_FENCED,
    ),
    Difference(
        "FastClose",
        ("register",),
        "ND-03",
        "The row of an entry has the epoch of the range in which the entry lies. The model keeps the current range "
        "only, so that this epoch is not compared.",
    ),
    Difference(
        "ReplicaReassignment",
        ("prefer", "fence", "unfence", "shrink"),
        "RA-44",
        "The builder completes a reassignment with any record. The model completes it in starts and in AlterPartition; "
        "an unclean election may leave one to complete, and then another record.",
        untried=_completion_is_due,
    ),
    Difference(
        "ReplicaReassignment",
        ("append", "fetch"),
        "RA-45",
        "The model keeps no leader epoch, but who fetches under it: a new epoch is compared while somebody fetches.",
    ),
    Difference(
        "Cancellation",
        ("crash", "isolate"),
        "FO-10",
        "In the model a partition may go to any active broker. The controller chooses the broker with the fewest "
        "partitions; the model takes the step with the same choice.",
    ),
    Difference(
        "Cancellation",
        ("cancel",),
        "CA-44",
        "In the model the origin leads with the cancel or after an election. The controller lets it lead at once "
        "wherever that is allowed.",
    ),
    Difference(
        "Cancellation",
        ("restart",),
        "CK-01",
        "The model has no node epochs: a restart voids what the process before it has sent. Each restart registers the "
        "next node epoch, and a request carries the newest.",
    ),
    Difference(
        "Cancellation",
        ("timer_fires",),
        "EL-01",
        "The model has no time. The clock moves to the deadline of the timer; while none runs, eleven seconds pass and "
        "nothing fires.",
    ),
)


def answers(model: type, action: str, cells: Cells, args: Arguments, controller: Controller) -> Iterator[Difference]:
    """The differences that let the controller answer an action in its own way, in the state ``cells`` before it."""
    for each in DIFFERENCES:
        named = each.model_name == model.__name__ and action in each.actions
        if named and each.answered is not None and each.answered(cells, args, controller):
            yield each


def is_untried(model: type, action: str, cells: Cells) -> bool:
    """Whether a difference keeps an action from being tried in a state."""
    return any(
        each.untried is not None and each.untried(cells)
        for each in DIFFERENCES
        if each.model_name == model.__name__ and action in each.actions
    )
