"""A correct log service, and a history of its clients, which every oracle has to accept."""

from __future__ import annotations

import random

from impl.client.history import FINAL, History


class Service:
    """One stream. Sends take effect in the order of calls, and the owner changes from time to time."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.history = History()
        self.batches: list[tuple[int, int, int]] = []
        self.now = 0
        self.trimmed = 0
        self._broker = 0
        self._lives = 0
        self._values = 0

    @property
    def end(self) -> int:
        """The confirm offset."""
        return self.batches[-1][0] + self.batches[-1][1] if self.batches else 0

    def run(self, steps: int) -> History:
        """Run some operations of two clients, then the final read."""
        for _ in range(steps):
            self.now += 10
            match self.draw.randrange(8):
                case 0:
                    self.poll(self.draw.randint(self.trimmed, self.end))
                case 1:
                    self.trim()
                case 2:
                    self._broker += 1
                case _:
                    self.send()
        self.now += 10
        self.poll(self.trimmed, FINAL)
        self.history.missing = ""
        return self.history

    def send(self) -> None:
        """Send once: acknowledged, failed, or with unknown outcome, with or without effect."""
        self._values += 1
        count, kind = self.draw.randint(1, 3), self.draw.choice(("ok", "ok", "ok", "fail", "info"))
        process = f"client.{self._lives}"
        index = self.history.invoke(process, "send", 0, self._values, self.now, count=count)
        offset = self.end
        if kind == "ok" or (kind == "info" and self.draw.random() < 0.5):
            self.batches.append((offset, count, self._values))
        if kind == "ok":
            self.history.complete(index, "ok", self.now + 5, offset=offset, broker=f"b{self._broker}")
        else:
            self.history.complete(index, kind, self.now + 5, error="REQUEST_TIMED_OUT")
            self._lives += kind == "info"

    def poll(self, begin: int, phase: str | None = None) -> None:
        """Read from an offset to the end."""
        index = self.history.invoke("reader", "poll", 0, None, self.now, offset=begin, phase=phase)
        read = [batch for batch in self.batches if batch[0] + batch[1] > begin]
        self.history.complete(index, "ok", self.now + 5, value=read, offset=self.end, broker=f"b{self._broker}")

    def trim(self) -> None:
        """Trim to an offset, which may be inside a batch."""
        self.trimmed = self.draw.randint(self.trimmed, self.end)
        index = self.history.invoke("trimmer", "trim", 0, self.trimmed, self.now)
        self.history.complete(index, "ok", self.now + 5)
