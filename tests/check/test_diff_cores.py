"""Comparisons on several cores answer as on one; short ones begin no process; equal actions are asked once."""

from __future__ import annotations

import json
import signal

import pytest

from holdfast.check.budget import INTERRUPTED, Budget, Meter, Progress
from holdfast.check.diff import engine
from holdfast.check.diff.compared_system import ComparedSystem
from holdfast.check.diff.engine import diff, diff_to_json
from holdfast.check.diff.lockstep import Lockstep
from holdfast.check.search.engine import NO_BUDGET
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.check.comparing import versions


def written_down(a: System, b: System, cores: int, budget: Budget = NO_BUDGET) -> str:
    """The comparison as the text of its JSON, without the times of the searches."""
    found = diff_to_json(diff(*versions(a, b), budget=budget, cores=cores))
    for side in "ab":
        del found[side]["search"]["timing"]
    return json.dumps(found)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of processes of the pools that a comparison begins."""
    counts: list[int] = []
    monkeypatch.setattr(engine, "WorkerPool", lambda count, *args: (counts.append(count), WorkerPool(count, *args))[1])
    return counts


def test_searches_in_another_process_change_no_answer(
    table: System, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON is that of one core, to the byte, if another process makes the searches."""
    other = remove_rules(table, [table.rules[0].label])
    wanted = written_down(table, other, 1)
    monkeypatch.setattr(engine, "LONG", 0)
    assert written_down(table, other, 1) == wanted
    assert begun == []
    assert written_down(table, other, 2) == wanted
    assert begun == [1]


def test_short_and_limited_comparisons_begin_no_process(
    table: System, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small model is done before a process has begun, and the parts share limits of time and memory."""
    wanted = written_down(table, table, 2)
    monkeypatch.setattr(engine, "LONG", 0)
    for budget in (Budget(seconds=10_000), Budget(memory_bytes=10**12)):
        assert written_down(table, table, 2, budget) == wanted
    assert begun == []


def test_an_interruption_leaves_the_searches_out(
    table: System, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C during the searches the answer has the whole comparison, and names the searches as not made."""
    monkeypatch.setattr(engine, "LONG", 0)
    wanted = diff(*versions(table, table), cores=1).compared

    def interrupt(now: Progress) -> None:
        if now.stage == engine.SEARCHING_BOTH:
            signal.raise_signal(signal.SIGINT)

    found = diff(*versions(table, table), progress=interrupt, cores=2)

    assert begun == [1]
    assert (found.compared, found.searched_a, found.searched_b) == (wanted, None, None)
    assert (found.ended_by, found.exit_code) == (INTERRUPTED, 20)


def test_equal_actions_are_asked_once(table: System) -> None:
    """In equal states the second system is asked for the steps of the changed actions only."""
    rule = table.rules[0]
    a, b = (
        ComparedSystem(each.system, each.scope, each.target)
        for each in versions(table, remove_rules(table, [rule.label]))
    )
    names = {action.name for action in table.actions}
    assert rule.actions
    assert Lockstep(a, b, Meter(Budget())).equal == names - set(rule.actions)
