"""A client node and its driver."""

from __future__ import annotations

from impl import wire
from impl.broker.messages import CommandAnswer, FindLeaders
from impl.client.messages import Timeout
from tests.impl.client.scripted import Script


def test_a_delay_of_nothing_ends() -> None:
    """A delay of zero ends: the node asks to be woken at the present time, too."""
    script = Script()

    async def rest() -> None:
        await script.node.sleep(20)
        await script.node.sleep(0)

    gate = script.start(rest())
    script.pass_time()
    assert gate.happened
    assert script.now == 20


def test_a_request_has_one_result() -> None:
    """A request that timed out ignores a later answer."""
    script = Script()
    gate = script.start(script.node.ask(1, FindLeaders("t"), 50))
    asked = script.next()
    script.pass_time()
    assert gate.result() == Timeout(asked.command.id)
    script.take(CommandAnswer(7, asked.command.id))
    assert gate.result() == Timeout(asked.command.id)


def test_answers_find_their_requests() -> None:
    """Answers find their requests in any order. Requests to brokers and to the controller have different numbers."""
    script = Script()
    first = script.start(script.node.ask(1, FindLeaders("t")))
    second = script.start(script.node.request(wire.Heartbeat(1)))
    asked, requested = script.next(), script.next()
    script.answer(requested, state="active")
    assert not first.happened
    script.answer(asked)
    assert first.result() == CommandAnswer(7, 1)
    assert second.result().answers[0].values == {"state": "active"}
