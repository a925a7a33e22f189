"""Budgets: their syntax, when they end a search, and how the remaining budget is reported."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import INTERRUPTED, Budget, Meter, Progress, interruptible
from holdfast.check.figures import figures, timing
from holdfast.check.result import Figures
from holdfast.check.search import exploration
from holdfast.check.search.engine import Engine, search
from holdfast.check.summary import render_result
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.python.interpreter import Interpreter
from tests.check.conftest import Compiled


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("30s", Budget(seconds=30)),
        ("1.5min", Budget(seconds=90)),
        ("2h", Budget(seconds=7200)),
        ("1e6states", Budget(states=1_000_000)),
        ("500 states", Budget(states=500)),
        ("2GB", Budget(memory_bytes=2_000_000_000)),
        ("512MiB", Budget(memory_bytes=512 * 2**20)),
        ("2GiB", Budget(memory_bytes=2 * 2**30)),
        ("30s,1e6states,2GB", Budget(30, 1_000_000, 2_000_000_000)),
        (" 2GB , 30s ", Budget(30, None, 2_000_000_000)),
    ],
)
def test_parse(text: str, budget: Budget) -> None:
    """A budget is read as limits in any order, each a number with a unit."""
    assert budget == Budget.parse(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "''"),
        ("30", "'30'"),
        ("30x", "'30x'"),
        ("-3s", "'-3s'"),
        ("0s", "'0s'"),
        ("0.5states", "'0.5states'"),
        ("1e999s", "'1e999s'"),
        ("30s,,2GB", "''"),
        ("1gb", "'1gb'"),
        ("nan s", "'nan s'"),
        ("30s,10s", "'10s' sets the time twice"),
    ],
)
def test_parse_refuses(text: str, part: str) -> None:
    """Any other text is refused, and the error names the wrong part."""
    with pytest.raises(UsageError) as refused:
        Budget.parse(text)

    assert f"budget {text!r}: {part}" in str(refused.value)


def clock_of(*readings: float) -> Callable[[], float]:
    """A clock that shows these times in turn."""
    times: Iterator[float] = iter(readings)
    return lambda: next(times)


def ticks(meter: Meter, number: int) -> list[bool]:
    """The meter's answers to N ticks."""
    return [meter.tick(3, 40, 100, 7) for _ in range(number)]


@pytest.mark.parametrize(("seconds", "rate"), [(0.5, 84.0), (2.0, 21.0), (0.0, 0.0)])
def test_the_rate_counts_states_a_second(seconds: float, rate: float) -> None:
    """The rate of a check is its states by its seconds; it is 0 if the clock has not moved."""
    found = timing(Meter(Budget(), clock=clock_of(10.0, 10.0 + seconds)), 42)
    assert (found.seconds, found.states_per_second) == (seconds, rate)
    assert found.memory_bytes > 0


def test_time_is_watched() -> None:
    """Once the clock is beyond the limit, the meter is spent and names the limit."""
    meter = Meter(Budget(seconds=10), clock=clock_of(0, 9, 11), memory=lambda: 0)

    assert ticks(meter, 2) == [False, True]
    assert meter.spent == "time: more than 10 s"


def test_the_limit_of_time_covers_what_is_still_to_be_done() -> None:
    """A check that needs three more seconds after it has stopped stops three seconds earlier."""
    meter = Meter(Budget(seconds=10), clock=clock_of(0, 6, 7, 8), memory=lambda: 0, reserve=3)

    assert ticks(meter, 3) == [False, False, True]


def test_memory_is_watched() -> None:
    """Once the process occupies more than the limit, the meter is spent and names the limit."""
    meter = Meter(Budget(memory_bytes=5_000_000), clock=lambda: 0.0, memory=lambda: 5_000_001)

    assert ticks(meter, 1) == [True]
    assert meter.spent == "memory: more than 5 MB"


@pytest.mark.parametrize(("occupied", "spent"), [(5_000_000, None), (5_000_001, "memory: more than 5 MB")])
def test_as_much_as_the_limit_is_no_more(occupied: int, spent: str | None) -> None:
    """A search may reach its limit of memory or time; only going beyond it ends the search."""
    meter = Meter(Budget(memory_bytes=5_000_000), clock=lambda: 0.0, memory=lambda: occupied)
    ticks(meter, 64)
    assert meter.spent == spent
    assert not Meter(Budget(seconds=10), clock=clock_of(0, 10), memory=lambda: 0).look(1, 1, 1, 1)


def test_a_slow_model_has_its_clock_looked_at_more_often() -> None:
    """If each state takes a second, the meter reads the clock at every state; otherwise it reads it rarely.

    So a limit of time is passed by one slow state, at most. States are slow in a symmetry group of many elements.
    """

    def looks(pause: float, states: int) -> int:
        """How often the meter reads a clock that goes on by ``pause`` seconds at each reading."""
        times = [0.0]

        def clock() -> float:
            times.append(times[-1] + pause)
            return times[-1]

        ticks(Meter(Budget(), clock=clock, memory=lambda: 0), states)
        return len(times) - 1

    # At the start, and after each state.
    assert looks(1.0, 200) == 1 + 200
    # At the start; after 1, 2, 4, 8, ... and 512 states.
    assert looks(0.0, 2_000) == 1 + 10


def test_progress_is_reported() -> None:
    """Progress is reported at most four times a second, with the rate and the remaining budget."""
    seen: list[Progress] = []
    meter = Meter(
        Budget(seconds=10, states=100, memory_bytes=50), seen.append, clock=clock_of(0, 0.2, 2, 2.1), memory=lambda: 20
    )

    ticks(meter, 3)

    assert [Progress(3, 40, 100, 7, 20.0, 20, 2, Budget(8, 60, 30))] == seen


def test_states_end_a_search(table: System) -> None:
    """A search that meets more states than its limit ends with exit code 20, no answer, and the figures so far."""
    result = search(table, table.scopes["default"], budget=Budget(states=20))

    assert (result.verdict, result.exit_code, result.ended_by) == ("out_of_budget", 20, "states: more than 20")
    assert 20 < result.figures.distinct < 30
    assert result.figures.waiting > 0
    assert "no answer (states: more than 20)" in render_result(result)


def test_a_limit_that_is_just_met(table: System) -> None:
    """As many states as the limit allows are explored to the end."""
    whole = search(table, table.scopes["tiny"])

    assert whole == search(table, table.scopes["tiny"], budget=Budget(states=whole.figures.distinct))


@pytest.mark.parametrize(("budget", "limit"), [(Budget(seconds=1e-9), "time"), (Budget(memory_bytes=1), "memory")])
def test_time_and_memory_end_a_search(table: System, budget: Budget, limit: str) -> None:
    """Time and memory end a search in the same way."""
    result = search(table, table.scopes["default"], budget=budget, symmetry=False)

    assert (result.verdict, result.exit_code) == ("out_of_budget", 20)
    assert str(result.ended_by).startswith(limit)


MANY_STARTS = """
    first: Rel[Node]
    second: Rel[Node]
    default = Scope({Node: 6})
    @init
    def begin(self) -> None:
        self.first.choose()
        self.second.choose()
    @action
    def leave(self, n: Node) -> None:
        self.first[n] = False
    @invariant
    def none(self) -> bool:
        return not any(self.first[n] or self.second[n] for n in Node)
"""


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("symmetry", [True, False])
def test_time_ends_a_search_among_its_starts(
    compiled: Compiled, tmp_path: Path, engine: Engine, symmetry: bool
) -> None:
    """Initial states count against the limit, and a search that lacks some of them is not saved."""
    system, file = compiled(MANY_STARTS), tmp_path / "saved"
    result = search(
        system,
        system.scopes["default"],
        symmetry=symmetry,
        engine=engine,
        budget=Budget(seconds=1e-9),
        checkpoint=file if engine == "kernel" else None,
    )

    assert (result.verdict, result.ended_by, file.exists()) == ("out_of_budget", "time: more than 1e-09 s", False)
    assert result.figures.initial < 4_096


def test_a_violation_survives_the_limit(table: System) -> None:
    """A violation that was found before a limit ended the search is reported as one."""
    broken = remove_rules(table, ["ST-14"])

    result = search(broken, broken.scopes["default"], budget=Budget(states=20), keep_going=True)

    assert (result.verdict, result.exit_code, result.ended_by) == ("violated", 12, "states: more than 20")
    assert result.findings
    assert any("other runs as short may exist" in note for note in result.notes)


class InterruptingInterpreter(Interpreter):
    """An interpreter that receives Ctrl-C once the first action has been tried in N states."""

    after = 10

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        first, *others = self.successors
        tried = 0

        def interrupted(state: bytes) -> list[tuple[bytes, tuple[int, ...]]]:
            nonlocal tried
            tried += 1
            if tried == self.after:
                signal.raise_signal(signal.SIGINT)
            return first(state)

        self.successors = (interrupted, *others)


def test_ctrl_c_ends_a_search(table: System) -> None:
    """After Ctrl-C the search finishes the current state; the answer is partial, with exit code 20."""
    result = search(table, table.scopes["default"], interpreter=InterruptingInterpreter)
    whole = search(table, table.scopes["default"])

    assert (result.verdict, result.exit_code, result.ended_by) == ("out_of_budget", 20, INTERRUPTED)
    assert 10 < result.figures.distinct < whole.figures.distinct
    assert result.figures.waiting > 0


def test_ctrl_c_loses_no_violation(table: System) -> None:
    """A violation found before Ctrl-C is reported, with its run."""
    broken = remove_rules(table, ["ST-14"])

    result = search(broken, broken.scopes["default"], interpreter=InterruptingInterpreter, keep_going=True)

    assert (result.exit_code, result.ended_by) == (12, INTERRUPTED)
    assert result.findings[0].claim.name == "one_handle"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_interrupts(sent: signal.Signals) -> None:
    """A second Ctrl-C interrupts at once, and afterwards the usual handler is back."""
    before = signal.getsignal(sent)
    meter = Meter(Budget())

    with interruptible(meter):
        signal.raise_signal(sent)
        assert meter.spent == INTERRUPTED
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(sent)

    assert signal.getsignal(sent) == before


def test_an_answer_that_is_wanted_whole_is_interrupted_at_once(table: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``whole``, even a Ctrl-C after the search raises: the caller could not notice it in the result."""

    def late(*args: Any) -> Figures:
        signal.raise_signal(signal.SIGINT)
        return figures(*args)

    monkeypatch.setattr(exploration, "figures", late)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert search(table, table.scopes["tiny"]).verdict == "exhausted"
        with pytest.raises(KeyboardInterrupt):
            search(table, table.scopes["tiny"], whole=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_background_job_can_be_interrupted() -> None:
    """If the shell ignores SIGINT, SIGINT still ends the check; afterwards it is ignored again."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    meter = Meter(Budget())

    try:
        with interruptible(meter):
            signal.raise_signal(signal.SIGINT)
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert meter.spent == INTERRUPTED
    assert after == signal.SIG_IGN


def test_a_stage_has_nothing_to_count() -> None:
    """Before a check counts anything, its progress has the stage and the budget, and no states."""
    reports: list[Progress] = []
    Meter(Budget(states=7), reports.append).stage("compiling")

    [now] = reports
    assert (now.depth, now.distinct, now.generated, now.queue, now.rate) == (0, 0, 0, 0, 0.0)
    assert (now.left, now.stage) == (Budget(states=7), "compiling")
