"""Generated models: CPython, which runs their text, compared with the interpreter, which runs the compiled model.

The interpreter is also compared with itself under renaming, dropped ghosts and symmetry.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import HoldfastError, ModelError
from holdfast.ir.system import System
from tests.differential.comparing import (
    configurations,
    differences,
    pruned_differences,
    renamed_differences,
)
from tests.differential.exploring import symmetry_differences
from tests.differential.generate import model_of, models
from tests.differential.running import loaded, reduced

Check = Callable[[System, random.Random], Iterator[str]]

MOST_STATES = 300
"""The most states that a search of a generated model stores; larger searches are not finished."""

SEEDS = st.integers(0, 2**32 - 1)
"""Seeds of the choices outside the model: states, variants, rules to remove."""


def searched(system: System, chance: random.Random) -> Iterator[str]:  # noqa: ARG001 - a search draws nothing
    """The differences that symmetry makes in a search's answer."""
    return symmetry_differences(system, system.scopes["tiny"], MOST_STATES)


CHECKS: dict[str, Check] = {
    "interpreter and CPython": differences,
    "renamed states": renamed_differences,
    "dropped ghosts": pruned_differences,
    "search under symmetry": searched,
}


REFUSED = (
    "may be None here",
    "never None",
    "a computed key stands in a value that may not be used",
    "a leads_to property computes a key",
    "a ghost must not cut a step",
)
"""The ends of the messages with which the compiler may refuse a generated model.

The compiler knows more than the generator in three places. After a branch without a return it knows facts about
Optionals that the text does not show, and then distinguishes a plain value from an Optional. It follows computed
numbers through Optional locals. And it knows where Python computes a key that the engines would not.
"""


def disagreement(source: str, seed: int, check: Check) -> str | None:
    """The first difference that the check finds in the model, in any of its configurations."""
    with loaded(source) as model:
        try:
            systems = list(configurations(model, random.Random(seed)))
        except ModelError as error:
            if not error.problem.endswith(REFUSED):
                raise
            return None
        for system in systems:
            found = next(check(system, random.Random(seed)), None)
            if found is not None:
                return f"variants {system.chosen}, without {system.removed}: {found}"
    return None


def agree(source: str, seed: int, check: Check) -> None:
    """Fail with the smallest part of the model that shows a difference."""

    def fails(text: str) -> bool:
        try:
            return disagreement(text, seed, check) is not None
        except (HoldfastError, NameError, AttributeError):
            return False

    if disagreement(source, seed, check) is not None:
        small = reduced(source, fails)
        pytest.fail(f"{disagreement(small, seed, check)}\n{small}")


@pytest.mark.parametrize("name", CHECKS)
def test_generated_models_agree(name: str) -> None:
    """Nothing differs: starts, steps, refusals and cuts, properties; with variants, without rules, renamed, pruned."""

    @given(source=models(), seed=SEEDS)
    @settings(max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def check(source: str, seed: int) -> None:
        agree(source, seed, CHECKS[name])

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_many_generated_models_agree(name: str) -> None:
    """Nothing differs on many more models."""

    @given(source=models(), seed=SEEDS)
    @settings(max_examples=150, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def check(source: str, seed: int) -> None:
        agree(source, seed, CHECKS[name])

    check()


def test_hardly_a_generated_model_is_refused() -> None:
    """The compiler refuses at most four of sixty models, for known reasons, so nearly all are compared."""
    refused: list[str] = []
    for seed in range(60):
        with loaded(model_of(seed)) as model:
            try:
                compile_model(model)
            except ModelError as error:
                refused.append(error.problem)
    assert all(problem.endswith(REFUSED) for problem in refused), refused
    assert len(refused) <= 4


SHOWS = """\
class Whole(Model):
    last: Map[tuple[Node, Item], Tick | None]
    unused: bool
    tiny = Scope({Node: 1, Item: 1, Tick: 1})
    @init
    def begin(self) -> None:
        self.last.fill(None)
        self.unused = False
    @action
    def act(self, t: Tick) -> None:
        self.last.fill(t)
"""


def test_a_failing_model_is_made_smaller() -> None:
    """Lines that the failure does not need are removed with their blocks, and the others stay."""

    def fails(text: str) -> bool:
        return "self.last.fill(t)" in text and "def act(" in text

    lines = [line.strip() for line in reduced(SHOWS, fails).splitlines()]
    assert lines == ["class Whole(Model):", "def act(self, t: Tick) -> None:", "self.last.fill(t)"]
