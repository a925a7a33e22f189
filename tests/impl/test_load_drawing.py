"""The pictures of the balancer's rounds: they show the loads that the plan leaves, stage by stage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from impl.balancer.snapshot import ClusterSnapshot
from impl.balancer.stages import LoadStages, StageRecorder
from impl.cli.load_drawing import HEIGHT, load_drawing, rate
from impl.cli.scenario_page import MOST_PICTURES, scenario_runs
from impl.scenario.language import Scenario, read_file
from impl.scenario.runner import PERFORM, run
from impl.scenario.session import ScenarioSession

FOLDER = Path(__file__).parents[1] / "scenarios" / "balancer"
TITLE = re.compile(r'<rect class="stage(\d)" [^>]*height="([\d.]+)"><title>broker (\d+) ([^<]*): ([^<:]*)</title>')


def scenarios() -> list[Scenario]:
    """All scenarios of the balancer."""
    return [each for path in sorted(FOLDER.glob("*.yaml")) for each in read_file(path, path.name)]


def test_each_stage_has_the_loads_of_its_moves() -> None:
    """A round begins with the given loads. Its last stage has the loads of the result, and as many moves."""
    rounds = 0
    for scenario in scenarios():
        session = ScenarioSession(scenario)
        for step in scenario.steps:
            for call in step.calls * step.repeat:
                before = {number: tuple(each.loads) for number, each in session.balancer.cluster.brokers.items()}
                result = PERFORM[step.op](session, call.arguments)
                if step.op not in ("phase", "plan"):
                    continue
                rounds += 1
                recorded = session.balancer.rounds[-1]
                if not session.balancer.safe:
                    assert recorded.stages[0].loads == before
                unit = session.balancer.unit
                last = {
                    number: {"in": loads[0] / unit, "out": loads[1] / unit}
                    for number, loads in recorded.stages[-1].loads.items()
                }
                assert last == result["loads"]
                if step.op == "phase":
                    assert sum(each.moves for each in recorded.stages) == len(result["actions"])
                assert [each.after for each in recorded.stages] == ["", *(goal.name for goal in recorded.goals)]
        assert run(scenario).rounds == tuple(session.balancer.rounds)
    assert rounds > 30


def a_round() -> LoadStages:
    """The round of the first scenario of phases: broker 0 has 100, and 30 afterwards."""
    return run(read_file(FOLDER / "phases.yaml", "phases.yaml")[0]).rounds[0]


def test_a_bar_is_as_high_as_its_load() -> None:
    """The highest load has the highest bar; the others are in proportion. The text of a bar has its load."""
    bars = {(int(b), int(a)): (float(h), said) for a, h, b, _, said in TITLE.findall(load_drawing(a_round()))}
    assert bars[0, 0] == (HEIGHT, "100 MiB/s")
    assert bars[0, 1] == (pytest.approx(HEIGHT * 0.3, abs=0.1), "30 MiB/s")
    assert {broker: said for (broker, stage), (_, said) in bars.items() if stage == 1} == {
        0: "30 MiB/s", 1: "60 MiB/s", 2: "50 MiB/s", 3: "60 MiB/s"
    }  # fmt: skip
    assert "the band: 45 MiB/s to 55 MiB/s, around 50 MiB/s" in load_drawing(a_round())
    assert "after NW_IN: 2 moves" in load_drawing(a_round())


def test_odd_clusters_have_pictures() -> None:
    """No broker, no load, and loads that are not finite."""
    nothing = StageRecorder(ClusterSnapshot([])).stages(a_round().goals)
    assert "<svg" in load_drawing(nothing)
    stage = a_round().stages[0]
    for loads in ({0: (0.0, 0.0)}, {0: (float("nan"), 1.0), 1: (float("inf"), 1.0), 2: (-1.0, 0.0)}):
        odd = LoadStages((type(stage)("", loads),), a_round().goals)
        heights = [float(height) for _, height, *_ in TITLE.findall(load_drawing(odd))]
        assert len(heights) == len(loads)
        assert all(0 <= height <= HEIGHT for height in heights)


@pytest.mark.parametrize(
    ("load", "said"),
    [(0.0, "0 B/s"), (1023.0, "1023 B/s"), (1536.0, "1.5 KiB/s"), (31457280.0, "30 MiB/s"), (3.0 * 2**40, "3072 GiB/s"),
     (-2048.0, "-2 KiB/s"), (float("nan"), "nan")],
)  # fmt: skip
def test_a_rate_in_words(load: float, said: str) -> None:
    """The unit is the largest one that is not above the load."""
    assert rate(load) == said


def test_a_page_has_the_pictures_of_its_rounds() -> None:
    """The rounds of scenarios that failed come first. What is left out is counted."""
    verdicts = [run(each) for each in scenarios()]
    page = scenario_runs(verdicts, len(verdicts), (), "command")
    total = sum(len(verdict.rounds) for verdict in verdicts)
    assert len(page.pictures) == total < MOST_PICTURES
    many = scenario_runs(verdicts * 10, len(verdicts) * 10, (), "command")
    assert len(many.pictures) == MOST_PICTURES
    assert ("rounds of the balancer without a picture", str(total * 10 - MOST_PICTURES)) in many.facts
