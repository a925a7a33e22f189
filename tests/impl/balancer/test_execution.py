"""What follows a plan: merging, batches (P-24), requests, the execution in time, the times of rounds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.actions import BalancerAction
from impl.balancer.batches import BatchLimits, batches
from impl.balancer.execution import PlanExecution, request
from impl.balancer.merging import UnmatchedMovesError, merge
from impl.balancer.resources import TopicPartition, topic_partition
from impl.balancer.schedule import RoundSchedule
from impl.rules import without
from impl.sim.balancer_cases.oracle import batch_problems


def move(name: str, source: int, destination: int) -> BalancerAction:
    """A move of a partition."""
    return BalancerAction(topic_partition(name), source, destination)


def random_moves(rng: random.Random) -> tuple[list[BalancerAction], dict[str, int]]:
    """Merged moves of the partitions of some topics, and the sizes of the topics."""
    partitions = {f"t{number}": rng.randint(1, 30) for number in range(rng.randint(1, 5))}
    names = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    chosen = rng.sample(names, rng.randint(0, len(names)))
    brokers = rng.randint(2, 30)
    return [BalancerAction(name, *pair) for name in chosen for pair in [_two(rng, brokers)]], partitions


def _two(rng: random.Random, brokers: int) -> tuple[int, int]:
    source, destination = rng.sample(range(brokers), 2)
    return source, destination


@given(st.randoms(use_true_random=False), st.integers(1, 12), st.integers(1, 12))
def test_no_batch_is_too_full(rng: random.Random, concurrency: int, sources: int) -> None:
    """P-24. An independent count finds no limit exceeded, no action lost, and no empty batch."""
    moves, partitions = random_moves(rng)
    limits = BatchLimits(concurrency, 0.5, sources)
    found = batches(moves, partitions, limits)

    assert batch_problems(found, partitions, limits) == []
    assert [action for batch in found for action in batch] == moves
    assert all(found)


@pytest.mark.parametrize("label", ["BG-14", "BG-15", "BG-15.sources"])
def test_without_a_limit_batches_are_too_full(label: str) -> None:
    """The independent count notices the lack of each limit."""
    problems = 0
    with without(label):
        for seed in range(100):
            moves, partitions = random_moves(random.Random(seed))
            limits = BatchLimits(3, 0.5, 2)
            problems += len(batch_problems(batches(moves, partitions, limits), partitions, limits))

    assert problems >= 10


def test_a_split_keeps_the_sources_of_other_destinations() -> None:
    """AB-50. The last move splits although its batch is empty for its destination."""
    moves = [move("t-0", 1, 9), move("t-1", 2, 9), move("a-0", 3, 8), move("a-1", 3, 8), move("t-2", 1, 9)]
    found = batches(moves, {"t": 100, "a": 2}, BatchLimits(sources=2))

    assert [len(batch) for batch in found] == [3, 1, 1]
    joined = [found[0], found[1] + found[2]]
    assert batch_problems(joined, {"t": 100, "a": 2}, BatchLimits(sources=2)) == []  # superfluous


@pytest.mark.parametrize(("partitions", "concurrency"), [({"t": 100}, 0), ({}, 50)])
def test_a_limit_of_0_gives_an_empty_batch_first(partitions: dict[str, int], concurrency: int) -> None:
    """AB-51. It does not disable the execution."""
    found = batches([move("t-0", 0, 1), move("t-1", 0, 1)], partitions, BatchLimits(concurrency))

    assert [len(batch) for batch in found] == [0, 1, 1]


def test_a_merge_keeps_the_place_of_the_first_move() -> None:
    """AB-48. A SWAP counts as two moves; the actions that were given stay as they are."""
    actions = [
        move("a-0", 0, 1),
        BalancerAction(topic_partition("b-0"), 1, 2, topic_partition("c-0")),
        move("a-0", 1, 2),
        move("c-0", 1, 2),
    ]
    kept = list(actions)

    assert merge(actions) == [move("a-0", 0, 2), move("b-0", 1, 2)]
    assert actions == kept


def test_moves_that_do_not_follow_on_are_an_error() -> None:
    """AB-48. The message names the partition and both places."""
    with pytest.raises(UnmatchedMovesError, match=r"^a-0 moves to 1 and then from 2; let each move begin where"):
        merge([move("a-0", 0, 1), move("b-0", 1, 2), move("a-0", 2, 3)])


def test_a_request_leaves_dead_brokers_out() -> None:
    """AB-53, BG-17. Both brokers of a SWAP count; nobody checks the source of a move."""
    actions = [
        move("a-0", 9, 1),
        move("a-1", 1, 9),
        BalancerAction(topic_partition("b-0"), 9, 1, topic_partition("b-1")),
        BalancerAction(topic_partition("c-0"), 2, 1, topic_partition("c-1")),
    ]

    assert request(actions, lambda broker: broker != 9) == {"a": {0: [1]}, "c": {0: [1], 1: [2]}}
    assert request(actions[1:2], lambda broker: broker != 9) == {}
    with without("BG-17"):
        assert request(actions[1:2], lambda broker: broker != 9) == {"a": {1: [9]}}


def test_a_request_names_a_partition_once() -> None:
    """A list that was not merged is an error: one of both moves would be lost."""
    with pytest.raises(ValueError, match=r"^a batch moves a-0 twice; merge the actions before$"):
        request([move("a-0", 0, 1), move("a-0", 1, 2)], lambda _: True)


PLAN = [[move(f"a-{number}", 0, 1)] for number in range(20)]


def sent(execution: PlanExecution, took_ms: int = 0) -> list[int]:
    """Execute until nothing is left, and return the times of the batches. ``took_ms``: until each answer."""
    now, times = 1_000, list[int]()
    while True:
        step = execution.next(now)
        if step.do == "end":
            return times
        if step.do == "send":
            times.append(now)
            assert execution.next(now).do == "wait"
            now += took_ms
            execution.answered(now)
        else:
            assert step.until is not None
            now = step.until


def test_batches_are_sent_five_seconds_apart_for_a_minute() -> None:
    """AB-52. With immediate answers 13 of 20 batches are sent."""
    assert sent(PlanExecution(PLAN)) == [1_000 + 5_000 * number for number in range(13)]


def test_the_interval_begins_with_the_answer() -> None:
    """AB-52. With answers after 4 s a batch is sent every 9 s."""
    assert sent(PlanExecution(PLAN), 4_000) == [1_000 + 9_000 * number for number in range(7)]


def test_a_short_plan_is_sent_whole() -> None:
    """Without a cap nothing is dropped; without the spacing all batches leave at once."""
    assert len(sent(PlanExecution(PLAN[:3]))) == 3
    assert sent(PlanExecution([])) == []
    with without("BG-16"):
        assert len(sent(PlanExecution(PLAN))) == 20
    with without("BG-16.spacing"):
        assert sent(PlanExecution(PLAN)) == [1_000] * 20


def test_the_step_that_ends_says_what_is_dropped() -> None:
    """AB-52. Exactly 60 s after the first batch one is sent, later none."""
    execution = PlanExecution(PLAN[:3], interval_ms=60_000)
    assert execution.next(0).do == "send"
    execution.answered(0)
    assert execution.next(59_999).until == 60_000
    assert execution.next(60_000).batch == PLAN[1]
    execution.answered(60_001)

    assert [execution.next(120_001).dropped for _ in range(2)] == [1, 1]
    execution = PlanExecution(PLAN[:3], interval_ms=60_001)
    execution.next(0)
    execution.answered(0)
    step = execution.next(60_001)
    assert (step.do, step.dropped) == ("end", 2)


def test_an_error_ends_the_execution() -> None:
    """AB-53, AB-55. The batches behind are never sent."""
    execution = PlanExecution(PLAN)
    execution.next(0)
    execution.answered(10, failed=True)

    step = execution.next(10)
    assert (step.do, step.dropped) == ("end", 19)


def test_an_answer_to_nothing_is_an_error() -> None:
    """An execution that is told of an answer twice has lost count."""
    execution = PlanExecution(PLAN)
    with pytest.raises(ValueError, match=r"^no batch waits for an answer; report each answer once$"):
        execution.answered(0)


def test_a_round_begins_an_interval_after_the_last_one_ended() -> None:
    """AB-54. The period is the interval and the work; a fatal error ends the rounds for good."""
    schedule = RoundSchedule(now=500)
    assert not schedule.is_due(60_499)
    assert schedule.is_due(60_500)
    schedule.ended(64_000)
    assert schedule.due == 124_000
    schedule.ended(130_000, fatal=True)
    assert not schedule.is_due(10**12)
