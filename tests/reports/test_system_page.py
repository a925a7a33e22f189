"""The page of a run of a system: simulated runs, scenarios, and what all such pages have."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from holdfast.cli.app import main
from holdfast.records.system_run import FactTable, SystemMoment, SystemRun
from reports.system_page.system_page import render
from tests.reports.browser import Browser
from tests.spark.samples import HOSTILE

KEPT = Path(__file__).parents[2] / "corpus"
CROSS = '<svg><path class="kill" d="M1 1 l8 8"><title>0.100 s: b1.0 ends</title></path></svg>'


def run_named(text: str) -> SystemRun:
    """A run whose texts are all the same."""
    return SystemRun(
        holdfast="1",
        about=text,
        title=text,
        verdict="violated",
        verdict_text=text,
        findings=(text,),
        nothing=text,
        drawing=CROSS,
        legend=text,
        facts=((text, text),),
        tables=(FactTable(text, (text,), ((text,),)),),
        moments=(SystemMoment("0.100", text, text, "fault"),),
        left_out=2,
        commands=((text, text),),
    )


def page_of(folder: Path, *words: str, code: int) -> str:
    """The page that ``holdfast simulate`` writes."""
    file = folder / "run.html"
    assert main(["simulate", *words, "--keep", str(folder / "kept"), "--html", str(file)]) == code
    return file.read_text(encoding="utf-8")


def test_a_finding_shows_its_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ST-14 two brokers serve a stream. Page and text agree: the findings, each line of the run, the command.

    The same run is the page of the first finding of several seeds.
    """
    page = page_of(tmp_path, "--seed", "1", "--without", "ST-14", code=12)
    text = capsys.readouterr().out
    lines = re.findall(r"^ *(-?\d+\.\d{3})  (.{12})  (.*)$", text, re.MULTILINE)
    assert len(lines) > 20
    shown = re.findall(r'class="number">(.*?)</td><th scope="row">(.*?)</th><td>(.*?)</td>', page)
    assert [(time, who.strip().replace("=", ""), what) for time, who, what in lines] == shown[:-1]
    assert 'class="violated"><td class="number"></td><th scope="row">log</th>' in page
    assert "With all rules the same run violates nothing." in page
    assert re.search(r"<code[^>]*>holdfast simulate [^<]*ST-14-log-\d+\.json</code>", page)
    assert len(re.findall('<rect class="ok"', page)) == text.count("ends: ")
    again = page_of(tmp_path, "--seeds", "1..2", "--jobs", "1", "--without", "ST-14", code=12)
    assert again == page


def test_a_run_shows_faults_and_processes(tmp_path: Path) -> None:
    """A run in which nothing is violated has a row for each node and each kind of fault, and a cross for each crash."""
    page = page_of(tmp_path, "--partitions", "4", "--seed", "2", code=0)
    assert "No oracle objects to anything." in page
    drawn = page.partition("<svg")[2].partition("</svg>")[0]
    rows = re.findall(r'<text class="end"[^>]*>(.*?)</text>', drawn)
    assert {"partition 0", "partition 3", "b1", "c1.client", "operators"} <= set(rows)
    faults = dict(re.findall(r"(\w+) (\d+)", re.findall(r"<dt>faults</dt><dd>(.*?)</dd>", page)[0]))
    assert set(faults) <= set(rows)
    assert len(re.findall('<rect class="fault"', drawn)) == sum(map(int, faults.values()))
    moments = re.findall(r"<td>(crashes|ends itself[^<]*)</td>", page)
    assert len(moments) == len(re.findall('<path class="kill"', drawn)) > 0


def test_without_a_finding_there_is_no_page_of_many_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says so; and where no run is made, it refuses the option."""
    file = tmp_path / "run.html"
    assert main(["simulate", "--seeds", "0..1", "--jobs", "1", "--html", str(file)]) == 0
    assert f"nothing is violated, so {file} is not written" in capsys.readouterr().err
    assert not file.exists()
    assert main(["simulate", "--scenario", "migrate", "--html", str(file)]) == 2


def test_a_kept_run_has_the_same_page_each_time(tmp_path: Path) -> None:
    """Equal runs give equal bytes."""
    kept = str(min(KEPT.glob("V6-without-*.json")))
    one, two = (tmp_path / name for name in ("one.html", "two.html"))
    assert [main(["simulate", kept, "--html", str(file)]) for file in (one, two)] == [12, 12]
    assert one.read_bytes() == two.read_bytes()


ZONE = "tests/scenarios/zone/commits.yaml"


def test_scenarios_that_fail_have_their_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without M-05 three scenarios fail. Page and text agree on the place, the call, and each difference."""
    file = tmp_path / "scenarios.html"
    assert main(["scenario", "run", ZONE, "--without", "M-05", "--html", str(file)]) == 12
    page, text = html.unescape(file.read_text(encoding="utf-8")), capsys.readouterr().out
    failed = re.findall(r"^  (\S+:\d+: step .*)$", text, re.MULTILINE)
    assert len(failed) == 3
    for line in failed:
        assert f"<li>{line}: " in page
        number = re.findall(r"step (\d+)", line)[0]
        assert f": what differs at step {number}</caption>" in page
    passed = re.findall(r"^ok    (\S+): (.*) \(", text, re.MULTILINE)
    assert passed
    for place, name in passed:
        assert f"<td>{name}</td><td>{place}</td>" in page
    assert 'id="timeline"' not in page
    assert main(["scenario", "run", ZONE, "--html", str(file)]) == 0
    assert "Every result is as expected." in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_are_only_text(name: str) -> None:
    """Markup, control and bidirectional characters add no element, and none of these characters."""
    page = render(run_named(name))
    assert re.findall(r"<[a-z/!]+", page) == re.findall(r"<[a-z/!]+", render(run_named("plain")))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize("width", [360, 1280, 2000])
def test_the_page_opens_silently(browser: Browser, tmp_path: Path, width: int) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow, light and dark."""
    path = tmp_path / "run.html"
    path.write_text(page_of(tmp_path, "--partitions", "4", "--seed", "2", code=0), encoding="utf-8")
    for dark in (False, True):
        browser.open(path, width=width, dark=dark)
        assert (browser.said, browser.asked) == ([], [])
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelectorAll('.moments tr').length") > 1_000
