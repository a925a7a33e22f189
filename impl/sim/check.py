"""One simulated run and the verdict of the oracles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Literal

import msgspec

from impl.oracles.judge import Verdict, judge
from impl.oracles.storage import BucketContents
from impl.oracles.verdict import Violation
from impl.rules import without
from impl.sim.brokers import SMALL, simulate_brokers
from impl.sim.controller_settings import profile_with
from impl.sim.options import Options
from impl.sim.routed_batches import late, reordered
from impl.sim.run import Run, Simulation, always
from impl.sim.storage import contents
from impl.sim.visibility import beyond, fallen, unreadable

NODE_ERROR = "node error"
"""Stands for the name of an oracle if a node has ended with an error that no rule describes."""
NOT_JUDGED = "not judged"
"""Stands for the name of an oracle where a run without a verdict is listed among violations."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made: its seed, its options, and the version of the cluster.

    ``version``: legacy, or V6 with fast closes. ``generation``: who asks for the elections of partitions: the source of
    a move (G0), or its target (G1). ``without``: rules that are switched off. ``switches``: known defects of AutoMQ
    that are built in, such as AM-20. ``settings``: names of settings of the controllers (``SETTINGS``).
    """

    seed: int
    options: Options = Options()
    version: str = "V6"
    generation: Literal["G0", "G1"] = "G1"
    without: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


class CheckResult(msgspec.Struct, frozen=True):
    """A run and its verdict. ``error``: why there is no verdict; None if there is one."""

    run: Run
    violations: tuple[Violation, ...]
    looked: dict[str, int]
    error: str | None = None


def check(question: Question, go_on: Callable[[], bool] = always) -> CheckResult:
    """Make a run, and let all oracles judge it. Raises StoppedError as ``simulate`` does."""
    as_built = frozenset(question.switches)
    profile = profile_with(question.options.profile, question.settings)
    profile = msgspec.structs.replace(profile, as_built=as_built, handshake=question.generation)
    options = msgspec.structs.replace(question.options, profile=profile)
    settings = msgspec.structs.replace(SMALL, as_built=as_built)
    with without(*question.without):
        run = simulate_brokers(question.seed, options, settings, v6=question.version == "V6", go_on=go_on)
    if run.broken:
        return CheckResult(run, (Violation(NODE_ERROR, -1, f"a node ends with {run.broken}"),), {})
    verdict = judged(run)
    return CheckResult(run, verdict.violations, verdict.looked, verdict.error)


def judged(run: Run) -> Verdict:
    """The verdict of the oracles on a run. Only a run that has healed has a final bucket to judge."""
    simulation = run.simulation
    stored = bucket(simulation, simulation.store.memory.objects) if run.healed else None
    taken, answers = simulation.strangers.taken, simulation.cluster.answers.found
    if not simulation.options.zones:
        return judge(run.history, stored, taken=taken, answers=answers)
    events = run.log.events
    routed = chain(fallen(events), unreadable(events), late(events), reordered(events, run.history))
    return judge(run.history, stored, simulation.dangling, beyond(events), routed, taken, answers)


def bucket(simulation: Simulation, objects: dict[str, bytes]) -> BucketContents:
    """The bucket of a cluster that has a leader, with streams by the keys of the history. ``objects``: by key."""
    leader = simulation.cluster.leader
    assert leader is not None, "a controller leads"
    found = contents(objects, leader.image)
    keys = simulation.load.keys()
    batches: dict[int, set[tuple[int, int, int]]] = {}
    for record in (*found.objects, *found.wal):
        if record.stream in keys:
            sends = simulation.load.sends(record)
            batches.setdefault(keys[record.stream], set()).update(
                (base, base + count, value) for base, count, value in sends
            )
    return BucketContents({key: frozenset(each) for key, each in batches.items()}, found.orphans, found.missing)
