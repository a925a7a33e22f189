"""Properties that several cores decide: the answers are those of one core, in the same order."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.check.live import engine
from holdfast.check.live.engine import Engine, _Liveness, live
from holdfast.check.live.result import live_to_json
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Property, System
from holdfast.lower.graph.state_graph import StateGraph


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that were begun."""
    counts: list[int] = []
    monkeypatch.setattr(
        engine, "ThreadPoolExecutor", lambda count: (counts.append(count), ThreadPoolExecutor(count))[1]
    )
    return counts


def written_down(system: System, cores: int, drawn_by: Engine = "kernel") -> str:
    """The answer as the text of its JSON, without times."""
    found = live_to_json(live(system, system.scopes["default"], engine=drawn_by, cores=cores))
    del found["timing"]
    return json.dumps(found)


@pytest.mark.parametrize("rule", [None, 0])
@pytest.mark.parametrize("drawn_by", ["kernel", "interpreter"])
def test_several_cores_answer_as_one(
    lease: System, drawn_by: Engine, rule: int | None, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON is the same to the byte, whether properties hold or a rule is missing."""
    system = lease if rule is None else remove_rules(lease, [lease.rules[rule].label])
    monkeypatch.setattr(engine, "MANY", 0)
    wanted = written_down(system, 1, drawn_by)
    assert begun == []
    assert written_down(system, 5, drawn_by) == wanted
    # There are two properties, so more threads would have no work.
    assert begun == [2]


def test_a_small_graph_begins_no_thread(lease: System, begun: list[int]) -> None:
    """A graph of few states is judged before a second core would help."""
    written_down(lease, 2)
    assert begun == []


def test_an_answer_behind_one_that_the_budget_left_out_is_dropped(
    lease: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer stands beside its own property, also if a later property was decided and an earlier one was not."""
    monkeypatch.setattr(engine, "MANY", 0)

    decided = _Liveness.decide

    class LastFirst(ThreadPoolExecutor):
        def map(self, work: Any, props: Any) -> Any:  # type: ignore[override]
            *others, last = props
            answer = work(last)
            return [*map(work, others), answer]

    def until_the_time_is_up(self: _Liveness, graph: StateGraph, prop: Property) -> object:
        answer = decided(self, graph, prop)
        self.meter.spent = "time: more than 1 s"
        return answer

    monkeypatch.setattr(engine, "ThreadPoolExecutor", LastFirst)
    monkeypatch.setattr(_Liveness, "decide", until_the_time_is_up)
    found = live(lease, lease.scopes["default"], cores=2)
    assert (found.verdict, found.figures.owed) == ("inconclusive", ())
