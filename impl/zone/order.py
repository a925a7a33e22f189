"""The order of the batches of one producer at a main (ZR-15, ZR-28, and steps 4 to 6 of zone-routing.md 2.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

import attrs

SHORT = 32_767


def order_hint(topic: str, partition: int, connection: str | None, *, direct: bool = False) -> int:
    """The number that all batches of a partition from one connection share (ZR-15). ``connection``: None for none.

    ``direct``: for a write without a channel, whose number leaves the connection out.
    """
    parts = [_text_hash(topic), partition, 0 if connection is None else _text_hash(connection)]
    number = 1
    for part in parts[:2] if direct else parts:
        number = 31 * number + part
    number = _signed(number)
    # The remainder has the sign of the number.
    return number % SHORT if number >= 0 else -(-number % SHORT)


def _text_hash(text: str) -> int:
    """The hash of a text in Java: over its UTF-16 units, in 32 bits."""
    number = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(data), 2):
        number = 31 * number + int.from_bytes(data[place : place + 2], "big")
    return _signed(number)


def _signed(number: int) -> int:
    """The lowest 32 bits, with a sign."""
    low = number & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


def stripe(hint: int, stripes: int) -> int:
    """The stripe of an order hint, which is taken without its sign."""
    return (hint & 0xFFFF) % stripes


@attrs.define
class StripeItem:
    """A batch that waits in a stripe. ``failed``: whether the read of its record failed; None while it lasts."""

    name: Hashable
    failed: bool | None = None


class Stripe:
    """Hands batches over in the order in which they came, each once its record has been read, or could not be."""

    def __init__(self) -> None:
        self._items: deque[StripeItem] = deque()

    def read(self, name: Hashable) -> None:
        """A batch has come, and the read of its record starts."""
        self._items.append(StripeItem(name))

    def done(self, name: Hashable, *, failed: bool) -> list[StripeItem]:
        """The read has ended. Returns the batches that are handed over now. Raises LookupError for an unknown one."""
        item = next((each for each in self._items if each.name == name and each.failed is None), None)
        if item is None:
            raise LookupError(f"no read of {name} is under way")
        item.failed = failed
        released = []
        while self._items and self._items[0].failed is not None:
            released.append(self._items.popleft())
        return released
