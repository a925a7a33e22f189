"""CPython, the interpreter and the kernel agree on every state: steps, refusals, properties and notes.

Compiling takes seconds for each model. So a few models are compiled, and many are run by Python: see ``plain.py``.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.differential.comparing import configurations
from tests.differential.generate import model_of, models
from tests.differential.running import loaded
from tests.kernel.comparing import Engines, differences
from tests.kernel.plain import use_python
from tests.kernel.writing import SEARCHED, written
from tests.language.cases import Case, read_cases
from tests.language.writing import compiled as compiled_case

ACCEPTED = read_cases("accepted")
COMPILED = (
    "numbers add, subtract, scale, and have bounds",
    "a loop over a Nat and over an Enum",
    "of an Optional number",
)
"""The accepted models with the constructs in which Numba and Python may differ most."""

MODELS = Path(__file__).parents[1] / "lower" / "models"


def compare(system: System, scope: str = "tiny", states: int = 10) -> None:
    """Fail with the first differences."""
    assert differences(Engines(system, system.scopes[scope]), states) == []


# Compiled ---------------------------------------------------------------------------------------------------------


def test_a_compiled_kernel_agrees_on_the_stream_table(streams: System) -> None:
    """Nothing differs on a small model."""
    compare(streams, states=30)


def test_a_compiled_kernel_agrees_on_the_whole_language(gauges: System) -> None:
    """Nothing differs on a model that uses every construct of the language."""
    compare(gauges, states=30)


def test_a_compiled_kernel_agrees_on_computed_keys() -> None:
    """Nothing differs on a model with a computed key wherever a key may stand."""
    compare(compile_model(load_model(str(MODELS / "logs.py"))), states=30)


def test_a_compiled_kernel_agrees_on_sequences() -> None:
    """Nothing differs on a model with every operation of sequences and records."""
    compare(compile_model(load_model(str(MODELS / "queues.py"))), states=30)


def test_a_compiled_kernel_agrees_on_bags() -> None:
    """Nothing differs on a model with every operation of bags."""
    compare(compile_model(load_model(str(MODELS / "bags.py"))), states=30)


def test_a_compiled_kernel_agrees_on_pools() -> None:
    """Nothing differs on a model with every operation of pools."""
    compare(compile_model(load_model(str(MODELS / "pools.py"))), states=30)


def test_a_compiled_kernel_agrees_on_truth_values_in_records() -> None:
    """Nothing differs on a model whose records have truth values as parts."""
    compare(compile_model(load_model(str(MODELS / "answers.py"))), states=30)


def test_a_compiled_kernel_agrees_on_fields_that_hold_records() -> None:
    """Nothing differs on a model whose fields and maps hold records."""
    compare(compile_model(load_model(str(MODELS / "holders.py"))), states=30)


def test_a_compiled_kernel_agrees_on_records_with_numbers_below_0() -> None:
    """Nothing differs on a model whose records have a number that may be negative."""
    compare(compile_model(load_model(str(MODELS / "moves.py"))), states=30)


def test_a_compiled_kernel_agrees_on_whole_maps() -> None:
    """Nothing differs on a model whose parameters are whole maps and relations."""
    compare(compile_model(load_model(str(MODELS / "quorums.py"))), states=30)


@pytest.mark.parametrize("case", [c for c in ACCEPTED if c.title in COMPILED], ids=lambda case: case.name)
def test_compiled_kernels_agree_on_accepted_models(case: Case, tmp_path: Path) -> None:
    """Nothing differs on models with one construct each."""
    compare(compiled_case(tmp_path, case.source))


@pytest.mark.slow
def test_a_compiled_kernel_agrees_on_ownership() -> None:
    """Nothing differs on the protocol."""
    compare(compile_model(load_model("ownership")), states=30)


def test_a_compiled_kernel_agrees_on_a_generated_model() -> None:
    """Nothing differs on a generated model."""
    with loaded(model_of(1)) as model:
        compare(compile_model(model))


@pytest.mark.slow
@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_compiled_kernels_agree_on_all_accepted_models(case: Case, tmp_path: Path) -> None:
    """Nothing differs on any model that the compiler's tests accept."""
    compare(compiled_case(tmp_path, case.source))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_compiled_kernels_agree_on_generated_models(seed: int) -> None:
    """Nothing differs on generated models, with variants and without rules."""
    with loaded(model_of(1000 + seed)) as model:
        for system in configured(model, seed):
            compare(system)


# Run by Python ----------------------------------------------------------------------------------------------------


def configured(model: type, seed: int) -> list[System]:
    """The systems of a generated model; none if the compiler may refuse it."""
    try:
        return list(configurations(model, random.Random(seed)))
    except ModelError:
        return []


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_kernels_agree_on_accepted_models(case: Case, tmp_path: Path) -> None:
    """Nothing differs on any model that the compiler's tests accept."""
    compare(compiled_case(tmp_path, case.source))


@pytest.mark.usefixtures("uncompiled")
def test_a_kernel_agrees_on_ownership() -> None:
    """Nothing differs on the protocol."""
    compare(compile_model(load_model("ownership")), states=6)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", SEARCHED)
def test_kernels_agree_on_the_models_of_the_searches(name: str, tmp_path: Path) -> None:
    """Nothing differs on the models with which the searches are compared."""
    compare(written(tmp_path, SEARCHED[name]))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("scope", "variants", "removed"),
    [
        ("default", (), ()),
        ("tiny", ("lenient", "keep_leader"), ()),
        ("tiny", (), ("GA-02", "GA-03", "GA-05", "GA-06", "GA-07@look", "GA-10")),
    ],
)
def test_kernels_agree_on_other_configurations(
    scope: str, variants: tuple[str, ...], removed: tuple[str, ...], gauges: System
) -> None:
    """Nothing differs in a larger scope, with variants, and without rules."""
    system = remove_rules(compile_model(gauges.python, variants=variants), removed)
    compare(system, scope)


def agree(source: str, seed: int) -> None:
    """Fail with the first differences in any configuration of a generated model."""
    with loaded(source) as model:
        for system in configured(model, seed):
            assert differences(Engines(system, system.scopes["tiny"]), states=2, seed=seed) == [], source


@pytest.mark.parametrize("most", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_kernels_agree_on_generated_models(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing differs on generated models, with variants and without rules."""
    use_python(monkeypatch)

    @given(source=models(), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=most, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def check(source: str, seed: int) -> None:
        agree(source, seed)

    check()
