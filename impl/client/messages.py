"""The messages of a client node: inputs, outputs, and the results of requests."""

from __future__ import annotations

from impl import wire
from impl.broker.messages import Command, CommandAnswer
from impl.errors import E
from impl.wire import WireMessage

# Inputs -----------------------------------------------------------------------------------------------------------


class Unreachable(WireMessage, frozen=True, gc=False):
    """The receiver of a request is gone, or refuses the connection. So the request had no effect."""

    id: int


class ConnectionLoss(WireMessage, frozen=True, gc=False):
    """The connection broke after a request was sent. It is unknown whether the request had an effect."""

    id: int


Input = CommandAnswer | wire.Reply | Unreachable | ConnectionLoss | wire.WakeNotice


# Outputs ----------------------------------------------------------------------------------------------------------


class ToBroker(WireMessage, frozen=True, gc=False):
    """A command for the broker of a node."""

    node: int
    command: Command


Output = ToBroker | wire.Request | wire.Wake


# Results of a request -----------------------------------------------------------------------------------------------


class Timeout(WireMessage, frozen=True, gc=False):
    """No answer came in time. It is unknown whether the request had an effect."""

    id: int


class NoLeader(WireMessage, frozen=True, gc=False):
    """No broker names a leader of the partition, so no request was sent."""


UNKNOWN = frozenset({E.REQUEST_TIMED_OUT, E.LEADER_NOT_AVAILABLE})
"""The errors after which the effect of a request is unknown. A proxy answers the second one, too, if its main is silent
(ZR-27).
"""
Silence = Unreachable | ConnectionLoss | Timeout | NoLeader
Result = CommandAnswer | Silence
"""The result of a request to a broker."""

_NAMES: dict[type, str] = {
    Unreachable: "unreachable",
    ConnectionLoss: "connection lost",
    Timeout: "timeout",
    NoLeader: "no leader",
}


def name(result: CommandAnswer | wire.Reply | Silence) -> str:
    """The error of a result as it stands in a history."""
    if isinstance(result, CommandAnswer):
        return result.error.name
    if isinstance(result, wire.Reply):
        return result.answers[0].error.name
    return _NAMES[type(result)]


def is_unknown(result: Result) -> bool:
    """Whether the effect of a request to a broker is unknown."""
    return isinstance(result, ConnectionLoss | Timeout) or (
        isinstance(result, CommandAnswer) and result.error in UNKNOWN
    )
