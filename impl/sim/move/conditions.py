"""The conditions of a measured move: the times of messages, commits and the object store, and the bandwidth."""

from __future__ import annotations

from fractions import Fraction

import msgspec

MIB, GIB = 1 << 20, 1 << 30
GBIT = 10**9


class Conditions(msgspec.Struct, frozen=True):
    """``bandwidth``: the bits per second between a broker and the object store, shared by its transfers at a time.

    Times are in milliseconds. ``store``: an operation of the object store, besides the transfer of its bytes.
    ``message``: a request to a controller; its reply takes as long. ``commit``: from the append of a batch to its
    commit. ``metadata``: from a commit to the time at which a broker has it in its image.
    """

    bandwidth: int = GBIT
    store: int = 30
    message: int = 2
    commit: int = 10
    metadata: int = 10

    @property
    def bytes_per_ms(self) -> Fraction:
        """The bandwidth in bytes per millisecond."""
        return Fraction(self.bandwidth, 8_000)

    def transfer(self, size: int) -> int:
        """How long a number of bytes takes without other transfers: the nearest whole number of milliseconds."""
        return nearest(size / self.bytes_per_ms)

    @property
    def call(self) -> int:
        """The time from a request that changes the metadata to its answer."""
        return 2 * self.message + self.commit


def nearest(ms: Fraction) -> int:
    """The nearest whole number; a half counts up."""
    return (ms + Fraction(1, 2)).__floor__()
