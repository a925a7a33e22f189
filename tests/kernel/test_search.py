"""The kernel's search and the interpreter's have the same answer: every figure, every run, every letter."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.search import kernel_search
from holdfast.check.search.engine import search
from holdfast.check.search.kernel_search import KernelSearch
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.kernel import build, store
from holdfast.lower.kernel.cache import CACHE_VARIABLE
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.llvm.object_code import FULL, QUICK
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import select
from tests.kernel.searching import equal_searches
from tests.kernel.writing import SEARCHED, written

ROOT = Path(__file__).parents[2]
MANIFEST: list[dict[str, Any]] = json.loads((ROOT / "models" / "manifest.json").read_text())
PINNED = [entry for entry in MANIFEST if entry.get("engine", "check") == "check"]
"""The pinned searches. Entries of `live` are left out, since they count the steps of another graph."""


def pinned(entry: dict[str, Any]) -> System:
    """The system of a manifest entry."""
    system = compile_model(load_model(entry["model"]), variants=tuple(entry.get("variants", ())))
    return remove_rules(system, tuple(entry.get("without", ())))


def title(entry: dict[str, Any]) -> str:
    """The title of an entry in reports."""
    return " ".join((entry["model"], entry["scope"], *entry.get("variants", ()), *entry.get("without", ())))


# Small models, run by Python --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("keep_going", [True, False])
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_equal(name: str, keep_going: bool, symmetry: bool, tmp_path: Path) -> None:
    """With cuts, budgets, deadlocks, repetitions and rival violations, answers are equal, with and without symmetry."""
    equal_searches(written(tmp_path, SEARCHED[name]), "tiny", keep_going=keep_going, symmetry=symmetry)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("name", "verdict", "shown"),
    [
        ("states of two words", "exhausted", []),
        ("bounds and budgets cut", "exhausted", []),
        ("a bound cuts the only step", "exhausted", []),
        ("a deadlock", "violated", ["deadlock"]),
        ("a final state", "exhausted", []),
        (
            "repetitions that are refused, that change something, and that a bound cuts",
            "violated",
            ["refused_idempotent", "changes_idempotent"],
        ),
        (
            "several violations of equal length",
            "violated",
            ["never_two", "never_two_of_one", "grows", "not_twice"],
        ),
    ],
)
def test_the_models_show_what_they_are_for(name: str, verdict: str, shown: list[str], tmp_path: Path) -> None:
    """The models of these comparisons have the violations for which they were written."""
    system = written(tmp_path, SEARCHED[name])

    result = search(system, system.scopes["tiny"], engine="kernel", keep_going=True)

    assert result.verdict == verdict
    assert [trace.claim.name for trace in result.findings] == shown


DIALS = """
    left: N
    right: N
    tiny = Scope({N: 11})
    @init
    def anywhere(self, a: N, b: N) -> None:
        self.left = a
        self.right = b
    @action
    def turn(self, n: N) -> None:
        self.left = n
    @invariant
    def fine(self) -> bool:
        return self.left <= N(11)
"""
"""A model with more initial states than a buffer holds, all of which its steps reach again."""


@pytest.mark.usefixtures("uncompiled")
def test_an_initial_state_that_is_found_again_is_no_new_one(tmp_path: Path) -> None:
    """The store has the initial states where steps look for them, so it does not store them twice."""
    assert equal_searches(written(tmp_path, DIALS), "tiny").figures.distinct == 144


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("cores", [1, 2])
def test_a_level_that_fills_its_buffers_many_times(cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """States that were expanded before a buffer was full are not expanded again, and are counted once."""
    monkeypatch.setattr(store, "ROOM", 1)
    body = DIALS.replace("left: N\n", "left: N\n    on: bool\n").replace("N: 11", "N: 30").replace("N(11)", "N(30)")
    body = body.replace("self.left = a", "self.left = a\n        self.on = False")
    body = body.replace("turn(self, n: N)", "turn(self, x: bool)").replace("self.left = n", "self.on = x")
    assert equal_searches(written(tmp_path, body), "tiny", cores=[cores]).figures.waiting == 0


@pytest.mark.parametrize(("cores", "room"), [(1, store.ROOM), (2, 1)])
def test_full_code_takes_over_within_a_search(
    cores: int, room: int, locks: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A search that turns from quick to full code, between two levels or within one, has the interpreter's answer."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(build, "_built", {})
    monkeypatch.setattr(store, "ROOM", room)
    monkeypatch.setattr(kernel_search, "LONG", 30)
    levels: list[tuple[int, int]] = []
    advance = KernelSearch._pause

    def pause(found: KernelSearch) -> bool:
        levels.append((found.distinct, found.kernel.module.LEVEL))
        return advance(found)

    monkeypatch.setattr(KernelSearch, "_pause", pause)
    wanted = equal_searches(locks, "tiny", cores=[cores])
    assert {level for _, level in levels} == {QUICK, FULL}
    assert all(level == QUICK for count, level in levels if count < 30)
    assert wanted.figures.distinct > 30


def test_full_code_waits_for_time(locks: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little time left, a search does not compile again: it would go beyond its budget."""
    monkeypatch.setattr(kernel_search, "LONG", 1)
    monkeypatch.setattr(Kernel, "improve", lambda _: pytest.fail("there is no time for it"))
    search(locks, locks.scopes["tiny"], engine="kernel", budget=Budget(seconds=kernel_search.LEFT))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("names", [["one_holder"], ["LS-11", "deadlock"], ["held"]])
@pytest.mark.parametrize("symmetry", [True, False])
def test_searches_for_chosen_properties_are_equal(names: list[str], symmetry: bool, locks: System) -> None:
    """Both engines give the same answer for any selection of properties."""
    equal_searches(locks, "tiny", properties=names, symmetry=symmetry)


@pytest.mark.usefixtures("uncompiled")
def test_a_search_that_runs_out_of_its_budget_says_so(gauges: System) -> None:
    """Both engines stop at a limit of states, for the same reason; the kernel checks the limit less often."""
    results = [
        search(gauges, gauges.scopes["tiny"], engine=engine, budget=Budget(states=500), cores=1)
        for engine in ("interpreter", "kernel")
    ]
    assert [result.ended_by for result in results] == ["states: more than 500"] * 2
    assert [result.exit_code for result in results] == [20, 20]
    assert all(result.figures.distinct > 500 for result in results)
    assert all(result.figures.waiting > 0 for result in results)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("target", "depth"), [("n == N(20)", 80), ("n == N(90)", 90), ("n > N(120)", 100)])
def test_the_limit_of_time_covers_looking_back(target: str, depth: int, tmp_path: Path) -> None:
    """A search that has to expand 20 states again for a run ends that much earlier.

    Each level has one state, and the clock goes on by two seconds a level. A witness that is found too late for that
    ends the search where it is found.
    """
    body = f"""
    n: N
    tiny = Scope({{N: 150}})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
    @witness
    def far(self) -> bool:
        return self.{target}
    """
    system = written(tmp_path, body)
    seconds = itertools.count()
    meter = Meter(Budget(seconds=200), clock=lambda: float(next(seconds)))
    machine = Interpreter(system, system.scopes["tiny"])
    found = KernelSearch(machine, select(system, None), False, False, meter, cores=1)
    found.explore()
    assert meter.spent == "time: more than 200 s"
    assert abs(found.counters.depth - depth) < 3


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("given", [(1, 4, 7), (7, 1, 4), (6, 6, 6), (0, 3, 2)])
def test_constants_of_the_scope_are_looked_up(given: tuple[int, ...], tmp_path: Path) -> None:
    """Constants may have adjacent, distant or equal values; a step looks them up by its argument."""
    body = f"""
    limit: Map[Node, N]
    at_: Map[Node, N]
    tiny = Scope({{Node: 3, N: 7}}, given={{"limit": {given}}})
    @init
    def zero(self) -> None:
        self.at_.fill(N(0))
    @action
    def rise(self, n: Node) -> None:
        require(self.at_[n] < self.limit[n], "LI-01")
        self.at_[n] += 1
    """
    found = equal_searches(written(tmp_path, body), "tiny", symmetry=False)
    assert found.figures.distinct == (given[0] + 1) * (given[1] + 1) * (given[2] + 1)


@pytest.mark.usefixtures("uncompiled")
def test_what_progress_is_told(locks: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last round the search has reported its final figures, and the frontier is empty."""
    told: list[tuple[int, int, int, int]] = []

    def look(_: Meter, depth: int, distinct: int, generated: int, queue: int) -> bool:
        told.append((depth, distinct, generated, queue))
        return False

    monkeypatch.setattr(Meter, "look", look)
    figures = search(locks, locks.scopes["tiny"], engine="kernel").figures
    assert told[-1] == (figures.depth, figures.distinct, figures.generated, 0)
    assert [each[1] for each in told] == sorted(each[1] for each in told)
    assert all(each[3] >= 0 for each in told)


# Compiled, on one core and two --------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", [True, False])
def test_compiled_searches_are_equal(symmetry: bool, locks: System) -> None:
    """The compiled kernel gives the same answer on one core, on two and on three."""
    for keep_going in (False, True):
        equal_searches(locks, "tiny", cores=(1, 2, 3), symmetry=symmetry, keep_going=keep_going)


@pytest.mark.parametrize("name", ["a deadlock", "several violations of equal length"])
def test_compiled_searches_find_the_same(name: str, tmp_path: Path) -> None:
    """The compiled kernel finds the same runs on one core and on two."""
    equal_searches(written(tmp_path, SEARCHED[name]), "tiny", cores=(1, 2), keep_going=True)


INTERPRETED = [entry for entry in PINNED if not entry.get("slow")]
WHOLE = [entry for entry in INTERPRETED if not (entry.get("variants") or entry.get("without"))]
CHANGED = [entry for entry in INTERPRETED if entry not in WHOLE][::3]
"""Every third configuration with variants or without rules. ``holdfast verify`` searches all, with one engine."""
UNREDUCED = list({entry["model"]: entry for entry in sorted(WHOLE, key=lambda entry: -entry["states"])}.values())
"""Of each model, the smallest configuration: without symmetry, the interpreter would take many minutes for others."""
SLOW = [entry for entry in PINNED if entry.get("slow")]
LARGE = list({entry["model"]: entry for entry in sorted(SLOW, key=lambda entry: -entry["states"])}.values())
"""Of each model, the smallest configuration that the interpreter would take many minutes for.

For these, one core is compared with two cores and with the pinned figures.
"""


@pytest.mark.slow
@pytest.mark.parametrize("entry", WHOLE + CHANGED, ids=title)
def test_searches_of_pinned_configurations_are_equal(entry: dict[str, Any]) -> None:
    """Both searches find the manifest's figures, on one core and on two."""
    result = equal_searches(pinned(entry), entry["scope"], cores=(1, 2), properties=entry.get("properties"))
    assert (result.figures.distinct, result.figures.depth) == (entry["states"], entry["depth"])


@pytest.mark.slow
@pytest.mark.parametrize("entry", UNREDUCED, ids=title)
def test_searches_without_symmetry_are_equal(entry: dict[str, Any]) -> None:
    """Without symmetry both searches agree on every plain model."""
    equal_searches(pinned(entry), entry["scope"], cores=[2], symmetry=False)


@pytest.mark.slow
@pytest.mark.parametrize("entry", LARGE, ids=title)
def test_large_searches_do_not_depend_on_cores_and_symmetry(entry: dict[str, Any]) -> None:
    """One core and two give the pinned answer, equal in every letter; without symmetry the verdict is the same."""
    system = pinned(entry)
    scope = system.scopes[entry["scope"]]
    one, two = (search(system, scope, engine="kernel", cores=cores) for cores in (1, 2))
    whole = search(system, scope, engine="kernel", symmetry=False)

    assert one == two
    assert (one.figures.distinct, one.figures.depth) == (entry["states"], entry["depth"])
    assert (whole.verdict, whole.figures.depth) == (entry["verdict"], entry["depth"])
    assert whole.figures.distinct > one.figures.distinct or one.figures.group_order == 1
