"""The benchmark of simulated clusters: its figures are there, and its lines name the goals."""

from __future__ import annotations

from benchmarks.simulate import RATE, SimulationFigures, lines, measured


def test_a_measurement_has_all_figures() -> None:
    """A small measurement has all figures. Whether the goals are met depends on the machine."""
    found = measured(seeds=1, operations=20, repeat=1)
    assert (found.seeds, found.operations) == (1, 20)
    assert min(found.turn, found.rate, found.run, found.share) > 0
    assert found.share < 1


def test_each_goal_is_met_or_missed() -> None:
    """A line for the machine, and one for each goal."""
    met, missed = (
        SimulationFigures(50e-9, RATE, 0.3, 0.05, 2, 10),
        SimulationFigures(50e-9, RATE - 1, 0.31, 0.051, 2, 10),
    )
    assert [line.endswith("; met") for line in lines(met)] == [False, True, True, True]
    assert [line.endswith("; missed") for line in lines(missed)] == [False, True, True, True]
