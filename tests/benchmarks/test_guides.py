"""The benchmark of guided campaigns: both campaigns are complete, and begin alike."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

import benchmarks.guides
import spark.campaign.config
from benchmarks.guides import SHOWN, GuidedFigures, lines, measured, sums
from spark.campaign.blind import ReachedKinds
from tests.spark.clusters import clusters


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of one unit, which has four runs."""
    monkeypatch.setattr(benchmarks.guides, "WAVE", 1)
    monkeypatch.setattr(spark.campaign.config, "WAVE", 1)


@pytest.mark.usefixtures("short_rounds")
def test_both_campaigns_are_compared() -> None:
    """A row for each kind of thing; the same seed gives the same figures."""
    found, again = measured((1, 1), runs=8, steps=30)
    assert found == again
    assert [row.kind for row in found.rows] == list(SHOWN)
    assert all(row.guided > 0 and row.blind > 0 for row in found.rows)
    assert all(f"{row.kind} {row.guided}/{row.blind}" in next(lines(found)) for row in found.rows)


@pytest.mark.usefixtures("short_rounds")
def test_the_first_round_is_taken_over(tmp_path: Path) -> None:
    """The blind campaign is the one that it is without the guided one."""
    asked = clusters(traces=8)
    guided = benchmarks.guides._ran(tmp_path / "guided", attrs.evolve(asked, guided=True))
    blind = benchmarks.guides._ran(tmp_path / "blind", asked, tmp_path / "guided")
    alone = benchmarks.guides._ran(tmp_path / "alone", asked)
    assert guided.done == blind.done == alone.done == 2
    assert (blind.moments, blind.pairs, blind.states) == (alone.moments, alone.pairs, alone.states)
    assert guided.pairs != blind.pairs


def test_seeds_are_added_up() -> None:
    """For each kind, the seeds with more and with fewer are counted; equal ones are neither."""
    counts = ((3, 2), (2, 2), (1, 2), (4, 2))
    found = [GuidedFigures(1, 8, (ReachedKinds(kind="moments", guided=one, blind=two),)) for one, two in counts]
    assert list(sums(found)) == ["moments: guided reaches more in 2 of 4 seeds, and fewer in 1"]
