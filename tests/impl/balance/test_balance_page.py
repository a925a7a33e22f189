"""The page of a balanced cluster: its promises, and pictures with the loads in full."""

from __future__ import annotations

import re

import msgspec
import pytest

from impl.cli.balance_page import balance_page
from impl.cli.load_drawing import rate
from impl.sim.balance.promises import BrokenPromise, end_loads
from impl.sim.balance.report import BalanceReport
from impl.sim.balance.simulation import BalanceQuestion, run_balance
from impl.sim.balance.traffic import Traffic
from impl.sim.balance.workload import SCALE
from reports.system_page.system_page import render

BAR = re.compile(r"<title>(broker \d) before: ([^<]*)</title>")


@pytest.fixture(scope="module")
def report() -> BalanceReport:
    """The run of seed 0, judged."""
    run = run_balance(BalanceQuestion())
    traffic = Traffic(run.history, run.begin)
    return BalanceReport(run, traffic, end_loads(traffic), [])


def test_each_round_with_moves_has_a_picture(report: BalanceReport) -> None:
    """The pictures come in the order of time, and show the loads that the round has seen, in full."""
    page = balance_page(report, "again")
    rounds = sorted((each for found in report.run.rounds.values() for each in found), key=lambda each: each.at)
    planned = [each for each in rounds if each.moves]
    assert len(page.pictures) == 1 + len(planned) > 2
    for picture, each in zip(page.pictures[1:], planned, strict=True):
        assert f"at {(each.at - report.run.begin) / 1_000:.0f} s" in picture.caption
        assert each.stages is not None
        first = each.stages.stages[0].loads
        shown = BAR.findall(picture.drawing)
        seen = [(f"broker {broker}", rate(loads[way] * SCALE)) for way in (0, 1) for broker, loads in first.items()]
        assert shown == seen
        assert "MiB/s" in shown[0][1]
        assert sum(stage.moves for stage in each.stages.stages) >= len(each.moves)


def test_the_page_has_the_verdict(report: BalanceReport) -> None:
    """All promises hold; with a broken one the page is red, and says what shows it."""
    assert (balance_page(report, "again").verdict, balance_page(report, "again").findings) == ("holds", ())
    broken = msgspec.structs.replace(report, broken=[BrokenPromise("fast", "the move of <b>0</b>")])
    page = balance_page(broken, "again")
    assert (page.verdict, page.findings) == ("violated", ("fast: the move of <b>0</b>",))
    assert page.verdict_text == "broken: 1 of 4 promises"
    text = render(page)
    assert "&lt;b&gt;0&lt;/b&gt;" in text
    assert "<b>0</b>" not in text
    assert text.count('<figure class="plot">') == 1
