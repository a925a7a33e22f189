"""Up to four processes on one WAL, in any order, with all faults between them and the store."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from impl.rules import without
from impl.store.interface import Delete, Operation, Put, Unsure
from tests.impl.wal_world import LostError, Process, World

PROCESSES = 4
PLACES = st.integers(0, 30)
"""A number that selects one of N things, modulo N."""


class WalMachine(RuleBasedStateMachine):
    """The steps of the world. The world itself reports losses."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.begin()

    def _process(self, place: int) -> Process:
        return self.world.processes[place % len(self.world.processes)]

    @precondition(lambda self: len(self.world.processes) < PROCESSES)
    @rule()
    def begin(self) -> None:
        """Start the node's next process, unnoticed by the others."""
        self.world.begin()

    @rule(place=PLACES)
    def settle(self, place: int) -> None:
        """Let one process run without a fault."""
        self._process(place).settle()

    @rule(place=PLACES, operation=PLACES, lost=st.booleans())
    def arrive(self, place: int, operation: int, lost: bool) -> None:
        """Deliver an operation out of order, perhaps without its answer."""
        process = self._process(place)
        if process.sent:
            number = sorted(process.sent)[operation % len(process.sent)]
            process.arrive(number, answer=Unsure("lost") if lost else None)

    @rule(place=PLACES, operation=PLACES)
    def delay(self, place: int, operation: int) -> None:
        """Give an operation up. It may arrive later."""
        process = self._process(place)
        if process.sent:
            process.lose(sorted(process.sent)[operation % len(process.sent)], late=True)

    @rule(place=PLACES, again=st.booleans())
    def arrive_late(self, place: int, again: bool) -> None:
        """Deliver an abandoned operation. A put of an object, or a delete, may arrive several times."""
        self.world.late = [each for each in self.world.late if isinstance(each, Put | Delete)]
        if self.world.late:
            index = place % len(self.world.late)
            self.world.arrive_late(index, again=again and not _reserves(self.world.late[index]))

    @rule(place=PLACES)
    def append(self, place: int) -> None:
        """Append a record in a process that is ready."""
        process = self._process(place)
        if process.ready and not process.wal.fenced:
            process.append()

    @rule(place=PLACES, count=PLACES)
    def trim(self, place: int, count: int) -> None:
        """Trim some of the acknowledged records of a process that still has the WAL."""
        process = self._process(place)
        if process.acked and not process.wal.fenced:
            process.trim(1 + count % len(process.acked))

    @rule(place=PLACES)
    def crash(self, place: int) -> None:
        """Crash a process."""
        process = self._process(place)
        process.crash()
        process.ready = False

    def teardown(self) -> None:
        """A last process takes over, and misses nothing."""
        if not self.world.broken:
            self.world.begin().settle()


def _reserves(operation: Operation) -> bool:
    return isinstance(operation, Put) and operation.key.startswith("reservation/")


WalMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestWal = WalMachine.TestCase


@pytest.mark.slow
def test_many_orders() -> None:
    """Of more steps."""
    run_state_machine_as_test(WalMachine, settings=settings(max_examples=1_500, stateful_step_count=60))


@pytest.mark.parametrize("label", ["WL-05.verify", pytest.param("WL-08", marks=pytest.mark.slow)])
def test_the_machine_finds_a_missing_rule(label: str) -> None:
    """For any seed the machine finds the missing rule within its examples."""
    wide = settings(max_examples=3_000, stateful_step_count=40, phases=[Phase.generate])
    with without(label), pytest.raises(LostError):
        run_state_machine_as_test(WalMachine, settings=wide)
