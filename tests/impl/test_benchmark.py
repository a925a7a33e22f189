"""The benchmark of the controller: its operations are accepted, and its lines name the goals."""

from __future__ import annotations

from benchmarks.controller import RATE, ControllerFigures, lines, measured, prepared
from impl.errors import E
from impl.records import StreamState


def test_the_operations_of_the_benchmark_are_accepted() -> None:
    """Each round opens, uploads, trims and closes; the nodes take turns, and the repeated requests are granted."""
    controller, operations = prepared(moves=6, streams=2)
    assert len(operations) == 2 + 6 * 7
    assert {controller.execute(operation).error for operation in operations} == {E.NONE}
    stream = controller.image.streams[0]
    assert (stream.epoch, stream.start, stream.end, stream.state) == (2, 25, 30, StreamState.CLOSED)


def test_a_measurement_has_all_figures() -> None:
    """A small measurement has all figures. Whether the goals are met depends on the machine."""
    found = measured(streams=20, moves=2, repeat=1)
    assert (found.streams, found.operations) == (20, 200 + 14)
    assert min(found.turn, found.rate, found.load, found.memory, found.size) > 0


def test_each_goal_is_met_or_missed() -> None:
    """A line for the machine, and one for each goal."""
    met = ControllerFigures(50e-9, RATE, 100, 1_000, 300_000, 1.0, 1_000)
    missed = ControllerFigures(50e-9, RATE - 1, 100, 1_000, 300_000, 1.1, 1_001)
    assert [line.endswith("; met") for line in lines(met)] == [False, True, True, True]
    assert [line.endswith("; missed") for line in lines(missed)] == [False, True, True, True]
    assert list(lines(met))[1].startswith("operations: 50,000 per second on one core, 400 turns each")
