"""Checkpoints: however a search was ended, it resumes to the answer that it would have had."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.check.budget import Budget
from holdfast.check.result import to_json
from holdfast.check.search.checkpoint import Checkpoint
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System

MODEL = Path(__file__).parents[2] / "models" / "ownership.py"

KILLED_AFTER_THE_FOURTH_LEVEL = """
import os, signal, sys
from pathlib import Path
from holdfast.check.search import checkpoint
from holdfast.cli.app import main

saved = 0

def save(self, search):
    global saved
    checkpoint.Checkpoint.save(self, search)
    saved += 1
    if saved == 4:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.Checkpoint.save_if_due = save
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def ownership() -> System:
    """The model, compiled."""
    return compile_model(load_model(str(MODEL)))


@pytest.fixture(scope="module")
def undisturbed(ownership: System) -> dict[str, Any]:
    """The answer of an uninterrupted search by the other engine."""
    return answer(ownership, engine="interpreter")


def answer(system: System, **options: Any) -> dict[str, Any]:
    """The result of a search of the smallest scope, without its timing."""
    found = to_json(search(system, system.scope("tiny"), **options))
    del found["timing"]
    return found


@pytest.mark.parametrize("cores", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_search_that_ran_out_of_budget_goes_on(
    ownership: System, undisturbed: dict[str, Any], tmp_path: Path, cores: int
) -> None:
    """A search that a limit ended resumes to the answer of a search without the limit, on any number of cores."""
    file = tmp_path / "search.checkpoint"

    partial = answer(ownership, checkpoint=file, budget=Budget(states=9_000), cores=2)

    assert partial["verdict"] == "out_of_budget"
    assert answer(ownership, resume_from=file, cores=cores) == undisturbed


def test_a_search_that_was_killed_goes_on(ownership: System, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    """After SIGKILL the last whole checkpoint is there, and leads to the answer of an uninterrupted search."""
    file = tmp_path / "search.checkpoint"
    command = [sys.executable, "-c", KILLED_AFTER_THE_FOURTH_LEVEL, "check", str(MODEL), "--scope", "tiny"]

    ended = subprocess.run([*command, "--checkpoint", str(file)], check=False, env=os.environ, capture_output=True)

    assert ended.returncode == -signal.SIGKILL
    assert answer(ownership, resume_from=file) == undisturbed


def test_a_complete_search_resumes_to_its_answer(
    ownership: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint written after the last level, when the frontier is empty, leads to the same depth."""
    monkeypatch.setattr(Checkpoint, "save_if_due", Checkpoint.save)
    file = tmp_path / "search.checkpoint"

    complete = answer(ownership, checkpoint=file)

    assert answer(ownership, resume_from=file) == complete


@pytest.mark.slow
def test_what_was_found_before_is_not_forgotten(ownership: System, tmp_path: Path) -> None:
    """Violations and witnesses of the levels before the checkpoint are in the answer, with their runs."""
    system = remove_rules(ownership, ["ST-13"])
    file = tmp_path / "search.checkpoint"

    answer(system, keep_going=True, checkpoint=file, budget=Budget(states=3_000))

    resumed = answer(system, keep_going=True, resume_from=file)
    assert resumed["findings"]
    assert resumed == answer(system, keep_going=True, engine="interpreter")


def test_a_checkpoint_of_another_search_is_refused(ownership: System, tmp_path: Path) -> None:
    """A checkpoint that does not fit the current model is refused, and the error names the difference."""
    file = tmp_path / "search.checkpoint"
    answer(ownership, checkpoint=file, budget=Budget(states=1_000))

    with pytest.raises(UsageError, match=r"belongs to another search: its fingerprint is '[0-9a-f]+'"):
        answer(remove_rules(ownership, ["ST-14"]), resume_from=file)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "text", "foreign"])
def test_a_broken_checkpoint_is_refused(ownership: System, tmp_path: Path, damage: str) -> None:
    """A file that is not a whole checkpoint gives one line, not a traceback."""
    file = tmp_path / "search.checkpoint"
    answer(ownership, checkpoint=file, budget=Budget(states=1_000))
    match damage:
        case "missing":
            file.unlink()
        case "empty":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(file.read_bytes()[:-200])
        case "text":
            file.write_text("not a checkpoint")
        case "foreign":
            with file.open("wb") as out:
                np.savez(out, numbers=np.arange(3))

    with pytest.raises(UsageError, match=str(file)):
        answer(ownership, resume_from=file)


def test_the_interpreter_keeps_none(ownership: System, tmp_path: Path) -> None:
    """The interpreter refuses a request for a checkpoint instead of ignoring it."""
    with pytest.raises(UsageError, match="the interpreter keeps no checkpoints"):
        answer(ownership, engine="interpreter", checkpoint=tmp_path / "search.checkpoint")
