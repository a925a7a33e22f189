"""The options of a run, besides its seed."""

from __future__ import annotations

import msgspec

from impl.controller.view import Profile
from impl.sim import script
from impl.sim.script import ScriptOperation
from impl.sim.tape import Fault


class Fork(msgspec.Struct, frozen=True):
    """A virtual time in milliseconds, from which on faults are drawn from another seed."""

    at: int
    seed: int


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a cluster, its clients and its faults.

    ``partitions``: with 0, clients use streams, and a director assigns these to brokers. Otherwise clients use
    partitions, which the metadata assign, and all streams belong to partitions.

    ``zones``: with 0 there is no zone routing. Otherwise the brokers and clients take turns in that many zones, and
    clients speak to brokers of their zone. It needs partitions.

    ``operations``: the number of operations in the script. ``faults``: as for ``faults.swarm``. ``recorded``: the
    faults to replay, instead of drawing them; ``operations_of``: the script to replay. ``fork``: where new
    faults take the place of the recorded ones; None to replay all of them. ``without``: kinds of faults
    that are left out. ``more_moves``: whether the heal phase adds the moves, cancels and swaps that the script has not
    led to.
    """

    brokers: int = 3
    controllers: int = 3
    streams: int = 4
    partitions: int = 0
    zones: int = 0
    clients: int = 4
    operations: int = 300
    span_ms: int = script.SPAN_MS
    faults: str | tuple[str, ...] = "all"
    without: tuple[str, ...] = ()
    profile: Profile = Profile()
    recorded: tuple[Fault, ...] | None = None
    operations_of: tuple[ScriptOperation, ...] | None = None
    fork: Fork | None = None
    more_moves: bool = True
