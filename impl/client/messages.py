"""The messages of a client node: inputs, outputs, and the results of requests."""

from __future__ import annotations

from impl import wire
from impl.broker.messages import Command, Done
from impl.errors import E
from impl.wire import Message

# Inputs -----------------------------------------------------------------------------------------------------------


class Unreachable(Message, frozen=True, gc=False):
    """The receiver of a request is gone, or refuses the connection. So the request had no effect."""

    id: int


class Lost(Message, frozen=True, gc=False):
    """The connection broke after a request was sent. It is unknown whether the request had an effect."""

    id: int


Input = Done | wire.Reply | Unreachable | Lost | wire.Woken


# Outputs ----------------------------------------------------------------------------------------------------------


class ToBroker(Message, frozen=True, gc=False):
    """A command for the broker of a node."""

    node: int
    command: Command


Output = ToBroker | wire.Request | wire.Wake


# Results of a request -----------------------------------------------------------------------------------------------


class TimedOut(Message, frozen=True, gc=False):
    """No answer came in time. It is unknown whether the request had an effect."""

    id: int


class NoLeader(Message, frozen=True, gc=False):
    """No broker names a leader of the partition, so no request was sent."""


Silence = Unreachable | Lost | TimedOut | NoLeader
Result = Done | Silence
"""The result of a request to a broker."""

_NAMES: dict[type, str] = {
    Unreachable: "unreachable",
    Lost: "connection lost",
    TimedOut: "timeout",
    NoLeader: "no leader",
}


def name(result: Done | wire.Reply | Silence) -> str:
    """The error of a result as it stands in a history."""
    if isinstance(result, Done):
        return result.error.name
    if isinstance(result, wire.Reply):
        return result.answers[0].error.name
    return _NAMES[type(result)]


def is_unknown(result: Result) -> bool:
    """Whether the effect of a request to a broker is unknown."""
    return isinstance(result, Lost | TimedOut) or (isinstance(result, Done) and result.error is E.REQUEST_TIMED_OUT)
