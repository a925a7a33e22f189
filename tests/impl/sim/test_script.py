"""Scripts of client operations, made from the seed before the run."""

from __future__ import annotations

import pytest

from impl.sim.script import MOVES, ScriptOperation, make, unique_values


def _script(seed: int = 1, operations: int = 400) -> tuple[ScriptOperation, ...]:
    return make(seed, clients=4, streams=3, operations=operations)


def test_a_script_belongs_to_a_seed() -> None:
    """Equal seeds give equal scripts, and others do not."""
    assert _script(1) == _script(1) != _script(2)


@pytest.mark.parametrize("seed", range(5))
def test_a_script_has_its_operations(seed: int) -> None:
    """A script has all kinds of operations and enough moves, and no value twice."""
    script = _script(seed)
    assert len(script) == 400
    assert {each.f for each in script} == {"append", "fetch", "trim", "move", "create", "destroy"}
    assert sum(each.f == "move" for each in script) >= MOVES
    assert unique_values(script)
    assert [each.at for each in script] == sorted(each.at for each in script)


@pytest.mark.parametrize("seed", range(5))
def test_only_created_streams_are_destroyed_and_once(seed: int) -> None:
    """Only streams that the script creates are destroyed, once. The first streams stay."""
    script = _script(seed, 2_000)
    created = [each.key for each in script if each.f == "create"]
    destroyed = [each.key for each in script if each.f == "destroy"]
    assert len(set(created)) == len(created)
    assert len(set(destroyed)) == len(destroyed)
    assert set(destroyed) <= set(created) == set(range(3, 3 + len(created)))


def test_a_small_script_is_possible() -> None:
    """A script has exactly N operations, however few."""
    assert [len(_script(1, count)) for count in (0, 1, 9)] == [0, 1, 9]
