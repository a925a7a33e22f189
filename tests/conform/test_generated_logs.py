"""The judge of logs compared with the oracle, on generated models and logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.conform.generated_comparing import Outcome, compare
from tests.conform.generated_streams import streams_model

SAMPLE = 10
"""The number of models of each kind in the quick tier."""

NIGHTLY = 20

FIRST = 1


def wrong(outcomes: Iterable[Outcome]) -> list[str]:
    """All differences, each with the seed of its model."""
    return [f"seed {each.seed}: {difference}" for each in outcomes for difference in each.differences]


@pytest.fixture(scope="module")
def sample() -> list[Outcome]:
    """Some models made of pieces, and some models of streams."""
    seeds = range(FIRST, FIRST + SAMPLE)
    return [*map(compare, seeds), *(compare(seed, streams_model(seed)) for seed in seeds)]


def test_the_judge_agrees_with_the_oracle(sample: list[Outcome]) -> None:
    """They agree with wide and narrow windows, in one world or several, with one source or several."""
    assert wrong(sample) == []


def test_all_answers_are_compared(sample: list[Outcome]) -> None:
    """Each verdict occurs often, so the comparison covers all of them."""
    kinds: Counter[str] = sum((each.kinds for each in sample), Counter())
    assert sum(each.skipped is None for each in sample) >= len(sample) // 2
    for window in ("wide", "narrow", "default"):
        decided = kinds[f"{window} conforms"] + kinds[f"{window} impossible"]
        assert kinds[f"{window} conforms"] > 50
        assert kinds[f"{window} impossible"] > 20
        assert decided > kinds["logs"] // (3 if window == "narrow" else 2)
    assert kinds["divided conforms"] > 50
    assert kinds["divided impossible"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_the_judge_agrees_with_the_oracle_on_many(part: int) -> None:
    """They agree on many models."""
    seeds = range(1 + part * NIGHTLY // 10, 1 + (part + 1) * NIGHTLY // 10)
    assert wrong(map(compare, seeds)) == []
    assert wrong(compare(seed, streams_model(seed)) for seed in seeds) == []
