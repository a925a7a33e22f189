"""What a driver tells a process: one line, which says what kind of process it is to be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from impl.real.starts import BrokerStart, ClusterRules, ProcessStart, StoreServerStart
from tests.impl.real.driver_program import controller_start

BROKER = BrokerStart(
    name="b1.0",
    driver=7,
    clock=0.5,
    events="b1.0.events",
    endpoint=None,
    bucket="b",
    rules=ClusterRules(without=("ST-14",)),
    node=1,
    epoch=2,
    controller=3,
)


@pytest.mark.parametrize("start", [BROKER, controller_start(Path("folder"), 0.5), StoreServerStart(name="s", driver=7)])
def test_a_start_is_a_line(start: ProcessStart) -> None:
    """The process reads the same start from the line, of the same kind."""
    line = msgspec.json.encode(start)
    assert b"\n" not in line
    assert msgspec.json.decode(line, type=ProcessStart) == start
