"""New states by unit, and estimates of the rest: against sets, known populations, and in words."""

from __future__ import annotations

import random

import pytest

from spark.campaign.saturation import (
    MOST_POINTS,
    Growth,
    Point,
    Saturation,
    StateGrowth,
    chao2,
    linear_count,
    new_steps,
    sentence,
)
from spark.campaign.tables import STATE_BITS


def bits(*signatures: int) -> bytes:
    """A unit's bitmap: signature 0 is the lowest bit of the first byte."""
    return b"".join(
        sum(1 << bit for bit in range(8) if 8 * byte + bit in signatures).to_bytes(1, "little")
        for byte in range(STATE_BITS // 8)
    )


def grown(units: list[set[int]], traces: int = 100) -> Saturation:
    """The growth of the units' signatures, computed with sets of names."""
    growth = Growth("pairs", len(units))
    for unit in units:
        growth.add(traces, unit)
    return growth.sum()


def test_growth_counts_what_is_new() -> None:
    """A unit adds the signatures that no earlier unit met. Those met by one or two units are counted separately."""
    found = grown([{1, 2}, {2, 3}, {2}, {1, 4, 5}])
    assert found.curve == (Point(100, 2), Point(200, 3), Point(300, 3), Point(400, 5))
    assert (found.seen, found.once, found.twice, found.samples) == (5, 3, 1, 4)
    assert found.rates == (20_000.0, 10_000.0, 0.0, 20_000.0)


def test_a_step_is_new_once() -> None:
    """A kind of state counts as new for the first unit that meets it; the last stretch is told apart."""
    found = grown([{1, 2}, {2, 3}, {2}, {1, 4, 5}])

    assert found.latest == Point(100, 2)
    assert new_steps(found, 1000) == (
        "5 of the steps met a kind of state for the first time, one in 200; of the last 100 runs 2 steps did"
    )


def test_nothing_is_new_without_steps() -> None:
    """A campaign of runs that take no step has no new step, and one unit is its own last stretch."""
    assert new_steps(grown([{1}]), 0) == "none"
    assert grown([{1, 2}]).latest == Point(100, 2)
    assert grown([]).latest == Point(0, 0)


def test_bitmaps_grow_as_sets_do() -> None:
    """Bits and names give the same numbers, also at the ends of the bitmap and of a byte."""
    units = [{0, 7, 8}, {8, STATE_BITS - 1}, {0, 9}]
    states = StateGrowth(len(units))
    for unit in units:
        states.add(100, bits(*unit))
    found, named = states.sum(), grown(units)
    assert (found.seen, found.once, found.twice) == (named.seen, named.once, named.twice) == (5, 3, 2)
    assert found.curve == named.curve
    assert found.room == STATE_BITS


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    """A curve of a thousand units is thinned to what a page can show. Its last point is the whole campaign."""
    found = grown([{number} for number in range(1_003)])
    assert len(found.curve) <= MOST_POINTS
    assert found.curve[-1] == Point(100_300, 1_003)
    assert set(found.rates) == {10_000.0}


def test_chao_by_hand() -> None:
    """10 seen, 4 of them once and 2 twice in 5 samples: 10 + 4/5 * 4 * 3 / (2 * 3)."""
    assert chao2(10, 4, 2, 5) == pytest.approx(11.6)
    assert chao2(10, 0, 3, 5) == 10
    assert chao2(10, 1, 0, 5) == 10


def test_chao_finds_most_of_a_known_population() -> None:
    """Units meet each of 2,000 kinds with chances from 1/2 to 1/50: half are seen, and most are estimated."""
    chance = random.Random(3)
    shares = [0.5 / (1 + 24 * number / 2_000) for number in range(2_000)]
    units = [{number for number, share in enumerate(shares) if chance.random() < share} for _ in range(12)]
    found = grown(units)
    assert found.expected is not None
    assert found.seen < 1_350
    assert found.seen + 200 < found.expected < 2_000


def test_linear_counting_sees_through_collisions() -> None:
    """60,000 things hashed to 65,536 bits set 39,300 of them: the estimate is within one percent."""
    chance = random.Random(5)
    used = len({chance.randrange(STATE_BITS) for _ in range(60_000)})
    assert used < 40_000
    assert linear_count(used, STATE_BITS) == pytest.approx(60_000, rel=0.01)
    assert linear_count(0, STATE_BITS) == 0
    assert linear_count(STATE_BITS, STATE_BITS) is None


def saturation(seen: int, once: int = 0, twice: int = 0, samples: int = 10, room: int | None = None) -> Saturation:
    """Figures without a curve."""
    return Saturation(what="kinds of state", samples=samples, seen=seen, once=once, twice=twice, curve=(), room=room)


def test_what_is_left_of_states_allows_for_collisions() -> None:
    """If half of the signatures are used, 1,000 more of them stand for more than 1,000 kinds of states."""
    plain, hashed = saturation(33_000, 200, 17), saturation(33_000, 200, 17, room=STATE_BITS)
    assert plain.left is not None
    assert hashed.left is not None
    assert plain.left == pytest.approx(995, abs=1)
    assert hashed.left > 1.9 * plain.left


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (saturation(0, samples=0), "No unit is done"),
        (saturation(5, 5, samples=1), "at least two units"),
        (saturation(5, 0, 1), "hardly reach any others"),
        (saturation(5, 1, 1), "less than one more"),
        (saturation(50, 20, 4), "can reach at least 34 more"),
        (saturation(STATE_BITS, 9, 3, room=STATE_BITS), "Too many signatures"),
        (saturation(STATE_BITS - 600, 9, 3, room=STATE_BITS), "is rough"),
        (saturation(STATE_BITS // 2, 0, 3, room=STATE_BITS), "(50.0%), for about 45,426 kinds of state"),
    ],
)
def test_the_sentence_says_what_the_number_means(found: Saturation, said: str) -> None:
    """The sentence fits the figures in every case."""
    assert said in sentence(found)


def test_the_estimate_speaks_of_these_runs_alone() -> None:
    """The text says that the estimate is about these runs, not about the state space."""
    assert "These runs can reach" in sentence(saturation(50, 20, 4))
    assert "nothing about what these runs cannot reach" in sentence(saturation(50, 20, 4))
