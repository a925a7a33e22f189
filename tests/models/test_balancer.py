"""The planning rounds: the circle of P-17 and its end in safe mode, and what a visit plans, undoes and leaves alone."""

from __future__ import annotations

import itertools

import pytest

from holdfast.check.live.engine import live
from holdfast.ir.variants import load_variant
from holdfast.lang import Scope
from holdfast.lang.sorts import universe
from models.balancer import Balancer
from models.parts.balancer_scores import Broker, Load, Partition, Resource, Stage

B0, B1, B2 = (Broker(number) for number in range(3))
P0, P1 = Partition(0), Partition(1)

TIES = Scope(
    {Broker: 2, Partition: 0, Load: 60},
    given={
        "pinned": (10, 0, 0, 0, 0, 0), "rate": (6, 0), "surge": (9, 0), "critical": (0,),
        "span": 10, "limit": 60, "idle": 30,
    },
)  # fmt: skip
"""One broker has everything, and two empty brokers are equal."""

ROLES = Scope(
    {Broker: 1, Partition: 0, Load: 60},
    given={
        "pinned": (0, 0, 0, 0), "rate": (25, 0), "surge": (25, 0), "critical": (0,),
        "span": 10, "limit": 60, "idle": 30,
    },
)  # fmt: skip
"""One partition and two brokers: a move would only exchange their roles."""


def taken(state: Balancer, name: str, choices: list[dict[str, int]]) -> tuple[Balancer, dict[str, int]]:
    """The step with that name. Exactly one of the choices of its arguments is not refused."""
    found = [arguments for arguments in choices if state.refusal(name, **arguments) is None]
    assert len(found) == 1
    return state.take(name, **found[0]), found[0]


def take_round(state: Balancer, brokers: int = 3, partitions: int = 1) -> tuple[Balancer, list[tuple[int, ...]]]:
    """One round, up to its complete plan, and the moves in their order. Each choice of the round has one outcome."""
    all_brokers = [Broker(number) for number in range(brokers)]
    moves: list[tuple[int, ...]] = []
    state = state.take("begin_round")
    while state.stage != Stage.READY:
        if state.picked is not None:
            p, a = state.picked, state.planned[state.picked]
            if any(state.accepted[c] for c in all_brokers):
                state, move = taken(state, "move", [{"p": p, "a": a, "c": c} for c in all_brokers])
                moves.append(tuple(move.values()))
            else:
                state = state.take("pass_over")
        elif state.visiting is None and any(state.listed[b] for b in all_brokers):
            state, _ = taken(state, "visit", [{"b": b} for b in all_brokers if state.listed[b]])
        elif state.visiting is None:
            state = state.take("end_phase")
        elif state.refusal("end_visit", b=state.visiting) is None:
            state = state.take("end_visit", b=state.visiting)
        else:
            left = [Partition(number) for number in range(partitions) if state.turn[Partition(number)]]
            state, _ = taken(state, "pick", [{"p": p, "a": state.planned[p]} for p in left])
    return state, moves


def settle(state: Balancer) -> Balancer:
    """The plan is executed, and the brokers report what they have received."""
    return state.take("execute").take("report", p=P0).take("report", p=P1)


def test_the_shipped_rules_move_a_partition_in_a_circle() -> None:
    """P-17. Witness W1: from B0 over B1 to B2 in one round, and from B2 to B0 in the next one, again and again."""
    state = Balancer.at("tiny", variants=("shipped",)).start(first=B0, others=B1, apart=False)
    planned = []
    for _ in range(4):
        state, moves = take_round(state, partitions=2)
        planned.append([move for move in moves if move[0] == P0])
        state = settle(state)
    assert planned == [[(P0, B0, B1), (P0, B1, B2)], [(P0, B2, B0)]] * 2
    assert state.placed[P0] == B0


def test_the_rounds_come_to_rest_in_safe_mode() -> None:
    """P-15. From every placement the plan is empty after three rounds at most, and some plans are not empty."""
    lengths = set()
    for first, others, apart in itertools.product((B0, B1, B2), (B0, B1, B2), (False, True)):
        state = Balancer.at("tiny").start(first=first, others=others, apart=apart)
        rounds = 0
        moves: list[tuple[int, ...]] = [(P0,)]
        while moves and rounds < 9:
            state, moves = take_round(state, partitions=2)
            state = settle(state)
            rounds += bool(moves)
        lengths.add(rounds)
    assert 1 <= max(lengths) <= 3


@pytest.mark.parametrize(("variants", "verdict"), [((), "exhausted"), (("shipped",), "violated")])
def test_the_circle_is_a_lasso(variants: tuple[str, ...], verdict: str) -> None:
    """P-15, P-17. The search for lassos gives the same answers for all placements of scope tiny."""
    system = load_variant("balancer", variants)
    result = live(system, system.scopes["tiny"], properties=("comes_to_rest",))
    assert result.verdict == verdict


def test_a_tie_goes_to_the_lower_id() -> None:
    """AB-61, AB-62. B1 and B2 are equally good for the partition; the plan takes B1."""
    state, moves = take_round(Balancer.at(TIES).start(first=B0, others=B0, apart=False))
    assert moves == [(P0, B0, B1)]
    assert state.planned[P0] == B1


def test_a_move_that_exchanges_roles_is_no_gain() -> None:
    """BG-07. A partition of 25 stays on its broker, though the other one is empty."""
    _, moves = take_round(Balancer.at(ROLES).start(first=B0, others=B0, apart=False), brokers=2)
    assert moves == []


def test_penalties_follow_the_scores() -> None:
    """AB-28. The penalty is 0 in the band, grows with the distance, and grows ten times as slowly beyond the span."""
    state = Balancer.at(ROLES).start(first=B0, others=B0, apart=False).take("begin_round")
    r = Resource.IN
    assert state.total[r] == 25
    with universe(ROLES.sizes):
        values = [state.penalty(r, Load(x)) for x in (12, 13, 14, 20, 24, 25, 30)]
    assert values[:2] == [0, 0]
    assert values == sorted(values)
    steep, flat = (values[3] - values[2]) // 6, (values[6] - values[5]) // 5
    assert steep == 10 * flat > 0


def test_an_unknown_load_makes_the_broker_ineligible() -> None:
    """BG-01, AB-22. The destination of a move takes part again after its report."""
    state, _ = take_round(Balancer.at(TIES).start(first=B0, others=B0, apart=False))
    state = state.take("execute").take("begin_round")
    assert [state.eligible[b] for b in (B0, B1, B2)] == [True, False, True]


def test_a_hard_limit_forbids_the_best_move() -> None:
    """BG-08, AB-35. A goal that accepts at most 5 of bytes in forbids 6 to a broker that has nothing."""
    tight = Scope({Broker: 2, Partition: 0, Load: 60}, given=dict(TIES.given) | {"limit": 5})
    _, moves = take_round(Balancer.at(tight).start(first=B0, others=B0, apart=False))
    assert moves == []


def test_the_environment_waits_for_the_end_of_a_round() -> None:
    """AB-18. A round reads its snapshot only, so a step of the environment during a round is refused."""
    state = Balancer.at("default").start(first=B0, others=B1, apart=False).take("begin_round")
    assert state.refusal("hang", b=B0) == ("AB-18", None)
    assert state.refusal("lock", b=B0) == ("AB-18", None)


def test_a_round_keeps_its_configuration() -> None:
    """BG-19. The threshold that an operator raises during a round holds from the next round on."""
    state = Balancer.at("tiny").start(first=B0, others=B0, apart=False).take("begin_round").take("configure")
    assert (state.threshold, state.take("abort").take("begin_round").threshold) == (0, 20)
