"""Random executions of a plan, and what each violates: when batches are sent, and to which brokers (AB-52, AB-53)."""

from __future__ import annotations

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.execution import INTERVAL_MS, PlanExecution, request
from impl.balancer.resources import TopicPartition
from impl.sim.tape import Draw
from impl.sim.violation import PartViolation

APART_MS, LONGEST_MS = 5_000, 60_000
"""Batches are so far apart, and the last one is at most so long after the first one (AB-52)."""
BATCHES, BROKERS, ANSWER_MS = 12, 4, 12_000
"""The most batches, the number of brokers, and the longest time of an answer."""


class ExecutionCase(msgspec.Struct, frozen=True):
    """``batches``: their moves. ``dead``: for each batch the brokers that are fenced when it is sent.

    ``answers``: the milliseconds that the controller takes for each batch. ``failing``: the batch that it refuses.
    """

    batches: tuple[tuple[BalancerAction, ...], ...]
    dead: tuple[frozenset[int], ...]
    answers: tuple[int, ...]
    failing: int | None


def draw_execution(draw: Draw) -> ExecutionCase:
    """A random plan, in batches of one to three moves."""
    partition = 0
    batches = []
    for _ in range(1 + int(draw() * BATCHES)):
        moves = []
        for _ in range(1 + int(draw() * 3)):
            source = int(draw() * BROKERS)
            target = (source + 1 + int(draw() * (BROKERS - 1))) % BROKERS
            moves.append(BalancerAction(TopicPartition("t", partition), source, target))
            partition += 1
        batches.append(tuple(moves))
    dead = tuple(frozenset(each for each in range(BROKERS) if draw() < 0.1) for _ in batches)
    answers = tuple(int(draw() * ANSWER_MS) for _ in batches)
    failing = int(draw() * len(batches)) if draw() < 0.2 else None
    return ExecutionCase(tuple(batches), dead, answers, failing)


def judged_execution(case: ExecutionCase) -> PartViolation | None:
    """Execute the plan, and tell what the execution violates; None if nothing."""
    execution = PlanExecution(case.batches, INTERVAL_MS)
    now, sent = 1_000_000, list[int]()
    answered: int | None = None
    while (step := execution.next(now)).do != "end":
        if step.do == "wait":
            assert step.until is not None, "no batch waits for its answer here"
            now = step.until
            continue
        number = len(sent)
        sent.append(now)
        found = _badly_sent(case, number, step.batch, sent, answered)
        if found is not None:
            return found
        now = answered = now + case.answers[number]
        execution.answered(now, failed=number == case.failing)
    stopped = case.failing is not None and len(sent) == case.failing + 1
    if len(sent) < len(case.batches) and not stopped and now + APART_MS - sent[0] <= LONGEST_MS:
        return PartViolation("AB-52", "a batch is dropped that could be sent in time")
    return None


def _badly_sent(
    case: ExecutionCase, number: int, batch: object, sent: list[int], answered: int | None
) -> PartViolation | None:
    if batch != case.batches[number]:
        return PartViolation("AB-52", "the batches are not sent in their order")
    if case.failing is not None and number > case.failing:
        return PartViolation("AB-53", "a batch is sent after the controller refused one")
    if sent[-1] - sent[0] > LONGEST_MS:
        return PartViolation("AB-52", "a batch is sent more than 60 s after the first one")
    if answered is not None and sent[-1] < answered + APART_MS:
        return PartViolation("AB-52", "a batch is sent less than 5 s after the last answer")
    wanted = {
        move.partition.partition: [move.destination]
        for move in case.batches[number]
        if move.destination not in case.dead[number]
    }
    asked = request(case.batches[number], lambda broker: broker not in case.dead[number])
    if {each: replicas for of_topic in asked.values() for each, replicas in of_topic.items()} != wanted:
        return PartViolation("AB-53", "a request moves to a fenced broker, or leaves another one out")
    return None
