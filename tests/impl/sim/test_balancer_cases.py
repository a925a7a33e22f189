"""The balancer on random clusters: the oracles object to wrong plans, and runs end as they should."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from msgspec.structs import replace

from impl.balancer.actions import BalancerAction
from impl.balancer.batches import BatchLimits
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import TopicPartition, topic_partition
from impl.balancer.rounds import RoundConfiguration, plan_round
from impl.scenario.language import read_text
from impl.scenario.runner import run as run_scenario
from impl.sim.balancer_cases.case import BalancerCase, CaseBroker, CasePartition
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.oracle import RoundJudge, batch_problems
from impl.sim.balancer_cases.play import CAPPED, CYCLE, NO_EFFECT, RESTED, SITUATIONS, play
from impl.sim.balancer_cases.scenario import scenario
from impl.sim.balancer_cases.shrink import shrink, size
from impl.sim.balancer_cases.text import lines

BOTH = (GoalSettings("NW_IN"), GoalSettings("NW_OUT"))


def case(
    pinned: Sequence[tuple[float, float]],
    parts: Mapping[str, tuple[int, float, float]],
    *,
    slow: int = -1,
    stale: int = -1,
) -> BalancerCase:
    """A case in MiB. ``pinned``: by broker from 0. ``parts``: broker, in, out."""
    brokers = tuple(
        CaseBroker(number, (float(load_in * MIB), float(load_out * MIB)), stale=number == stale, slow=number == slow)
        for number, (load_in, load_out) in enumerate(pinned)
    )
    partitions = tuple(
        CasePartition(topic_partition(name), broker, (float(load_in * MIB), float(load_out * MIB)))
        for name, (broker, load_in, load_out) in sorted(parts.items())
    )
    return BalancerCase(brokers, partitions, BOTH)


W1 = case([(80, 0), (50, 100), (70, 30)], {"p-0": (0, 30, 20)})
W2 = case([(0, 90), (100, 50), (30, 70)], {"p-0": (0, 30, 50)})
NEW = case([(0, 0), (0, 0), (0, 0)], {f"t-{number}": (number % 2, 10, 0) for number in range(12)})
"""Two brokers with six partitions each, and a new one."""


def move(name: str, source: int, target: int) -> BalancerAction:
    """An action that nobody has judged."""
    return BalancerAction(topic_partition(name), source, target)


# Runs -------------------------------------------------------------------------------------------------------------


def test_the_witnesses_end_as_the_properties_say() -> None:
    """P-17 circles over two rounds, P-19 changes nothing, a new broker is filled in one round. The safe mode rests."""
    circle, still, filled = play(W1), play(W2), play(NEW)

    assert (circle.end, circle.period, circle.told) == (CYCLE, 2, ("2 rounds", "3 brokers"))
    assert (still.end, still.told) == (NO_EFFECT, ("3 brokers",))
    assert (filled.end, len(filled.rounds), len(filled.rounds[0].moves)) == (RESTED, 2, 4)
    assert [play(replace(each, safe=True)).end for each in (W1, W2, NEW)] == [RESTED] * 3


def test_a_limit_of_rounds_is_no_rest() -> None:
    """A run that is cut off has no answer. With one round more, the limit does not matter."""
    assert play(NEW, 1).end == CAPPED
    assert play(NEW, 1).violation is None
    assert play(NEW, 2).end == RESTED
    assert play(W1, 1).end == CAPPED
    assert play(W1, 2).end == CYCLE


def test_placements_are_compared_exactly() -> None:
    """A placement that differs in one partition is another one: the first round of a circle may lie outside of it."""
    late = replace(W1, partitions=(replace(W1.partitions[0], broker=1),))
    run = play(late)

    assert (run.end, run.period, len(run.rounds)) == (CYCLE, 2, 3)
    places = [each.placement[topic_partition("p-0")] for each in run.rounds]
    assert places[0] == 1
    assert sorted(places[1:]) == [0, 2]


def test_a_placement_determines_the_loads() -> None:
    """Equal placements give equal bits, whatever the loads, so what returned once returns for ever."""
    for seed in range(200):
        drawn = draw_case(random.Random(seed).random)
        forth, back = (drawn.snapshot(drawn.start(), backwards=each) for each in (False, True))
        assert forth.brokers == back.brokers
        if drawn.is_whole:
            for broker in forth.brokers.values():
                pinned = next(each.pinned for each in drawn.brokers if each.id == broker.id)
                parts = sum(Fraction(each.loads[0]) for each in broker.partitions.values())
                assert broker.loads[0] == parts + Fraction(pinned[0])


def test_draws_reach_every_situation() -> None:
    """What no draw reaches would be no part of a campaign. The safe mode always rests."""
    reached: set[str] = set()
    for seed in range(600):
        parity = play(draw_case(random.Random(seed).random))
        reached |= parity.situations
        if parity.violation is not None:
            assert play(draw_case(random.Random(seed).random, safe=True)).end == RESTED

    assert reached <= set(SITUATIONS)
    assert set(SITUATIONS) - reached <= {"a cycle of 3 rounds", "a cycle of 4 or more rounds"}


# Oracles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "actions", "label"),
    [
        (NEW, [move("t-0", 0, 2)], None),
        (NEW, [move("t-0", 1, 2)], "P-13"),
        (NEW, [move("x-0", 0, 2)], "P-13"),
        (NEW, [move("t-0", 0, 2), move("t-0", 0, 1)], "P-13"),
        (NEW, [move("t-0", 0, 1)], "P-07"),
        (NEW, [move(f"t-{number}", 0, 2) for number in (0, 2, 4, 6)], "P-07"),
        (case([(0, 0), (0, 0)], {"t-0": (0, 25, 0)}), [move("t-0", 0, 1)], "P-07"),
        (case([(9, 9), (0, 9)], {"t-0": (0, 0, 0)}), [move("t-0", 0, 1)], "P-07"),
        (case([(0, 0), (0, 0)], {"t-0": (0, 9, 9), "t-1": (0, 9, 9)}, slow=1), [move("t-0", 0, 1)], "AB-57"),
        (case([(0, 0), (0, 0)], {"t-0": (0, 9, 9), "t-1": (0, 9, 9)}, stale=1), [move("t-0", 0, 1)], "AB-24"),
    ],
)
def test_an_oracle_objects_to_a_wrong_action(
    of: BalancerCase, actions: list[BalancerAction], label: str | None
) -> None:
    """Each action is judged after those before it. An exchange of roles, and a partition without load, do not help."""
    found = RoundJudge(of, of.start()).follow(actions, scored=False)
    assert (None if found is None else found.label) == label


@pytest.mark.parametrize(
    ("score", "label"), [(None, "P-02"), (1.0, "P-02"), (-1.0, "P-02"), (0.5, "AB-36"), (0.55, "AB-36"), ("own", None)]
)
def test_an_oracle_objects_to_a_wrong_score(score: float | str | None, label: str | None) -> None:
    """The score of an action is the mean over its goals, by the second reading of the curve."""
    planned = play(NEW).rounds[0].actions[0]
    action = planned if score == "own" else replace(planned, score=score)
    found = RoundJudge(NEW, NEW.start()).follow([action])
    assert (None if found is None else found.label) == label


def test_a_load_at_the_bound_of_the_band_may_count_as_outside() -> None:
    """Broker 1 carries exactly 0.9 times the average; doubles put it below. A load well inside is inside."""
    goals = (GoalSettings("NW_IN", threshold=0.0, trivial=0.0, span=10485.76),)
    part = CasePartition(topic_partition("t-0"), 2, (29360127.0, 0.0))
    for load, label in ((1027604445.0, None), (1027604545.0, "P-07")):
        pinned = (1193978498.0, load, 1203765207.0 - part.loads[0])
        brokers = tuple(CaseBroker(number, (each, 0.0)) for number, each in enumerate(pinned))
        of = BalancerCase(brokers, (part,), goals)
        found = RoundJudge(of, of.start()).follow([move("t-0", 2, 1)], scored=False)
        assert (None if found is None else found.label) == label


def test_an_oracle_objects_to_a_broken_hard_goal() -> None:
    """P-09. A move that helps both usage goals, and overloads its destination."""
    capacity = GoalSettings("CAPACITY_IN", capacity=20.0 * MIB)
    cluster = case([(0, 0), (10, 0)], {f"t-{number}": (0, 10, 10) for number in range(4)})
    hard = replace(cluster, goals=(capacity, *BOTH))
    wrong = [move("t-0", 0, 1)]

    found = RoundJudge(hard, hard.start()).follow(wrong, scored=False)
    assert found is not None
    assert found.label == "P-09"
    assert RoundJudge(cluster, cluster.start()).follow(wrong, scored=False) is None


def test_an_oracle_objects_to_a_harmed_group() -> None:
    """P-11. A move that helps the usage goals and harms the capacity, which its group of goals had before."""
    limited = case([(0, 0), (30, 0)], {f"t-{number}": (0, 0, 10) for number in range(4)} | {"u-0": (0, 10, 30)})
    hard = replace(limited, goals=(GoalSettings("CAPACITY_IN", capacity=100.0 * MIB), *BOTH))

    found = RoundJudge(hard, hard.start()).follow([move("u-0", 0, 1)], scored=False)
    assert found is not None
    assert found.label == "P-11"
    assert RoundJudge(limited, limited.start()).follow([move("u-0", 0, 1)], scored=False) is None


def test_an_oracle_objects_to_a_wrong_snapshot_and_to_wrong_moves() -> None:
    """P-12, P-13. A lost partition, another load, a move too many or too few."""
    snapshot = NEW.snapshot(NEW.start())
    plan = plan_round(lambda: snapshot, lambda: RoundConfiguration(BOTH))
    assert plan is not None
    judge = RoundJudge(NEW, NEW.start())
    assert judge.follow(plan.actions) is None
    assert judge.after(snapshot) is None
    assert judge.merged(NEW.start(), plan.moves) is None

    again = move("t-0", plan.moves[0].destination, 0)
    for moves in (plan.moves[:-1], [*plan.moves, again], [*plan.moves, move("t-11", 1, 1)]):
        wrong = judge.merged(NEW.start(), moves)
        assert wrong is not None
        assert wrong.label == "P-13"
    snapshot.brokers[0].loads[0] += 1
    assert judge.after(snapshot) is not None
    snapshot.brokers[0].loads[0] -= 1
    snapshot.brokers[0].partitions.pop(next(iter(snapshot.brokers[0].partitions)))
    assert judge.after(snapshot) is not None


def test_an_oracle_objects_where_nothing_is_to_do() -> None:
    """P-21, P-22. One eligible broker, no traffic, or equal loads."""
    alone = case([(0, 0), (0, 0)], {"t-0": (0, 9, 9), "t-1": (0, 9, 9)}, stale=1)
    idle = case([(0, 0), (0, 0)], {"t-0": (0, 0, 0)})
    equal = case([(0, 0), (9, 9)], {"t-0": (0, 9, 9)})
    for of, label in ((alone, "P-21"), (idle, "P-21"), (equal, "P-22")):
        judge = RoundJudge(of, of.start())
        found = judge.idle([move("t-0", 0, 1)])
        assert found is not None
        assert found.label == label
        assert judge.idle([]) is None


def test_a_batch_that_is_too_full_is_named() -> None:
    """P-24. Each limit alone."""
    moves = [move("t-0", 0, 2), move("t-1", 1, 2)]
    assert batch_problems([moves], {"t": 4}, BatchLimits()) == []
    assert batch_problems([moves], {"t": 2}, BatchLimits()) == ["too many partitions of a topic"]
    assert batch_problems([moves], {"t": 4}, BatchLimits(concurrency=1)) == ["too many moves of a broker"]
    assert batch_problems([moves], {"t": 4}, BatchLimits(sources=1)) == ["too many sources of a broker"]
    assert batch_problems([moves[:1], moves[1:]], {"t": 2}, BatchLimits(1, sources=1)) == []


# Findings ---------------------------------------------------------------------------------------------------------


def crowded() -> BalancerCase:
    """W1 with brokers and partitions that play no part."""
    more = tuple(CaseBroker(number, (83.0 * MIB, 50.0 * MIB), stale=True) for number in range(3, 10))
    part = CasePartition(TopicPartition("q", 1), 5, (1.0, 0.0))
    return replace(W1, brokers=(*W1.brokers, *more), partitions=(*W1.partitions, part))


def test_a_case_is_shrunk_to_what_it_needs() -> None:
    """A circle needs three brokers and one partition; no other part is left."""
    large = crowded()
    assert play(large).end == CYCLE
    small = shrink(large)

    assert (small.end, size(small.case)) == (CYCLE, 4)
    assert len(small.case.brokers) == 3
    assert not any(each.stale for each in small.case.brokers)


@pytest.mark.parametrize("of", [W1, W2, crowded()])
def test_a_scenario_repeats_a_run(of: BalancerCase) -> None:
    """The scenario passes; of a circle it has the round that returns, too. With another plan it fails."""
    run = play(of)
    text = scenario(run)
    [found] = read_text(text, "case.yaml")

    assert run_scenario(found, frozenset()).failure is None
    assert text.count("op: plan") == (len(run.rounds) + 1 if run.end == CYCLE else 0)
    [safe] = read_text(f"{text}profile: {{balancer: safe}}\n", "case.yaml")
    assert run_scenario(safe, frozenset()).failure is not None
    assert f"{run.violation.label}: {run.violation.message}" in "\n".join(lines(run))


def test_scenarios_of_drawn_runs_pass() -> None:
    """Also where doubles round, and with hard goals, tight batches and settings of all kinds."""
    found = [run for seed in range(300) if (run := play(draw_case(random.Random(seed).random))).violation is not None]
    assert len(found) >= 8
    for run in found:
        [each] = read_text(scenario(run), "case.yaml")
        assert run_scenario(each, frozenset()).failure is None
