"""Simulated clusters whose caller gives one operation after the other."""

from __future__ import annotations

import pytest

from impl.broker.object_format import object_key
from impl.oracles.judge import judge
from impl.sim.brokers import SMALL, broker_of
from impl.sim.check import bucket
from impl.sim.options import Options
from impl.sim.run import Simulation
from impl.sim.script import ScriptOperation
from impl.store.interface import Answer, Operation, Put
from impl.store.memory import MemoryStore

KINDS = [0, 2]
"""The number of partitions; 0 stands for streams."""


class CountingStore(MemoryStore):
    """Counts the operations of each type that take effect."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    def execute(self, operation: Operation) -> Answer:
        """Count a put, and execute the operation."""
        self.puts += isinstance(operation, Put)
        return super().execute(operation)


def _started(partitions: int, store: MemoryStore | None = None) -> Simulation:
    options = Options(partitions=partitions, streams=2, faults="none", operations_of=())
    simulation = Simulation(1, broker_of(SMALL), object_key, options, store=store)
    simulation.start()
    return simulation


def _endings(simulation: Simulation, f: str) -> list[str]:
    return [op.kind for op in simulation.history.ops if op.f == f and op.kind != "invoke" and op.phase is None]


@pytest.mark.parametrize("partitions", KINDS)
def test_a_client_does_what_it_is_given(partitions: int) -> None:
    """A client begins with an operation when it has done those before, also if it was idle for a while."""
    simulation = _started(partitions)
    for value in (1, 2):
        simulation.load.give(ScriptOperation(1, 0, "append", 0, value=value))
    assert not simulation.load.has_ended()
    simulation.queue.run(simulation.queue.now + 2_000)
    assert simulation.load.has_ended()
    simulation.load.give(ScriptOperation(1, 0, "fetch", 0))
    simulation.queue.run(simulation.queue.now + 2_000)
    assert (_endings(simulation, "send"), _endings(simulation, "poll")) == (["ok", "ok"], ["ok"])
    clients = {op.process for op in simulation.history.ops if op.phase is None and op.f in ("send", "poll")}
    assert len(clients) == 1


@pytest.mark.parametrize("partitions", KINDS)
def test_a_move_begins_at_once(partitions: int) -> None:
    """A move is the director's, or an operator's."""
    simulation = _started(partitions)
    simulation.load.give(ScriptOperation(-1, 0, "move", 0))
    assert [op.f for op in simulation.history.ops if op.phase is None and op.f == "move"] == ["move"]


@pytest.mark.parametrize("partitions", KINDS)
def test_all_nodes_use_the_given_store(partitions: int) -> None:
    """No operation goes to another store, and the run heals; an acknowledged batch is in that store."""
    store = CountingStore()
    simulation = _started(partitions, store)
    simulation.load.give(ScriptOperation(1, 0, "append", 0, value=1))
    simulation.history.missing = simulation.heal()
    assert simulation.history.missing == ""
    assert store.puts > 0
    assert not simulation.store.memory.objects
    verdict = judge(simulation.history, bucket(simulation, store.objects))
    assert (verdict.error, verdict.violations) == (None, ())
    lost = judge(simulation.history, bucket(simulation, {}))
    assert {each.oracle for each in lost.violations} == {"storage"}
