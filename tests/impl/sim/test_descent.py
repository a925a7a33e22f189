"""Runs made of earlier runs: what they keep, what they change, and what a script never has."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from impl.sim.check import CheckResult, Question, check
from impl.sim.descent import ParentRun, descend
from impl.sim.options import Options
from impl.sim.script import unique_values
from impl.sim.small import recorded

SHORT = Options(operations=80, span_ms=20_000)
AT = 110_000
"""A virtual time in the middle of each run."""


@cache
def _checked(seed: int, partitions: int = 0) -> CheckResult:
    return check(Question(seed=seed, options=replace(SHORT, partitions=partitions)))


def _descended(seed: int, partitions: int = 0) -> Question:
    question = Question(seed=seed, options=replace(SHORT, partitions=partitions))
    one, other = (ParentRun.of(_checked(parent, partitions).run) for parent in (1, 2))
    return descend(question, seed, one, AT, other)


def _events(checked: CheckResult) -> list[tuple[int, str, str]]:
    return [(at, source, kind) for at, source, kind, _ in checked.run.log.events]


def test_equal_arguments_give_equal_questions() -> None:
    """A question depends on the seed, the parent and the other run alone."""
    assert _descended(5) == _descended(5)
    assert len({repr(_descended(seed)) for seed in range(40)}) == 40


@pytest.mark.parametrize("partitions", [0, 3])
def test_scripts_stay_possible(partitions: int) -> None:
    """No value is written twice, no stream is created or destroyed twice, and the first ones always exist."""
    for seed in range(300):
        options = _descended(seed, partitions).options
        script = options.operations_of or ()
        assert unique_values(script)
        assert len(script) <= options.operations
        lasting = [(each.f, each.key) for each in script if each.f in ("create", "destroy")]
        assert len(lasting) == len(set(lasting))
        assert all(key >= options.streams for _, key in lasting)
        assert list(script) == sorted(script, key=lambda each: (each.at, each.client))


def test_scripts_and_tapes_are_changed() -> None:
    """Most runs are crossed, and some fork; of the rest some have another script, other faults, or another weather."""
    parent = ParentRun.of(_checked(1).run)
    made = [_descended(seed) for seed in range(400)]
    repeating = [each for each in made if each.options.recorded is not None]
    assert 60 < len(repeating) < 140
    others = [each for each in repeating if each.options.fork is None]
    assert 30 < len(others) < 70
    assert len([each for each in others if each.options.operations_of != parent.script]) > 10
    assert len([each for each in others if each.options.recorded != parent.faults]) > 10
    assert len([each for each in others if each.seed != parent.seed]) > 3


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_fork_repeats_its_parent_up_to_the_fork(partitions: int) -> None:
    """Nothing differs before the fork. After it the faults are others, drawn from another seed."""
    forks = [each for seed in range(60) if (each := _descended(seed, partitions)).options.fork is not None]
    assert len(forks) >= 2
    before = _events(_checked(1, partitions))
    for question in forks[:2]:
        assert question.options.fork is not None
        at = question.options.fork.at
        checked = check(question)
        assert [each for each in _events(checked) if each[0] < at] == [each for each in before if each[0] < at]
        assert [each for each in _events(checked) if each[0] >= at] != [each for each in before if each[0] >= at]


def test_a_crossed_run_repeats_nothing() -> None:
    """A crossed run has a seed of its own, and its script begins at once; only its kinds of faults are inherited."""
    crossed = [(seed, each) for seed in range(20) if (each := _descended(seed)).options.recorded is None]
    assert len(crossed) > 8
    assert all(each.seed == seed and each.options.fork is None for seed, each in crossed)
    _, question = crossed[0]
    happened = set(check(question).run.happened)
    assert happened
    assert happened <= set(str(question.options.faults).split(","))


def test_a_run_with_a_parent_is_repeated_from_its_tape() -> None:
    """The script and the faults of such a run repeat it, without its parent and without the fork."""
    for seed in range(8):
        question = _descended(seed)
        made = check(question)
        drawn = Question(seed=question.seed, options=SHORT)
        assert _events(check(recorded(drawn, made))) == _events(made)
        assert made.error is None
        assert not made.violations
