"""Crossed runs: the kinds of faults that they inherit, and the operations that are exchanged."""

from __future__ import annotations

from collections import Counter

import pytest

from impl.sim.crossing import exchanged, kinds_of_both
from impl.sim.faults import KINDS
from impl.sim.options import Options
from impl.sim.partitions import script as script_of_partitions
from impl.sim.script import ScriptOperation, make
from impl.sim.tape import Fault, stream

OPTIONS = Options()
ONE = tuple(Fault("site", 0, kind, 0.5, 0) for kind in ("crash_fast", "failover", "stranger"))
OTHER = tuple(Fault("site", 1, kind, 0.5, 0) for kind in ("crash_fast", "pause"))


def _drawn(seed: int, partitions: int = 0) -> tuple[ScriptOperation, ...]:
    if partitions:
        return script_of_partitions.make(seed, clients=4, partitions=partitions, operations=300)
    return make(seed, clients=4, streams=OPTIONS.streams, operations=300)


def _exchanged(seed: int, partitions: int = 0) -> list[ScriptOperation]:
    options = Options(partitions=partitions)
    return list(exchanged(_drawn(seed, partitions), options, stream(seed, "test")))


def _inherited(selection: str | tuple[str, ...], runs: int = 400) -> Counter[str]:
    """How many of some crossed runs have each kind."""
    return Counter(
        kind
        for seed in range(runs)
        for kind in kinds_of_both(selection, ONE, OTHER, stream(seed, "test")).split(",")
        if kind != "none"
    )


def test_kinds_of_both_parents_are_most_probable() -> None:
    """Nearly all runs have a kind of both parents, half have one of one parent, and few have another one."""
    times = _inherited("all")
    assert times["crash_fast"] > 330
    assert 150 < times["failover"] < 250
    assert 150 < times["pause"] < 250
    assert all(10 < times[kind] < 80 for kind in KINDS if kind not in ("crash_fast", "failover", "pause"))


def test_only_selected_kinds_are_inherited() -> None:
    """A kind that the campaign does not have is not inherited; a rare kind is only if it was selected."""
    assert set(_inherited("all")) == set(KINDS)
    assert set(_inherited("failover,stranger")) == {"failover", "stranger"}
    assert set(_inherited(("failover", "pause"))) == {"failover", "pause"}
    assert not _inherited("none")


def test_kinds_of_zones_are_inherited() -> None:
    """A kind that only runs with zones have is inherited from a parent that had it."""
    zoned = (*ONE, Fault("store", 0, "read_slow", 0.5, 0))
    found = [kinds_of_both("all", zoned, OTHER, stream(seed, "test")).split(",") for seed in range(200)]
    assert 50 < sum("read_slow" in each for each in found) < 150
    assert not any("join" in each for each in found)


@pytest.mark.parametrize(
    ("partitions", "more"), [(0, ("move", "trim", "create", "destroy")), (3, ("move", "cancel", "elect", "swap"))]
)
def test_appends_and_fetches_become_other_operations(partitions: int, more: tuple[str, ...]) -> None:
    """The number of operations and their times stay; each of the other kinds is there more often."""
    before, after = Counter[str](), Counter[str]()
    for seed in range(20):
        one, other = _drawn(seed, partitions), _exchanged(seed, partitions)
        assert [each.at for each in one] == [each.at for each in other]
        before.update(each.f for each in one)
        after.update(each.f for each in other)
    assert before.keys() | set(more) == after.keys()
    assert all(after[f] > before[f] for f in more)
    assert all(after[f] < before[f] for f in ("append", "fetch"))


def test_operations_concern_streams_that_exist() -> None:
    """Streams of the start exist; every other one is created once, and destroyed once at most."""
    for seed in range(40):
        script = _exchanged(seed)
        created = [each.key for each in script if each.f == "create"]
        destroyed = [each.key for each in script if each.f == "destroy"]
        assert len(set(created)) == len(created)
        assert len(set(destroyed)) == len(destroyed)
        assert set(destroyed) <= set(created)
        assert min(created) == OPTIONS.streams
        assert {each.key for each in script} <= {*range(OPTIONS.streams), *created}


def test_operations_concern_partitions_that_exist() -> None:
    """No partition is created, and none is moved away and back in one move."""
    for seed in range(20):
        script = _exchanged(seed, 3)
        assert {each.key for each in script} <= {0, 1, 2}
        assert all(each.hop > 0 for each in script)
