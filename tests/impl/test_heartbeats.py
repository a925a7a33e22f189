"""ND-31: silent brokers are fenced, unless all of them are silent at once."""

from __future__ import annotations

import pytest

from impl import wire
from impl.controller.heartbeats import RECOVERY_MS, SESSION_MS, Heartbeats
from impl.controller.node import PERIOD_MS, Controller
from impl.metadata.image import Image
from impl.records import BrokerRegistration
from impl.rules import without

BROKERS = (1, 2, 3)
IMAGE = Image()
for _broker in BROKERS:
    IMAGE.apply(BrokerRegistration(_broker, "active"))


def _all_heard(now: int) -> Heartbeats:
    heartbeats = Heartbeats()
    for broker in BROKERS:
        heartbeats.heard(broker, IMAGE, now)
    return heartbeats


def test_a_silent_broker_is_fenced_after_its_session() -> None:
    """One of three brokers is silent for its session of nine seconds, and is fenced then, not earlier."""
    heartbeats = _all_heard(1_000)
    heartbeats.heard(1, IMAGE, 5_000)
    heartbeats.heard(3, IMAGE, 5_000)
    assert heartbeats.silent(IMAGE, 1_000 + SESSION_MS - 1) == []
    assert heartbeats.silent(IMAGE, 1_000 + SESSION_MS) == [2]


def test_a_new_controller_gives_each_broker_a_session() -> None:
    """A new controller has not heard of any broker, which does not count as silence."""
    heartbeats = _all_heard(0)
    heartbeats.forget(100_000)
    heartbeats.heard(1, IMAGE, 105_000)
    assert heartbeats.silent(IMAGE, 100_000 + SESSION_MS - 1) == []
    assert heartbeats.silent(IMAGE, 100_000 + SESSION_MS) == [2, 3]


def test_the_breaker_closes_by_a_second_heartbeat_half_a_minute_later() -> None:
    """If all are silent nobody is fenced. A broker that stays silent is fenced only once the breaker has closed."""
    heartbeats = _all_heard(0)
    assert heartbeats.silent(IMAGE, SESSION_MS) == []
    assert heartbeats.breaker == "open"
    heartbeats.heard(1, IMAGE, 20_000)
    assert heartbeats.breaker == "half open"
    assert heartbeats.silent(IMAGE, 21_000) == []
    heartbeats.heard(1, IMAGE, 20_000 + RECOVERY_MS - 1)
    assert heartbeats.silent(IMAGE, 20_000 + RECOVERY_MS) == []
    heartbeats.heard(1, IMAGE, 20_000 + RECOVERY_MS)
    assert heartbeats.breaker == "closed"
    assert heartbeats.silent(IMAGE, 20_000 + RECOVERY_MS) == [2, 3]


def test_the_breaker_opens_again_while_it_is_half_open() -> None:
    """While the breaker is half-open it may open again, and then heartbeats are counted anew."""
    heartbeats = _all_heard(0)
    heartbeats.silent(IMAGE, SESSION_MS)
    heartbeats.heard(1, IMAGE, 20_000)
    assert heartbeats.silent(IMAGE, 20_000 + SESSION_MS) == []
    assert heartbeats.breaker == "open"
    heartbeats.heard(1, IMAGE, 20_000 + RECOVERY_MS)
    assert heartbeats.breaker == "half open"


def test_no_broker_is_no_silence() -> None:
    """The breaker of a cluster without unfenced brokers stays closed."""
    heartbeats = Heartbeats()
    assert heartbeats.silent(Image(), 100_000) == []
    assert heartbeats.breaker == "closed"


# The node ---------------------------------------------------------------------------------------------------------


def _leader() -> Controller:
    controller = Controller(leads=False)
    controller.handle(wire.ElectionNotice(1), 0)
    for broker in BROKERS:
        _ask(controller, wire.SetBroker(broker, "active"), 0)
    return controller


def _ask(controller: Controller, body: wire.Body, now: int) -> None:
    controller.handle(wire.Request(9, 1, body), now)
    controller.handle(wire.CommitNotice(1, controller.log.end), now)


def _states(controller: Controller) -> list[str]:
    return [controller.image.brokers[broker] for broker in BROKERS]


def _run(controller: Controller, until: int, living: tuple[int, ...]) -> None:
    """Wake the controller each second; the living brokers send heartbeats."""
    for now in range(controller.now + PERIOD_MS, until + 1, PERIOD_MS):
        for broker in living:
            _ask(controller, wire.Heartbeat(broker), now)
        controller.handle(wire.WakeNotice(), now)


def test_the_controller_fences_who_is_silent() -> None:
    """The wake-up at the end of a silent broker's session fences that broker, and no other."""
    controller = _leader()
    _run(controller, SESSION_MS - PERIOD_MS, (1, 3))
    assert _states(controller) == ["active", "active", "active"]
    _run(controller, SESSION_MS, (1, 3))
    assert _states(controller) == ["active", "fenced", "active"]


@pytest.mark.parametrize("removed", [False, True])
def test_a_controller_that_hears_nobody_fences_nobody(removed: bool) -> None:
    """A controller that hears no broker fences none. Without the rule it fences all of them."""
    controller = _leader()
    with without(*(["ND-31"] if removed else [])):
        _run(controller, 60_000, ())
    assert _states(controller) == [["active", "fenced"][removed]] * 3


def test_a_fenced_broker_is_told_so() -> None:
    """A fenced broker's heartbeat is answered with its state. Only a registration unfences it."""
    controller = _leader()
    _run(controller, SESSION_MS, (1, 3))
    controller.handle(wire.CommitNotice(1, controller.log.end), controller.now)
    for broker, state in ((2, "fenced"), (1, "active"), (7, "gone")):
        (reply,) = controller.handle(wire.Request(9, 1, wire.Heartbeat(broker)), controller.now)
        assert isinstance(reply, wire.Reply)
        assert reply.answers[0].values == {"state": state}
    _ask(controller, wire.SetBroker(2, "active"), controller.now)
    _run(controller, controller.now + SESSION_MS - PERIOD_MS, (1, 3))
    assert _states(controller) == ["active", "active", "active"]


def test_a_broker_in_controlled_shutdown_is_heard_of() -> None:
    """ND-30: its minute begins with its last heartbeat."""
    controller = _leader()
    _ask(controller, wire.SetBroker(2, "shutting_down"), 1_000)
    _ask(controller, wire.Heartbeat(2), 4_000)
    _ask(controller, wire.Heartbeat(3), 5_000)
    assert controller.heartbeats.left == {2: 4_000}
