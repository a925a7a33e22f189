"""Requests to the controller: repeated at its next leader, with a note of whether an attempt may have had an effect."""

from __future__ import annotations

import msgspec

from impl import wire
from impl.client.history import Ending
from impl.client.messages import Unreachable, name
from impl.client.node import ClientNode
from impl.errors import E


class Decision(msgspec.Struct, frozen=True):
    """``answer``: the answer of the controller, None without one. ``error``: the name of the last error.

    ``unknown``: whether an attempt may have had an effect that no answer reports.
    """

    answer: wire.ItemAnswer | None
    error: str
    unknown: bool

    def ending(self, error: str) -> Ending:
        """The ending of an operation whose last error is ``error``."""
        if error == E.NONE.name:
            return "ok"
        return "info" if self.unknown else "fail"


async def ask_controller(
    client: ClientNode, body: wire.Body, *, repeats: bool, retry_ms: int, patience_ms: int
) -> Decision:
    """Ask the controller. ``repeats``: whether the request may be sent again when an answer is missing.

    ``retry_ms``: the time between attempts. ``patience_ms``: how long attempts are repeated.

    A controller that loses its leadership answers NOT_CONTROLLER to a request that waits for its commit, but the next
    leader may have committed the request. So it is sent again, and if the later attempt is refused, the first one may
    still have taken effect.
    """
    unknown = False
    until = client.now + patience_ms
    while True:
        result = await client.request(body)
        if isinstance(result, wire.Reply):
            answer = result.answers[0]
            if answer.error is not E.NOT_CONTROLLER:
                return Decision(answer, answer.error.name, unknown)
            unknown = True
        elif not isinstance(result, Unreachable):
            unknown = True
            if not repeats:
                return Decision(None, name(result), unknown)
        if client.now >= until:
            return Decision(None, name(result), unknown)
        await client.sleep(retry_ms)
