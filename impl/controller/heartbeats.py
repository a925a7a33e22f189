"""The times of the last heartbeats (ND-30), and a circuit breaker: no fencing while all brokers look dead (ND-31)."""

from __future__ import annotations

from impl.controller.nodes import unfenced
from impl.metadata.image import Image
from impl.records import BrokerRegistration
from impl.rules import rule

SESSION_MS = 9_000
"""A broker that sends no heartbeat for this long is fenced (streams.md 14, broker.session.timeout.ms)."""
RECOVERY_MS = 30_000
"""The least time between the two heartbeats that close the breaker."""


class Heartbeats:
    """The memory of one controller. A new controller has heard of nobody, and gives each broker a whole session.

    The breaker is *closed* at first. It *opens* when all unfenced brokers are silent at once: then the fault lies with
    the controller or its network, and to fence all brokers would stop the cluster. The first heartbeat makes it *half
    open*; a heartbeat at least ``RECOVERY_MS`` later closes it. Until then no broker is fenced for its silence.
    """

    def __init__(self, now: int = 0) -> None:
        self.forget(now)

    def forget(self, now: int) -> None:
        """Begin anew, with the breaker closed."""
        self._begun = now
        self._heard: dict[int, int] = {}
        self.left: dict[int, int] = {}
        """When each broker in controlled shutdown was last heard of."""
        self.breaker = "closed"
        self._half_open_since = now

    def observe(self, record: BrokerRegistration, image: Image, now: int) -> None:
        """Take in a new state of a broker. To register, or to begin a shutdown, counts as a heartbeat."""
        if record.state == "active":
            self.left.pop(record.broker_id, None)
        if record.state in ("active", "shutting_down"):
            self.heard(record.broker_id, image, now)

    def heard(self, broker: int, image: Image, now: int) -> None:
        """Note a heartbeat of a broker. It may move the breaker from open to half open, or from there to closed."""
        self._heard[broker] = now
        if image.brokers.get(broker) == "shutting_down":
            self.left[broker] = now
        if self.breaker == "open":
            self.breaker, self._half_open_since = "half open", now
        elif self.breaker == "half open" and now - self._half_open_since >= RECOVERY_MS:
            self.breaker = "closed"

    def silent(self, image: Image, now: int) -> list[int]:
        """The brokers to fence now, ascending. May open the breaker."""
        living = unfenced(image)
        stale = [each for each in living if now - self._heard.get(each, self._begun) >= SESSION_MS]
        # If all are silent at once, rather the controller or its network has failed.
        if stale and rule("ND-31", stale == living):
            self.breaker = "open"
        return stale if self.breaker == "closed" else []
