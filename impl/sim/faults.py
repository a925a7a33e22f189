"""The kinds of faults, and which of them a run has: a swarm (Groce et al. 2012).

Some violations show only in runs with few kinds of faults. So each run draws from its seed the kinds that it has, and
the rate of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from impl.sim.tape import stream

NETWORK = {"loss": 0.003, "delay": 0.004, "duplicate": 0.01, "reorder": 0.02}
"""By message. A duplicate happens to requests and answers of controllers only: clients talk by TCP."""
PROCESS = {
    "pause": 0.008,
    "crash_fast": 0.006,
    "crash_slow": 0.004,
    "replace": 0.005,
    "stop": 0.004,
    "partition": 0.005,
    "cut": 0.005,
}
"""By node and ``TICK_MS``. ``replace``: a paused process gets a successor, and lives on beside it. ``stop``: a process
ends in order, or crashes meanwhile. ``cut``: as ``partition``, but in one direction.
"""
EPOCH = {"epoch_equal": 0.2, "epoch_back": 0.15}
"""By start of a process: it gets the epoch of the process before, or a lower one."""
CONTROLLER = {"failover": 0.03, "lost_tail": 0.04}
"""By ``TICK_MS``: another controller leads. ``lost_tail``: batches that were not committed are lost."""
IMAGE = {"image_delay": 0.01, "image_coalesce": 0.04}
"""By delivery of committed batches to a broker."""
STORE = {
    "store_slow": 0.02,
    "store_error": 0.02,
    "store_timeout_before": 0.004,
    "store_timeout_after": 0.008,
    "store_late": 0.01,
    "store_throttle": 0.004,
}
"""By operation. ``error``: refused without effect. ``timeout_before``: no effect; ``timeout_after``: effect, but no
answer; ``late``: effect after the sender has given up. ``throttle``: refusals for a while.
"""
LISTING = {"store_old_list": 0.3}
"""By list, after STORE: the answer is old when it comes."""
RACE = {"store_race": 0.03}
"""By put, after STORE: operations that are sent later take effect before the put, which sees their effects."""
HEAL = {"stays_dead": 0.3}
"""By node, when the faults end: the node stays dead, and dies before if it lives. At least two nodes live."""
STALL = {"store_stall": 0.012}
"""By put: this put, and all puts that its node sends for a while, take effect together at the end of that time, even if
their senders have ended meanwhile.
"""
PARTITION = {"open_fails": 0.3}
"""By open of a stream that succeeds: another stream of its partition fails to open, so that it is closed, and opened
again after a while (PT-04). Runs with partitions do not have it: their brokers open the streams themselves.
"""
UNNAMED = {"image_unnamed": 0.2}
"""By delivery of committed batches to a broker: they do not name the ranges of stream set objects (MD-03)."""
STRANGER = {"stranger": 0.3}
"""By ``TICK_MS``: a stranger sends a controller or a broker a request that it has to refuse."""
NEIGHBOUR = {"neighbour": 0.4}
"""By ``TICK_MS``: a neighbour asks the controllers for something that concerns neither brokers nor clients of the run.
"""
DELETION = {"delete_slow": 0.2}
"""By round of deletion of the controllers: the store takes seconds for it."""
REPORT = {"report_loss": 0.8}
"""By report of a route epoch, until one of its broker has arrived: it is lost. So a broker that joins serves for a
while, and has reported nothing (M-10).
"""
RARE = {**STRANGER, **NEIGHBOUR, **DELETION, **REPORT}
"""The kinds that a run has only if its selection names them."""
JOIN = {"join": 0.5}
"""Once, when the faults begin: a further broker starts later. It counts for the route epochs from then on (ZR-54)."""
READ = {"read_slow": 0.015}
"""By read, after STORE: the bytes are those of the moment, and their answer takes long."""
ZONED = {**JOIN, **READ}
"""The kinds that only a run with zones has, since they matter to route epochs and links alone."""

TICK_MS = 500
KINDS: dict[str, float] = {
    **NETWORK, **PROCESS, **EPOCH, **CONTROLLER, **IMAGE, **STORE, **LISTING, **RACE, **HEAL, **PARTITION, **STALL,
    **UNNAMED,
}  # fmt: skip
"""The usual rate of each kind."""
NAMED = {**KINDS, **STRANGER, **NEIGHBOUR, **DELETION, **ZONED, **REPORT}
"""As KINDS, with the kinds that a run has only if they are named, or only with zones."""
DRAWN = 0.5
"""The probability that a run has a kind."""
FACTOR = 3.0
"""The rate of a kind in a run lies between its usual rate divided by FACTOR, and multiplied by FACTOR."""


def swarm(seed: int, selection: str | Sequence[str] = "all") -> dict[str, float]:
    """The rates of a run by kind; a kind that the run does not have is left out.

    ``selection``: "all": each kind with probability DRAWN; "none"; or the names of the kinds that the run has.
    Raises ValueError for an unknown name.
    """
    if selection == "none":
        return {}
    if isinstance(selection, str) and selection != "all":
        selection = selection.split(",")
    if selection != "all":
        unknown = sorted(set(selection) - set(NAMED))
        if unknown:
            raise ValueError(f"there is no kind of fault named {', '.join(unknown)}; the kinds are {', '.join(NAMED)}")
    draw = stream(seed, "swarm")
    found: dict[str, float] = {}
    for kind, rate in NAMED.items():
        # Two draws for each kind, whether the run has it or not: so the selection does not change the other rates.
        chance, weight = draw(), draw()
        if chance < DRAWN and kind not in RARE if selection == "all" else kind in selection:
            found[kind] = rate * FACTOR ** (2 * weight - 1)
    return found


def without_kinds(rates: Mapping[str, float], *kinds: str) -> dict[str, float]:
    """The rates without some kinds."""
    return {kind: rate for kind, rate in rates.items() if kind not in kinds}
