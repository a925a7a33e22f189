"""The faults of a run of processes, made from its seed before it: when they happen, to which node, and how bad.

The same seed gives the same schedule on every machine. The course of the run differs, as with all real processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from impl.sim.tape import one, stream

KILLS = ("kill", "kill_long", "kill_controller")
"""kill -9. ``kill``: the successor starts soon. ``kill_long``: it starts after the broker was fenced.

The successor of every second one has a slow link to the controller at first. So its requests reach the controller one
after the other, and the owners that follow see the streams of a node closed one after the other.
"""
OTHERS = ("zombie", "lag", "pause", "cut", "delay", "store", "pause_controller")
"""SIGSTOP with a successor that starts meanwhile, until SIGCONT; the links of all nodes with the controller are slow;
SIGSTOP and SIGCONT alone; one direction of a link carries nothing; it is slow; calls to the object store fail; SIGSTOP
of the controller.
"""
STORE = ("throttle", "error", "slow", "timeout_before", "timeout_after", "late")
DIRECTIONS = ((">controller",), ("<controller",), ("<client",), (">client",), (">controller", ">client"))
LAG = (">controller", "<controller")
FIRST_MS, OTHER_MS = 3_000, 2_500
"""The time of the first fault, and the time between two faults that are no kills."""
LONG_MS = (9_500, 12_500)
"""How long a node is away in ``kill_long``: longer than the session of a broker, which is 9 s."""
ZOMBIE_MS = (4_000, 11_500)
"""How long a process is stopped in ``zombie``. Some are longer than every timeout."""


class PlannedFault(msgspec.Struct, frozen=True):
    """A fault at ``at`` milliseconds of the run. ``node``: its broker, or 0. ``ms``: how long it lasts.

    ``later``: of a zombie, the time until its successor starts. ``detail``: the directions of a link, or the kind of a
    fault of the store. ``share``: the share of the calls to the store that meet it; or the delay of a slow link in
    seconds, also of the link of a successor.
    """

    at: int
    kind: str
    node: int
    ms: int
    later: int = 0
    detail: tuple[str, ...] = ()
    share: float = 0.0


def make_schedule(seed: int, *, seconds: int, kill_every: float, brokers: int) -> tuple[PlannedFault, ...]:
    """The faults of a run in the order of their times. The last ones end with the run."""
    kills = _kills(stream(seed, "kills of processes"), seconds * 1_000, int(kill_every * 1_000), brokers)
    others = _others(stream(seed, "faults of processes"), seconds * 1_000, brokers)
    return tuple(sorted((*kills, *others), key=lambda each: (each.at, each.kind)))


def _kills(draw: Callable[[], float], end: int, every: int, brokers: int) -> Iterator[PlannedFault]:
    away = 0
    for number, at in enumerate(range(min(every, FIRST_MS) if every else end, end, every or 1)):
        node, kind, value, slow = 1 + int(draw() * brokers), draw(), draw(), draw()
        delay = 0.03 + slow * 0.2 if slow < 0.5 else 0.0
        if number % 5 == 2:
            yield PlannedFault(at, "kill_controller", 0, 200 + int(value * 1_500))
        elif kind < 0.4 and at >= away:
            # One long absence at a time: the others have to take over.
            away = at + _between(LONG_MS, value) + 3_000
            yield PlannedFault(at, "kill_long", node, _between(LONG_MS, value), share=delay)
        else:
            yield PlannedFault(at, "kill", node, 200 + int(value * 1_500), share=delay)


def _others(draw: Callable[[], float], end: int, brokers: int) -> Iterator[PlannedFault]:
    for number, at in enumerate(range(FIRST_MS // 2, end, OTHER_MS)):
        node, which, value, share = 1 + int(draw() * brokers), draw(), draw(), draw()
        # A third are zombies, since only a zombie shows what a stale owner may do. Another third are slow links of all
        # nodes with the controller: then two brokers may act on old metadata at once, and their requests come late.
        kind = ("zombie", "lag", OTHERS[2 + int(which * (len(OTHERS) - 2))])[number % 3]
        begin = at + int(share * 500)
        match kind:
            case "zombie":
                yield PlannedFault(begin, kind, node, _between(ZOMBIE_MS, value), later=300 + int(share * 1_200))
            case "lag":
                yield PlannedFault(begin, kind, 0, 3_000 + int(value * 4_000), 0, LAG, 0.05 + share * 0.25)
            case "cut":
                directions = one(draw, DIRECTIONS)
                yield PlannedFault(begin, kind, node, 1_000 + int(value**2 * 9_500), detail=directions)
            case "delay":
                directions = one(draw, DIRECTIONS)
                yield PlannedFault(begin, kind, node, 2_000 + int(value * 3_000), 0, directions, 0.02 + share * 0.3)
            case "store":
                fault = one(draw, STORE)
                yield PlannedFault(begin, kind, 0, 1_000 + int(value * 2_500), 0, (fault,), 0.1 + share * 0.4)
            case "pause":
                yield PlannedFault(begin, kind, node, 300 + int(value**2 * 9_000))
            case _:
                yield PlannedFault(begin, kind, 0, 300 + int(value**2 * 3_000))


def _between(limits: tuple[int, int], value: float) -> int:
    low, high = limits
    return low + int(value * (high - low))
