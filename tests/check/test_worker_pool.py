"""Work in several processes: results in the order of the tasks, errors and ends of workers, trials of mutants."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.check import worker_pool
from holdfast.check.budget import Budget
from holdfast.check.mutate import engine, operator_trials
from holdfast.check.mutate.bench import Bench
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.result import MutantFacts, MutationReport, OperatorRow, to_json
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.trace.trace import Trace
from tests.check.conftest import Compiled
from tests.check.mutating import lock, mutation

ROOT = Path(__file__).parents[2]

_prepared: list[int] = []


def prepare(by: int) -> None:
    """Keep the payload in this process."""
    _prepared.append(by)


def multiplied(task: int) -> int:
    """The task times the payload."""
    [by] = _prepared
    return task * by


def refused(task: int) -> int:
    """Refuse one task."""
    if task == 2:
        raise UsageError("task 2 is refused")
    return task


def killed(task: int) -> int:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def alive() -> int:
    """The number of processes that this one has begun and that still run."""
    return len(multiprocessing.active_children())


def test_results_come_in_the_order_of_the_tasks() -> None:
    """Each result follows from its task and the payload, whichever process worked on it; none is left behind."""
    with WorkerPool(2, prepare, 7) as processes:
        assert list(processes.in_order(multiplied, range(20), lambda done: None)) == [7 * task for task in range(20)]
    assert alive() == 0


def test_an_error_of_a_task_ends_the_work() -> None:
    """An error reaches the caller after the results before it, and the processes are ended."""
    found = []
    with pytest.raises(UsageError, match="task 2 is refused"), WorkerPool(2, prepare, 1) as processes:
        found += processes.in_order(refused, range(9), lambda done: None)
    assert alive() == 0


def test_a_process_that_the_system_ended_is_named() -> None:
    """If a worker is killed, one line says so, with a remedy; no result is made up."""
    with (
        pytest.raises(UsageError, match=r"ended one of the processes .* task 1 of 3.*use --cores 1"),
        WorkerPool(2, prepare, 1) as processes,
    ):
        list(processes.in_order(killed, range(3), lambda done: None))


def held(fifo: str) -> None:
    """Say that the work has begun, and never end it."""
    with Path(fifo).open("w") as pipe:
        pipe.write("x")
        pipe.flush()
        while True:
            signal.pause()


def deaf(fifo: str) -> None:
    """Ignore the signal to end, as Z3 does in a long question."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    held(fifo)


def left_behind(fifo: str) -> int:
    """Finish the task in order, in a process that then hangs at its exit."""
    atexit.register(held, fifo)
    return 1


def test_a_worker_that_ignores_its_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not answer SIGTERM is killed after the grace: the pool ends, and no worker is left."""
    monkeypatch.setattr(worker_pool, "GRACE", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def waiting(done: int) -> None:
        """Stop as soon as the work has begun: the worker is deaf by then."""
        assert done == 0
        with fifo.open("rb") as pipe:
            assert pipe.read(1) == b"x"
        raise UsageError("enough")

    with pytest.raises(UsageError, match="enough"), WorkerPool(2, prepare, 1) as pool:
        list(pool.in_order(deaf, [str(fifo)], waiting))
    assert alive() == 0


def test_a_worker_that_hangs_at_its_exit_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All results are there, and the pool ends though a worker does not."""
    monkeypatch.setattr(worker_pool, "GRACE", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with WorkerPool(1, prepare, 1) as pool:
        assert list(pool.in_order(left_behind, [str(fifo)], lambda done: None)) == [1]
    assert alive() == 0


ENDLESS = """
import sys
from holdfast.check.worker_pool import WorkerPool
from tests.check.test_worker_pool import held, prepare
with WorkerPool(2, prepare, 1) as pool:
    list(pool.in_order(held, [sys.argv[1]] * 2, lambda done: None))
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_pool(sent: signal.Signals, tmp_path: Path) -> None:
    """After SIGTERM the pool ends its workers; if the process of the pool is killed, they end by themselves."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(fifo)], env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
    )
    with fifo.open("rb") as pipe:
        assert pipe.read(2) == b"xx"
        process.send_signal(sent)
        _, error = process.communicate(timeout=60)
        # The end of the pipe: no worker has it open any more.
        assert pipe.read() == b""
    # Python ends itself by SIGINT after a KeyboardInterrupt that nobody catches.
    assert process.returncode == (-signal.SIGKILL if sent == signal.SIGKILL else -signal.SIGINT)
    assert (b"KeyboardInterrupt" in error) == (sent == signal.SIGTERM)


def asked(fifos: tuple[str, str]) -> int:
    """Say that the work has begun, and end it when told."""
    begun, go_on = fifos
    with Path(begun).open("w") as pipe:
        pipe.write("x")
    with Path(go_on).open() as pipe:
        return len(pipe.readline())


TOLD = """
import signal, sys
from holdfast.check.worker_pool import WorkerPool
from tests.check.test_worker_pool import asked, prepare
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
with WorkerPool(1, prepare, 1) as pool:
    print(*pool.in_order(asked, [tuple(sys.argv[1:])], lambda done: None))
"""


def test_a_signal_to_the_whole_group_leaves_the_end_to_the_caller(tmp_path: Path) -> None:
    """`timeout` sends SIGTERM to all processes. The caller gets the results that it still waits for."""
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"
    os.mkfifo(begun)
    os.mkfifo(go_on)
    process = subprocess.Popen(
        [sys.executable, "-c", TOLD, str(begun), str(go_on)],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    assert begun.read_text() == "x"
    os.killpg(process.pid, signal.SIGTERM)
    assert process.stdout is not None
    assert process.stdout.readline() == "told\n"
    # Opened for both ends, which waits for no reader: if the worker is gone, there is none.
    pipe = os.open(go_on, os.O_RDWR)
    os.write(pipe, b"1234\n")
    rest, _ = process.communicate(timeout=60)
    os.close(pipe)
    assert (rest, process.returncode) == ("5\n", 0)


def tried(
    system: System, cores: int, budget: str | None = None
) -> tuple[MutationReport, list[str], list[tuple[str, Trace]]]:
    """The report on a system's mutants, the names of the facts that were kept, and the runs that were shown."""
    kept: list[MutantFacts] = []
    shown: list[tuple[str, Trace]] = []
    trials = mutation(
        system, cores=cores, budget=budget, keep=kept.append, show=lambda name, trace: shown.append((name, trace))
    )
    assert trials.broken() is None
    return trials.report(), [facts.mutant.name for facts in kept], shown


def test_mutants_side_by_side_end_as_one_after_the_other(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes give the report, the kept facts and the runs of one, in the same order."""
    system = compiled(lock())
    wanted = tried(system, 1)
    monkeypatch.setattr(engine, "LONG", 0)
    begun: list[int] = []
    monkeypatch.setattr(engine, "WorkerPool", lambda count, *args: (begun.append(count), WorkerPool(count, *args))[1])

    found = tried(system, 2)

    assert begun == [2]
    assert to_json(found[0]) == to_json(wanted[0])
    assert found == wanted


def operator_rows(system: System, cores: int) -> list[OperatorRow]:
    """The rows of a system's operator mutants."""
    rows: list[OperatorRow] = []
    limits = MutationLimits(Budget(), cores=cores)
    bench = Bench(system, system.scopes["tiny"], "lock", limits)
    assert bench.whole.verdict == "exhausted"
    operator_trials.try_operators(system, bench, limits, rows.append)
    return rows


def test_operator_mutants_side_by_side_end_as_one_after_the_other(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes give the rows of one, in the same order, whatever ends first."""
    system = compiled(lock())
    wanted = operator_rows(system, 1)
    begun: list[int] = []
    monkeypatch.setattr(operator_trials, "FEW", 0)
    monkeypatch.setattr(
        operator_trials, "WorkerPool", lambda count, *args: (begun.append(count), WorkerPool(count, *args))[1]
    )
    assert operator_rows(system, 2) == wanted
    assert begun == [2]
    assert {"killed", "survived"} <= {row.way for row in wanted}


def test_a_limit_of_time_ends_operator_mutants_side_by_side(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the time is up, the limit of the command is named, and no row is made up."""
    monkeypatch.setattr(operator_trials, "FEW", 0)
    monkeypatch.setattr(operator_trials, "WorkerPool", _out_of_time)
    system, rows = compiled(lock()), list[OperatorRow]()
    limits = MutationLimits(Budget(seconds=1000.0), cores=2)
    with pytest.raises(Interruption, match="time: more than 1000 s"):
        operator_trials.try_operators(system, Bench(system, system.scopes["tiny"], "lock", limits), limits, rows.append)
    assert rows == []


def test_a_limit_of_time_ends_mutants_side_by_side(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time of the command is up, the report names the limit of the command, and the mutants that are left."""
    system = compiled(lock())
    trials = mutation(system, cores=2, budget="1000s")
    assert trials.broken() is None
    monkeypatch.setattr(engine, "LONG", 0)
    monkeypatch.setattr(engine, "WorkerPool", _out_of_time)

    report = trials.report()

    assert (report.rows, report.ended_by, report.exit_code) == ((), "time: more than 1000 s", 20)
    assert len(report.untried) == len(engine.mutants(system))


def _out_of_time(count: int, prepare: Callable[[Any], None], payload: Any) -> WorkerPool:
    """A pool of processes for which no time is left."""
    assert payload.budget.seconds is not None
    return WorkerPool(count, prepare, attrs.evolve(payload, budget=Budget(seconds=1e-6)))
