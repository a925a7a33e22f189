"""The runs in which the rules of the balancer are tried, for no broker of the default mix has one.

They have numbers: rounds on random clusters, histories of reports, executions of plans, and at last two clusters in
which an empty broker joins. An oracle of its own judges each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

from impl.bridge.guards.row import GuardEvidence
from impl.rules import decided, without
from impl.sim.balance.promises import broken
from impl.sim.balance.simulation import BalanceQuestion, run_balance
from impl.sim.balance.traffic import Traffic
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.executing import draw_execution, judged_execution
from impl.sim.balancer_cases.knowledge import draw_knowledge, judged
from impl.sim.balancer_cases.play import play
from impl.sim.tape import stream

ROUNDS, HISTORIES, EXECUTIONS = range(3_000), range(3_000, 3_500), range(3_500, 3_700)
JOINS = range(3_700, 3_702)
HISTORY, EXECUTION = "history", "execution"
"""The names of the sequences of numbers from which histories and executions are drawn."""
NUMBERS = range(JOINS.stop)
"""All numbers. Rounds and joins are planned by turns in parity with AutoMQ and in the safe mode."""


def balancer_decisions(number: int) -> tuple[dict[str, int], GuardEvidence]:
    """How often each rule decided something in a run with all rules, and what an oracle objects to."""
    before = Counter(decided)
    found = _violated(number, ())
    return dict(decided - before), found


def by_balancer_runs(label: str, numbers: Iterable[int]) -> GuardEvidence:
    """The first run without a rule that its oracle objects to. With all rules, the oracle may not object to it."""
    for number in numbers:
        found = _violated(number, (label,))
        if found.finder and not _violated(number, ()).finder:
            return found
    return GuardEvidence("")


def balancer_command(number: int, label: str) -> str:
    """The command that makes a run without a rule; for a history or an execution, the call in Python."""
    if number in HISTORIES:
        return f'`judged(draw_knowledge(stream({number}, "{HISTORY}")))`'
    if number in EXECUTIONS:
        return f'`judged_execution(draw_execution(stream({number}, "{EXECUTION}")))`'
    mode = f" --balancer safe --without {label}" if _is_safe(number) else f" --without {label}"
    if number in JOINS:
        return f"`holdfast simulate --scenario balance{mode}`"
    return f"`holdfast campaign run --target balancer --runs 1 --seed {number}{mode} --out DIR`"


def seed_of_unit(seed: int) -> int:
    """The seed of the first runs of a campaign with this seed, as ``spark.campaign.config.Config.seed_of`` has it."""
    digest = blake2b(f"holdfast campaign, seed {seed}, unit 0".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _is_safe(number: int) -> bool:
    return number % 2 == 1


def _violated(number: int, labels: tuple[str, ...]) -> GuardEvidence:
    with without(*labels):
        found = _objection(number)
    return GuardEvidence("") if found is None else _evidence(number, *found)


def _evidence(number: int, broken_promise: str, said: str) -> GuardEvidence:
    return GuardEvidence("oracle", broken_promise, number, said=said, balancer=True)


def _objection(number: int) -> tuple[str, str] | None:
    """The property or promise that a run breaks, and in which way."""
    if number in JOINS:
        joined = run_balance(BalanceQuestion(balancer="safe" if _is_safe(number) else "parity"))
        promise = next(iter(broken(joined, Traffic(joined.history, joined.begin))), None)
        return None if promise is None else (promise.name, promise.text)
    if number in ROUNDS:
        violation = play(draw_case(stream(seed_of_unit(number), "balancer 0"), safe=_is_safe(number))).violation
    elif number in HISTORIES:
        violation = judged(draw_knowledge(stream(number, HISTORY)))
    else:
        violation = judged_execution(draw_execution(stream(number, EXECUTION)))
    return None if violation is None else (violation.label, violation.message)
