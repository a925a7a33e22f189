"""The runs of single parts of a node, in which rules are tried of which runs of the default mix show nothing.

Besides the parts of ``impl.sim.part_cases`` these are rounds of the balancer on random clusters, and two clusters in
which an empty broker joins. An oracle of its own judges each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from impl.bridge.guards.row import Finder, GuardEvidence
from impl.rules import decided, without
from impl.sim.balance.promises import broken
from impl.sim.balance.simulation import BalanceQuestion, run_balance
from impl.sim.balance.traffic import Traffic
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.play import play
from impl.sim.check import NODE_ERROR
from impl.sim.part_cases.registry import PARTS, judged_run
from impl.sim.tape import stream
from impl.sim.violation import PartViolation

ROUND, JOIN = "balancer-round", "balancer-join"
ROUNDS, JOINS = 3_000, 2
"""Their numbers. Both are planned by turns in parity with AutoMQ and in the safe mode."""


class PartRun(msgspec.Struct, frozen=True, order=True):
    """A run of a part, and its seed."""

    part: str
    seed: int


def part_runs() -> Iterator[PartRun]:
    """All runs of parts in which rules are tried."""
    counts = {ROUND: ROUNDS, JOIN: JOINS} | {name: part.runs for name, part in PARTS.items()}
    return (PartRun(part, seed) for part, runs in counts.items() for seed in range(runs))


def part_decisions(run: PartRun) -> tuple[dict[str, int], GuardEvidence]:
    """How often each rule decided something in a run with all rules, and what its oracle objects to."""
    before = Counter(decided)
    found = _violated(run, ())
    return dict(decided - before), found


def by_part_runs(labels: tuple[str, ...], runs: Iterable[PartRun]) -> GuardEvidence:
    """The first run without the rules to which its oracle has an objection that it does not have with the first rule.

    ``labels``: a rule, and the ones that decide in its place.
    """
    for run in runs:
        found = _violated(run, labels)
        if found.finder != "oracle":
            continue
        other = _violated(run, labels[1:])
        if not other.finder or (len(labels) > 1 and other.by != found.by):
            return found
    return GuardEvidence("")


def part_command(run: PartRun, labels: Sequence[str]) -> str:
    """The command that makes a run without some rules."""
    removed = "".join(f" --without {label}" for label in labels)
    mode = f" --balancer safe{removed}" if _is_safe(run) else removed
    if run.part == JOIN:
        return f"holdfast simulate --scenario balance{mode}"
    if run.part == ROUND:
        return f"holdfast campaign run --target balancer --runs 1 --seed {run.seed}{mode} --out DIR"
    return f"holdfast simulate --part {run.part} --seed {run.seed}{removed}"


def seed_of_unit(seed: int) -> int:
    """The seed of the first runs of a campaign with this seed, as ``spark.campaign.config.Config.seed_of`` has it."""
    digest = blake2b(f"holdfast campaign, seed {seed}, unit 0".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _is_safe(run: PartRun) -> bool:
    return run.part in (ROUND, JOIN) and run.seed % 2 == 1


def _violated(run: PartRun, labels: tuple[str, ...]) -> GuardEvidence:
    with without(*labels):
        found = _violation(run)
    if found is None:
        return GuardEvidence("")
    finder: Finder = "node error" if found.label == NODE_ERROR else "oracle"
    return GuardEvidence(finder, found.label, run.seed, said=found.message, part=run.part)


def _violation(run: PartRun) -> PartViolation | None:
    if run.part == JOIN:
        joined = run_balance(BalanceQuestion(balancer="safe" if _is_safe(run) else "parity"))
        promise = next(iter(broken(joined, Traffic(joined.history, joined.begin))), None)
        return None if promise is None else PartViolation(promise.name, promise.text)
    if run.part == ROUND:
        return play(draw_case(stream(seed_of_unit(run.seed), "balancer 0"), safe=_is_safe(run))).violation
    return judged_run(run.part, run.seed)
