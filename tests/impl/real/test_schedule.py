"""The faults of a run of processes: the seed alone decides them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from impl.real.schedule import KILLS, LONG_MS, OTHERS, STORE, make_schedule
from impl.real.store_proxy import KINDS


def test_the_seed_decides() -> None:
    """The same seed gives the same faults, and another seed gives others."""
    made = make_schedule(3, seconds=60, kill_every=5, brokers=3)
    assert made == make_schedule(3, seconds=60, kill_every=5, brokers=3)
    assert made != make_schedule(4, seconds=60, kill_every=5, brokers=3)
    assert [each.at for each in made] == sorted(each.at for each in made)


@pytest.mark.parametrize("seed", range(20))
def test_a_minute_has_enough_of_everything(seed: int) -> None:
    """A kill every five seconds, the controller among them; zombies; each fault within the run; known names."""
    made = make_schedule(seed, seconds=60, kill_every=5, brokers=3)
    kills = [each for each in made if each.kind in KILLS]
    assert len(kills) == 12
    assert [after.at - before.at for before, after in pairwise(kills)] == [5_000] * 11
    assert any(each.kind == "kill_controller" for each in kills)
    assert sum(each.kind == "zombie" for each in made) >= 5
    assert {each.kind for each in made} <= {*KILLS, *OTHERS}
    assert all(0 <= each.at < 60_000 and 0 <= each.node <= 3 and each.ms > 0 for each in made)
    long = [each for each in kills if each.kind == "kill_long"]
    assert all(after.at >= before.at + LONG_MS[0] for before, after in pairwise(long))


def test_no_kills() -> None:
    """With a period of 0 nothing is killed."""
    assert not [each for each in make_schedule(0, seconds=60, kill_every=0, brokers=3) if each.kind in KILLS]


def test_the_proxy_knows_the_faults_of_the_store() -> None:
    """Every kind of the schedule is one that the proxy makes."""
    assert set(STORE) == set(KINDS)
