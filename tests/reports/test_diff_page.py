"""The page of a comparison of two models: figures side by side, and a run to what only one of them does."""

from __future__ import annotations

import html
import re
from pathlib import Path

import attrs
import pytest

from holdfast.check.diff.engine import Diff, diff
from holdfast.check.diff.text import render_diff
from holdfast.cli.app import main
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.records.compared_models import ComparedModels, OneSidedRun, OneSidedSteps, PairedStep, compared_models
from reports.diff_page.diff_page import render
from tests.check.comparing import versions
from tests.check.conftest import TABLE
from tests.reports.browser import Browser
from tests.spark.samples import HOSTILE


@pytest.fixture(scope="module")
def found() -> Diff:
    """A comparison of a model with the same model without a rule."""
    table = compile_model(load_model(str(TABLE)))
    return diff(*versions(table, remove_rules(table, ["ST-14"])))


def test_page_and_text_say_the_same(found: Diff) -> None:
    """Each figure, each part that differs, each reason, and the line that replays the run."""
    page, text = html.unescape(render(compared_models(found))), render_diff(found)
    plain = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    models = compared_models(found)
    for name, one, two in models.figures:
        assert f'<th scope="row">{name}</th><td>{one}</td><td>{two}</td>' in page
        assert re.search(rf"^  {re.escape(name)} +{re.escape(one)} +{re.escape(two)}$", text, re.MULTILINE)
    flat = " ".join(text.split())
    for said in (models.verdict_text, *(each for side in models.sides for each in side.kinds)):
        assert " ".join(said.split()) in plain
        assert " ".join(said.split()) in flat
    assert re.findall("holdfast replay '(.*?)'", text) == re.findall("holdfast replay '(.*?)'", page)


def test_the_last_step_tells_why_the_other_does_not_take_it(found: Diff) -> None:
    """Gained is the step that ST-14 refuses in A; all steps before it are the same in both. Nothing is lost."""
    gained, lost = compared_models(found).sides
    assert gained.run is not None
    *before, last = gained.run.steps
    assert [step.other for step in before] == [""] * len(before)
    assert last.other.startswith("A refuses it by ST-14")
    assert last.changes
    assert (lost.run, lost.kinds) == (None, ())
    assert lost.sentence == "Nothing: what A does, B does too."


def test_a_comparison_that_ended_early_is_not_green(found: Diff) -> None:
    """Also if nothing differs so far."""
    assert compared_models(found).verdict == "violated"
    same = attrs.evolve(found, compared=attrs.evolve(found.compared, differences=()))
    assert compared_models(same).verdict == "holds"
    assert compared_models(attrs.evolve(same, ended_by="time")).verdict == "out_of_budget"


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    """The same bytes each time; the exit code is that of the comparison."""
    pages = [tmp_path / name for name in ("one.html", "two.html")]
    for page in pages:
        assert main(["diff", "failover", "failover-FO-09", "--scope", "tiny", "--html", str(page)]) == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def named(text: str) -> ComparedModels:
    """A comparison whose texts are all the same."""
    step = PairedStep(1, text, (text,), text)
    side = OneSidedSteps("B", "A", "Gained", text, (text,), OneSidedRun((step,), "", text, "<svg></svg>", ""))
    start = attrs.evolve(side, title="Lost", run=OneSidedRun((), text, text, "", ""))
    return ComparedModels("1", text, text, "violated", text, ((text,) * 3,), ((text,) * 2,), (side, start), (text,))


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_are_only_text(name: str) -> None:
    """Markup, control and bidirectional characters add no element, and none of these characters."""
    page = render(named(name))
    assert re.findall(r"<[a-z/!]+", page) == re.findall(r"<[a-z/!]+", render(named("plain")))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize("width", [360, 1280, 2000])
def test_the_page_opens_silently(browser: Browser, tmp_path: Path, found: Diff, width: int) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow, light and dark."""
    path = tmp_path / "diff.html"
    path.write_text(render(compared_models(found)), encoding="utf-8")
    for dark in (False, True):
        browser.open(path, width=width, dark=dark)
        assert (browser.said, browser.asked) == ([], [])
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
