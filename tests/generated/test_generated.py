"""Generated models: every engine's whole answer is compared with the oracle's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import pytest

from tests.generated.case import case_of
from tests.generated.comparing import compare, reduced_model
from tests.generated.small import FROM, FROM_ANSWERS, FROM_MAPS, FROM_POOLS, FROM_SEQUENCES, model_of

QUICK = ("interpreter", "kernel-text", "live", "prove", "mutate", "resume")
"""The engines of the quick tier, which the slow tier asks about hundreds of models."""

SAMPLE, KEYED, SEQUENCES, MAPS, POOLS, ANSWERS = 25, 15, 12, 10, 8, 8
"""The numbers of models in the quick tier: of any, and of each kind, in the order of the tests below."""

NIGHTLY = 200

BEYOND = 336
"""The seed of a model with sums of products beyond 64 bits."""


def wrong(seeds: Iterable[int], engines: tuple[str, ...]) -> list[str]:
    """All differences, each with the seed of its model."""
    found = [compare(seed, engines) for seed in seeds]
    return [f"seed {each.seed}: {difference}" for each in found for difference in each.differences]


def test_engines_agree_with_the_oracle() -> None:
    """On a sample, all engines agree: verdicts, runs, states, orbits, liveness, proofs, mutants, resumed searches."""
    assert wrong(range(1, 1 + SAMPLE), QUICK) == []


def test_engines_agree_with_the_oracle_on_computed_keys() -> None:
    """On a sample of models with computed keys, all engines agree."""
    assert wrong(range(FROM, FROM + KEYED), QUICK) == []


def test_engines_agree_with_the_oracle_on_sequences() -> None:
    """On a sample of models with sequences, all engines agree."""
    assert wrong(range(FROM_SEQUENCES, FROM_SEQUENCES + SEQUENCES), QUICK) == []


def test_engines_agree_with_the_oracle_on_whole_maps() -> None:
    """On a sample of models whose parameters are whole maps, all engines agree."""
    assert wrong(range(FROM_MAPS, FROM_MAPS + MAPS), QUICK) == []


def test_engines_agree_with_the_oracle_on_pools() -> None:
    """On a sample of models with pools, all engines agree."""
    assert wrong(range(FROM_POOLS, FROM_POOLS + POOLS), QUICK) == []


def test_engines_agree_with_the_oracle_on_truth_values_in_records() -> None:
    """On a sample of models with truth values in records, all engines agree."""
    assert wrong(range(FROM_ANSWERS, FROM_ANSWERS + ANSWERS), QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        *range(FROM, FROM + 40, 20),
        *range(FROM_SEQUENCES, FROM_SEQUENCES + 40, 20),
        FROM_MAPS,
        FROM_POOLS,
        FROM_ANSWERS,
    ],
)
def test_engines_agree_with_the_oracle_on_many_of_a_kind(first: int) -> None:
    """On more models of each kind, all engines agree."""
    assert wrong(range(first, first + 20), QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_engines_agree_with_the_oracle_on_many(part: int) -> None:
    """On hundreds of models, all engines agree."""
    size = NIGHTLY // 10
    assert wrong(range(1 + part * size, 1 + (part + 1) * size), QUICK) == []


@pytest.mark.slow
def test_tlc_agrees_with_the_oracle() -> None:
    """TLC finds what the oracle finds on forty models."""
    kinds = (
        *range(FROM, FROM + 8),
        *range(FROM_SEQUENCES, FROM_SEQUENCES + 8),
        *range(FROM_MAPS, FROM_MAPS + 5),
        *range(FROM_POOLS, FROM_POOLS + 3),
        *range(FROM_ANSWERS, FROM_ANSWERS + 3),
    )
    assert wrong((*range(1, 14), *kinds), ("tlc",)) == []


@pytest.mark.slow
def test_machine_code_agrees_with_the_interpreter() -> None:
    """Compiled kernels equal the interpreter to the letter, or refuse the model; one model goes beyond 64 bits."""
    kinds = (
        *range(FROM, FROM + 15),
        *range(FROM_SEQUENCES, FROM_SEQUENCES + 15),
        *range(FROM_MAPS, FROM_MAPS + 10),
        *range(FROM_POOLS, FROM_POOLS + 6),
        *range(FROM_ANSWERS, FROM_ANSWERS + 6),
    )
    assert wrong((*range(1, 21), *kinds, BEYOND), ("machine",)) == []


def test_names_that_collide_make_no_method_wrong() -> None:
    """Renaming gives no two parameters of a method the same name, as it once did in three of these models."""
    for seed in (*range(1, 200), 7119, 7500, 11106):
        compile(model_of(seed), f"<seed {seed}>", "exec")


SHAPES = {
    "three Sorts": r"Scope\(\{Node: \d, Item: \d, Role: \d",
    "two Nats": r"Tick: \d, Era: \d",
    "three keys, one type twice": r"Rel\[(\w+), (\w+), \1\]",
    "a negative number": r"> -\d|Gap\(-\d\)",
    "an Optional": r": \w+ \| None\n",
    "a given constant": r"given=\{",
    "a budget": r"budgets=\{",
    "a ghost": r": Ghost\[",
    "a diamond": r"class Whole\(Left, Right\)",
    "a variant": r"@variant\(",
    "an early return in a helper": r"def same\d\(.*\n(?:.*\n)?.*return True\n.*return False",
    "weak fairness for each value": r'fair="weak", per=',
    "strong fairness": r'fair="strong"',
    "a condition that recurs": r"@always_eventually",
    "a condition that lasts": r"@eventually_always",
    "a large number": r"\d{10}",
    "an action called self": r"def self\(",
    "an action called of_all": r"def of_all\(",
    "a property called deadlock": r"def deadlock\(self\) -> bool",
}
"""Features of some models, as patterns of their text."""


@pytest.mark.parametrize("shape", SHAPES)
def test_some_models_have_the_shape(shape: str) -> None:
    """Of six hundred models, some have each feature that an engine once got wrong."""
    assert any(re.search(SHAPES[shape], text) for text in texts())


@cache
def texts() -> tuple[str, ...]:
    """Many models."""
    return tuple(model_of(seed) for seed in range(1, 601))


def test_most_models_are_compared() -> None:
    """Of thirty models hardly any is refused or too large, so nearly all are compared."""
    skipped = [outcome.skipped for seed in range(1, 31) if (outcome := compare(seed, ())).skipped is not None]
    assert len(skipped) <= 6, skipped


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the oracle misses a violated invariant, every engine that checks it differs."""
    seed = next(seed for seed in range(1, 100) if violates(seed))
    monkeypatch.setattr("tests.generated.oracle.STATES", ())
    found = compare(seed, ("interpreter", "kernel-text")).differences
    assert {each.partition(":")[0] for each in found} >= {"search", "kernel"}


def violates(seed: int) -> bool:
    """Whether the oracle finds an invariant of the model violated."""
    if compare(seed, ()).skipped is not None:
        return False
    with case_of(seed) as case:
        return bool(case.system) and any(kind == "invariant" for kind, _ in case.verdicts)


def test_a_failing_model_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of the model that the difference does not need are removed."""
    seed = next(seed for seed in range(1, 100) if violates(seed))
    monkeypatch.setattr("tests.generated.oracle.STATES", ())
    small = reduced_model(seed, ("interpreter",))
    assert len(small.splitlines()) < len(model_of(seed).splitlines())
    assert compare(seed, ("interpreter",), small).differences
