"""Proofs of several models side by side: results, errors and interrupts are those of one proof after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.check.budget import Budget
from holdfast.check.prove import side_by_side
from holdfast.check.prove.result import ProofResult, proof_to_json
from holdfast.check.prove.side_by_side import ProofTask, proofs
from holdfast.check.prove.text import render_proof
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from tests.prove.conftest import Compiled, example
from tests.prove.samples import LOCK
from tests.prove.test_ablation import EMPTY


def tasks_of(*systems: System) -> list[ProofTask]:
    """The tasks to prove these systems."""
    return [ProofTask(number, system, f"{number}.py", None) for number, system in enumerate(systems)]


def found(tasks: Sequence[ProofTask], cores: int, **options: object) -> list[ProofResult]:
    """The results on a number of cores."""
    return list(proofs(tasks, lambda text: None, cores=cores, budget=Budget(), **options))


def untimed(value: Any) -> Any:
    """JSON values without times, also of the searches."""
    if isinstance(value, dict):
        return {key: untimed(each) for key, each in value.items() if key != "timing"}
    return [untimed(each) for each in value] if isinstance(value, list) else value


def test_proofs_side_by_side_end_as_one_after_the_other(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes give the results of one, in the order of the tasks, though the longest proof is begun first."""
    tasks = tasks_of(compiled(LOCK), compiled(LOCK + EMPTY), example("two_phase_commit"))
    begun: list[int] = []
    monkeypatch.setattr(
        side_by_side, "WorkerPool", lambda count, *args: (begun.append(count), WorkerPool(count, *args))[1]
    )
    alone, together = found(tasks, 1), found(tasks, 2)
    assert begun == [2]
    assert [each.verdict for each in together] == ["not_inductive", "proved", "proved"]
    assert [untimed(proof_to_json(each)) for each in together] == [untimed(proof_to_json(each)) for each in alone]
    assert [render_proof(each) for each in together] == [render_proof(each) for each in alone]
    assert [each.target for each in together] == ["0.py", "1.py", "2.py"]


def test_an_error_comes_after_the_results_before_it(compiled: Compiled) -> None:
    """A model that refuses the question is named when its turn comes, on two cores as on one."""
    tasks = tasks_of(example("two_phase_commit"), compiled(LOCK), example("two_phase_commit"))
    for cores in (1, 2):
        iterator = proofs(tasks, lambda text: None, cores=cores, budget=Budget(), properties=["final"])
        assert next(iterator).target == "0.py"
        with pytest.raises(UsageError, match="final"):
            next(iterator)


def test_ctrl_c_leaves_what_is_proved_and_one_partial_result(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last result says that it was interrupted, and proves nothing."""

    class InterruptedPool(WorkerPool):
        def as_done(self, *_: object) -> object:  # type: ignore[override]
            raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "WorkerPool", InterruptedPool)
    (only,) = found(tasks_of(compiled(LOCK + EMPTY), compiled(LOCK)), 2)
    assert (only.target, only.verdict, only.ended_by, only.exit_code) == ("0.py", "unknown", "interrupted", 20)


def test_fewer_models_than_cores_have_all_cores(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then each proof is begun with the number of cores, one after the other."""
    given: list[object] = []
    result = found(tasks_of(compiled(LOCK + EMPTY)), 1)[0]
    monkeypatch.setattr(side_by_side, "prove", lambda _, **options: (given.append(options["cores"]), result)[1])
    found(tasks_of(compiled(LOCK), compiled(LOCK)), 3)
    found(tasks_of(compiled(LOCK)), 2)
    assert given == [3, 3, 2]
