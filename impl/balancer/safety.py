"""The safe mode: an acceptance rule with which planning ends, whatever the number of goals and brokers.

In parity with AutoMQ, an action needs a mean score above 0.5. With two goals and three brokers such actions can form a
circle (P-17): each improves the worse of its two brokers in the mean of the goals, but no measure of the cluster grows.
The safe mode asks of each goal of the group, and of each goal of a group that was optimised before, that the action
does not worsen its two brokers: sorted, their scores must not decrease lexicographically.

Why no placement returns:

- One goal, one action. Let the scores of the two brokers be a <= b before and c <= d after. Sort the scores of all
  brokers in ascending order. If c > a, the entries below a stay and fewer entries equal a, so the sorted list grows
  lexicographically. If c = a and d >= b, the list grows or stays. The rule leaves no other case.
- All goals, one action. The mean of the group is above 0.5, so some goal of the group has c > a. So the action makes
  the list of one goal of its group grow, and shrinks no list of its group or of an earlier group.
- All rounds. Compare two placements by the lists of the first group, then by those of the second one, and so on. Each
  action leads to a greater placement, so no placement returns. There are finitely many placements, so planning ends
  with an empty plan, as long as the loads and the eligible brokers stay. An undone visit changes nothing.

The argument compares numbers exactly, but a load to which others were added and from which they were taken again may
differ in its last bits. The safe mode therefore rounds all loads to a grid on which each sum of them is exact: then a
placement determines every load bit by bit, whatever the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from impl.balancer.resources import RESOURCES
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

DIGITS = 52
"""The binary digits that the sum of all loads has at most: a double holds 53."""


def worsens(before: tuple[float, float], then: tuple[float, float]) -> bool:
    """Whether the sorted scores of two brokers decrease lexicographically. NaN counts as worse."""
    if any(map(math.isnan, (*before, *then))):
        return True
    return sorted(then) < sorted(before)


def grid_of(loads: Iterable[float], digits: int = DIGITS) -> float:
    """The distance of the points of a grid, a power of two, on which all sums of these loads are exact; 0 for no load.

    Raises ValueError for a load that is NaN or infinite.
    """
    found = [abs(load) for load in loads]
    for load in found:
        if not math.isfinite(load):
            raise ValueError(f"a load is {load}, and the safe mode plans with finite loads; mend the metrics")
    # ``fsum`` rounds the exact sum, so that the grid does not depend on the order of the loads.
    total = math.fsum(found)
    return math.ldexp(1.0, math.frexp(total)[1] - digits) if total else 0.0


def on_grid(load: float, grid: float) -> float:
    """The point of the grid that is nearest to a load."""
    return round(load / grid) * grid if grid else load


def exact(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """A copy of the snapshot in which sums and differences of loads are exact.

    The error of a load is at most 2**-52 of the sum of all loads. Raises ValueError for a load that is no load.
    """
    grids = [
        grid_of(
            load
            for broker in snapshot.brokers.values()
            for load in (broker.loads[resource], *(each.loads[resource] for each in broker.partitions.values()))
        )
        for resource in RESOURCES
    ]

    def rounded(loads: Iterable[float]) -> tuple[float, float]:
        load_in, load_out = (on_grid(load, grid) for load, grid in zip(loads, grids, strict=True))
        return load_in, load_out

    return ClusterSnapshot(
        BrokerLoad(
            broker.id,
            list(rounded(broker.loads)),
            list(broker.trusted),
            broker.stale,
            broker.slow,
            {name: ReplicaLoad(name, rounded(each.loads), each.trusted) for name, each in broker.partitions.items()},
        )
        for broker in snapshot.brokers.values()
    )
