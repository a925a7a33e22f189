"""The reservation of a node's WAL: one object that names the process which may acknowledge appends (WL-01).

A process that takes the WAL over overwrites the reservation. From then on no other process finds its own bytes there.
"""

from __future__ import annotations

import struct

from impl.store.bucket import Bucket, StoreError

_RESERVATION = struct.Struct(">4sqq?")
_MAGIC = b"hfR1"


class Reservation:
    """The reservation of one process: of the node itself, or of a failover worker that stands for it."""

    def __init__(self, bucket: Bucket, node: int, epoch: int, *, failover: bool = False) -> None:
        self._bucket = bucket
        self._key = f"reservation/{node}"
        self._own = _RESERVATION.pack(_MAGIC, node, epoch, failover)

    async def acquire(self) -> None:
        """Overwrite the reservation. Raises StoreError if it is unknown whether the put took effect.

        The put is not repeated: a repetition that arrives late would take the WAL away from a newer process.
        """
        await self._bucket.put(self._key, self._own, attempts=1)

    async def is_own(self) -> bool:
        """Whether the reservation names this process. False if it cannot be read."""
        try:
            found = await self._bucket.find(self._key)
        except StoreError:
            return False
        return found is not None and found.data == self._own


class NoReservation:
    """Stands for the reservation of a channel, which has none: only the epoch in its keys says whose it is (ZR-17)."""

    async def acquire(self) -> None:
        """Nothing to take."""

    async def is_own(self) -> bool:
        """Nobody else writes under this epoch."""
        return True


def decode(data: bytes) -> tuple[int, int, bool]:
    """The node, the epoch and the failover flag of the process that a reservation names."""
    _, node, epoch, failover = _RESERVATION.unpack(data)
    return node, epoch, failover
