"""Processes that ask Z3 and do not answer: they are killed, and one that the system ended is named."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.check import worker_pool
from holdfast.check.budget import Budget, Meter
from holdfast.check.prove import asking
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.ir.errors import UsageError
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion

QUESTION = SolverQuestion(("(declare-fun a () Bool)",), ("(assert a)",), ())
FIFO = "FIFO"
"""The environment variable with the pipe through which a worker says that its work has begun."""


def deaf(questions: Sequence[SolverQuestion], **_: Any) -> list[SolverAnswer]:
    """Say that the work has begun, ignore the signal to end, and never answer, as Z3 does in a long question."""
    assert questions == [QUESTION]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Path(os.environ[FIFO]).open("w") as pipe:
        pipe.write("x")
        pipe.flush()
        while True:
            signal.pause()


def ended(questions: Sequence[SolverQuestion], **_: Any) -> list[SolverAnswer]:
    """End the process, as the system does for lack of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return [SolverAnswer("unsat") for _ in questions]


def test_a_process_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a limit ends the proof, a process that ignores SIGTERM is killed after the grace, and none is left."""
    monkeypatch.setattr(worker_pool, "GRACE", 0.1)
    monkeypatch.setattr(asking, "_ask_all", deaf)
    monkeypatch.setattr(asking, "MANY", 0)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setenv(FIFO, str(fifo))

    def memory() -> int:
        """More than the limit as soon as the worker has begun."""
        if askers._pool is None:
            return 0
        with fifo.open("rb") as pipe:
            assert pipe.read(1) == b"x"
        return 2

    askers = Askers(1, Meter(Budget(memory_bytes=1), memory=memory))
    with pytest.raises(LimitExceeded), askers:
        askers.answers([lambda: QUESTION], 3.0)
    assert multiprocessing.active_children() == []


def test_a_process_that_the_system_ended_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what happened, with a remedy; no answer is made up."""
    monkeypatch.setattr(asking, "_ask_all", ended)
    monkeypatch.setattr(asking, "MANY", 0)
    with (
        pytest.raises(UsageError, match=r"processes that asked Z3.*use --cores 1"),
        Askers(1, Meter(Budget())) as askers,
    ):
        askers.answers([lambda: QUESTION], 3.0)
    assert multiprocessing.active_children() == []
