"""The run of a case as text: the cluster, the moves of each round, and the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from impl.balancer.actions import BalancerAction
from impl.balancer.goals import MIB
from impl.balancer.resources import Loads
from impl.sim.balancer_cases.play import CYCLE, NO_EFFECT, BalancerRun, title


def lines(run: BalancerRun) -> Iterator[str]:
    """The lines. Loads are (in, out), in MiB per second; that of a broker is without the partitions that may move."""
    case = run.case
    yield f"goals {', '.join(goal.goal for goal in case.goals)}; loads (in, out) in MiB/s"
    for broker in case.brokers:
        flags = [name for name, holds in (("slow", broker.slow), ("out of date", broker.stale)) if holds]
        parts = [f"{part.id} {_loads(part.loads)}" for part in case.partitions if part.broker == broker.id]
        yield f"  B{broker.id} {', '.join([_loads(broker.pinned), *flags, *parts])}"
    for number, planned in enumerate(run.rounds, 1):
        shown = planned.actions if run.end == NO_EFFECT and planned is run.rounds[-1] else planned.moves
        yield f"round {number}: {_moves(shown) or 'nothing'}"
    yield f"after that: the placement before round {len(run.rounds) - run.period + 1}" if run.end == CYCLE else run.end
    yield title(run)


def _moves(actions: Iterable[BalancerAction]) -> str:
    return ", ".join(f"{action.partition} B{action.source} to B{action.destination}" for action in actions)


def _loads(loads: Loads) -> str:
    return f"({loads[0] / MIB:.6g}, {loads[1] / MIB:.6g})"
