"""Failover: which broker the controller lets a worker recover, and what a failover in the wrong moment costs."""

from __future__ import annotations

import pytest

from holdfast.check.live.engine import live
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.failover import Failover, Phase
from models.parts.nodes import Node

A, B = Node.element(0), Node.element(1)


def crashed(*removed: str) -> Failover:
    """A broker with streams has crashed, long after the start of its process."""
    return Failover.at("default", removed=removed).start().take("open", n=A).take("crash", n=A)


def test_a_worker_closes_what_a_dead_broker_has_left() -> None:
    """FO-01, FO-03, FO-09. The failover ends when the streams are closed, and another one may begin."""
    state = crashed().take("open", n=B).take("crash", n=B).take("fail_over", n=A)
    assert state.refusal("fail_over", n=B) == ("FO-02", None)
    state = state.take("end_failover", n=A)
    assert (state.opening[A], state.failover[A]) == (False, False)
    assert state.refusal("fail_over", n=A) == ("FO-01.opening", None)
    assert state.take("fail_over", n=B).failover[B]


def test_a_broker_that_is_heard_keeps_its_streams() -> None:
    """FO-01. A running broker is failed over only while it is FENCED."""
    state = Failover.at("default").start().take("open", n=A)
    assert state.refusal("fail_over", n=A) == ("FO-01.fenced", None)
    state = state.take("isolate", n=A)
    assert state.take("fail_over", n=A).phase[A] == Phase.DOWN
    assert state.take("heal", n=A).refusal("fail_over", n=A) == ("FO-01.fenced", None)


def test_a_restarted_process_has_a_minute_to_recover() -> None:
    """G-51. No worker comes in its first 60 s, and afterwards one may."""
    state = crashed().take("restart", n=A)
    assert state.refusal("fail_over", n=A) == ("FO-01.age", None)
    recovered = state.take("recover", n=A)
    assert (recovered.phase[A], recovered.active[A], recovered.opening[A]) == (Phase.UP, True, False)
    assert state.take("grow_old", n=A).take("fail_over", n=A).phase[A] == Phase.DOWN


def test_a_broker_that_crashes_young_waits_too() -> None:
    """FO-10. The age counts from the start of the process, and not from its end."""
    state = crashed().take("restart", n=A).take("crash", n=A)
    assert state.refusal("fail_over", n=A) == ("FO-01.age", None)
    assert state.take("grow_old", n=A).take("fail_over", n=A).failover[A]


def test_a_restart_ends_the_failover() -> None:
    """FO-07. The worker of the process before it is expired."""
    state = crashed().take("fail_over", n=A).take("restart", n=A)
    assert (state.failover[A], state.phase[A]) == (False, Phase.RECOVERING)


def test_without_the_age_a_failover_ends_a_process_that_recovers() -> None:
    """G-51. The process has just started, halts, and has to start again."""
    state = crashed("FO-01.age").take("restart", n=A)
    after = state.take("fail_over", n=A)
    assert (state.phase[A], after.phase[A]) == (Phase.RECOVERING, Phase.DOWN)
    assert not after.holds("young_process_runs_on", old=state, n=A)


def test_the_age_costs_starts_and_nothing_else() -> None:
    """G-51. Without it, still no two processes recover a broker, and all streams are closed some time."""
    faulty = remove_rules(compile_model(Failover), ["FO-01.age"])
    kept = ("one_failover", "replaced_is_gone", "closed_for_a_dead_process")
    assert search(faulty, faulty.scopes["tiny"], properties=kept, engine="interpreter").verdict == "exhausted"
    assert live(faulty, faulty.scopes["tiny"]).verdict == "exhausted"


@pytest.mark.parametrize(("removed", "verdict"), [((), "exhausted"), (("FO-01.opening",), "violated")])
def test_streams_wait_for_failovers_that_have_nothing_to_do(removed: tuple[str, ...], verdict: str) -> None:
    """G-51, LV-01. Brokers without streams can keep the only failover of the cluster from the one that has some."""
    faulty = remove_rules(compile_model(Failover), removed)
    assert live(faulty, faulty.scopes["tiny"]).verdict == verdict
