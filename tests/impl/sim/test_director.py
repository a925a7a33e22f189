"""The director, which says who owns a stream."""

from __future__ import annotations

import pytest

from impl.sim.check import Question, check
from impl.sim.options import Options
from impl.sim.stream_load import StreamLoad


@pytest.mark.parametrize("states", [{1: "active", 2: "active", 3: "fenced"}, {2: "active", 3: "fenced"}])
def test_a_new_stream_goes_to_an_active_broker(states: dict[int, str]) -> None:
    """FO-10. A broker that was fenced before the answer to a create came may never be active again."""
    load = check(Question(seed=1, options=Options(operations=20, faults="none"))).run.simulation.load
    assert isinstance(load, StreamLoad)
    director = load.director
    director.states = dict(states)
    key = min(director.owners)
    director.adopt(key, 3)
    assert director.owners[key].node in director.active()
    director.adopt(key, 2)
    assert director.owners[key].node == 2
