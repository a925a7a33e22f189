"""The parts of nodes that have runs of their own: for each, who judges a run that is drawn from a seed.

A run of a cluster reaches some rules seldom or never, and shows nothing of others, since more rules protect the same
data. A run of the part alone reaches them by the thousand. Its judge does not use the code that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from impl.sim.balancer_cases.executing import draw_execution, judged_execution
from impl.sim.balancer_cases.knowledge import draw_knowledge, judged
from impl.sim.check import NODE_ERROR
from impl.sim.part_cases import (
    commit_reports,
    compacting,
    controllers,
    election_timers,
    forwarding_answers,
    large_requests,
    log_cache,
    object_clock,
    object_reading,
    partition_reading,
    recovery,
    route_channel,
    route_epoch_ticks,
    storage,
    stream_handle,
    wal,
)
from impl.sim.tape import Draw, stream
from impl.sim.violation import PartViolation

Judge = Callable[[Draw], PartViolation | None]


class NodePart(msgspec.Struct, frozen=True):
    """``judge``: makes the run that a sequence of numbers draws, and tells what it violates; None if nothing.

    ``what``: the run, in words. ``runs``: how many seeds the rules are tried with.
    """

    judge: Judge
    what: str
    runs: int


PARTS: Mapping[str, NodePart] = {
    "balancer-history": NodePart(
        lambda draw: judged(draw_knowledge(draw)), "histories of reports, and what the balancer then knows", 500
    ),
    "balancer-execution": NodePart(
        lambda draw: judged_execution(draw_execution(draw)), "executions of plans of the balancer", 200
    ),
    "controller": NodePart(
        controllers.judged,
        "requests to a controller and its rounds, on random metadata, also of another version",
        12_000,
    ),
    "object-clock": NodePart(object_clock.judged, "thousands of objects that a controller expires and deletes", 20),
    "large-request": NodePart(large_requests.judged, "requests of as many moves as one may have, or more", 4),
    "route-channel": NodePart(route_channel.judged, "epochs, appends and trims of the channel of a proxy", 500),
    "commit-reports": NodePart(commit_reports.judged, "requests and commits of a main, and what it reports", 500),
    "route-epoch-ticks": NodePart(
        route_epoch_ticks.judged, "ticks of the route epochs, after reports of any epoch", 500
    ),
    "forwarding-answers": NodePart(
        forwarding_answers.judged, "batches that a proxy forwards, and what their producers hear", 500
    ),
    "election-timers": NodePart(
        election_timers.judged, "moves, failures and requests, and which elections the timers ask for", 500
    ),
    "object-reading": NodePart(
        object_reading.judged, "reads of objects, of which some are unnamed, gone, short or damaged", 500
    ),
    "partition-reading": NodePart(
        partition_reading.judged, "leaders of a partition that close its log or crash, and what its clients hear", 500
    ),
    "compacting": NodePart(compacting.judged, "rounds of compaction, some over objects with a defect", 500),
    "stream-handle": NodePart(
        stream_handle.judged, "appends, reads, trims and closes of a stream handle, which end in any order", 500
    ),
    "log-cache": NodePart(log_cache.judged, "puts, commits and reads of a small log cache", 500),
    "storage": NodePart(storage.judged, "appends, uploads and the shutdown of a broker's storage", 500),
    "wal": NodePart(wal.judged, "processes that take over, fill and trim the WAL of their node, also older ones", 500),
    "recovery": NodePart(recovery.judged, "recoveries of the WAL of a dead process, and what they commit", 500),
}
"""By name."""


def judged_run(part: str, seed: int) -> PartViolation | None:
    """What the run of a part with a seed violates; None if nothing. It is NODE_ERROR if an exception ends the run."""
    try:
        return PARTS[part].judge(stream(seed, part))
    except Exception as error:  # noqa: BLE001 - whatever it is, no rule foresees it
        return PartViolation(NODE_ERROR, f"{type(error).__name__}: {error}")
