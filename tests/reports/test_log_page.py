"""The page of a judged log: the event that no run explains, the reasons, and the lines before it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pytest

from holdfast.cli.app import main
from holdfast.ir.printable import printable
from holdfast.records.judged_log import JudgedLog, LoggedEvent, Objection
from reports.log_page.log_page import render
from tests.reports.browser import Browser
from tests.reports.nasty import NASTY
from tests.spark.samples import HOSTILE

EVENT = LoggedEvent("a.log:7", "commit(s=1)")
LOG = JudgedLog(
    holdfast="1",
    model="Ownership",
    verdict="impossible",
    headline="impossible: Ownership does not allow a.log:7, commit(s=1)",
    event=EVENT,
    reasons=(Objection("CS-26 refuses commit", "models/ownership.py:7", "wrong: the model, the code, or the log", 2),),
    also=((EVENT, "CS-26 refuses commit"),),
    nearby=("open(s=1)",),
    last=(LoggedEvent("a.log:6", "close(s=1)"),),
    run=("replay: holdfast replay 'ownership'",),
    scope=(("events", "6 of 9 judged"),),
)


def impossible(folder: Path) -> str:
    """A log with a commit that the controller refuses for a reason that it has not."""
    log = folder / "a.log"
    assert main(["walk", "ownership", "--log", str(log), "--events", "80", "--stretch", "--seed", "3"]) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    place = next(number for number, line in enumerate(lines) if line.get("action") == "commit" and number > 10)
    lines[place]["error"] = "STREAM_NOT_EXIST"
    lines[place].pop("post", None)
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(log)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page says what the text says: the event, each reason, and the last lines. The text is the same."""
    log, file = impossible(tmp_path), tmp_path / "log.html"
    capsys.readouterr()
    assert main(["conform", "ownership", log]) == 12
    text = capsys.readouterr().out
    assert main(["conform", "ownership", log, "--html", str(file)]) == 12
    assert capsys.readouterr().out == text
    page = file.read_text(encoding="utf-8")
    assert re.findall("wrong: the model", page) == re.findall("wrong: the model", text) != []
    for line in re.findall(r"(?<=  )\S*a\.log:\d+", text.partition("The last events")[2]):
        assert f'<th scope="row">{line}</th>' in page
    assert main(["conform", "ownership", log, "--html", str(tmp_path / "no" / "log.html")]) == 2


def test_the_page_replaces_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page with the name of the log, or of the model that is written, is refused, and the log is left as it is."""
    log = impossible(tmp_path)
    before = Path(log).read_bytes()
    assert main(["conform", "ownership", log, "--html", log]) == 2
    assert "the file exists, and is no page" in capsys.readouterr().err
    assert Path(log).read_bytes() == before
    own = str(tmp_path / "run.py")
    assert main(["conform", "ownership", log, "--run", own, "--html", own]) == 2


def test_a_log_that_conforms_has_a_page(tmp_path: Path) -> None:
    """Nothing is wrong there, so the page has the verdict and what was judged."""
    log, file = tmp_path / "a.log", tmp_path / "log.html"
    assert main(["walk", "ownership", "--log", str(log), "--events", "80", "--stretch"]) == 0
    assert main(["conform", "ownership", str(log), "--html", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    assert "<h1>Conforms</h1>" in page
    assert 'id="event"' not in page
    assert "rules never decisive" in page


def named(text: str) -> JudgedLog:
    """A judged log in which all texts are this one."""
    event = LoggedEvent(text, text)
    reason = Objection(text, text, text, 1)
    return attrs.evolve(
        LOG, headline=text, event=event, reasons=(reason,), also=((event, text),), nearby=(text,), last=(event,),
        run=(text,), scope=((text, text),),
    )  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_of_a_log_are_only_text(name: str) -> None:
    """Lines of a log with markup, control and bidirectional characters add no element, and none of these characters."""
    page = render(named(name))
    assert re.findall(r"<[a-z/!]+", page) == re.findall(r"<[a-z/!]+", render(named("plain")))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


def test_nasty_lines_run_and_load_nothing(browser: Browser, tmp_path: Path) -> None:
    """In a browser a line of the log is text, whatever it holds."""
    path = tmp_path / "log.html"
    for name in NASTY:
        path.write_text(render(named(name)), encoding="utf-8")
        browser.open(path)
        assert (browser.said, browser.asked) == ([], []), name
        assert printable(name) in browser.evaluate("document.body.textContent"), name
        assert browser.evaluate("typeof pwned") == "undefined", name


@pytest.mark.parametrize("width", [360, 1280, 2000])
def test_the_page_opens_silently(browser: Browser, tmp_path: Path, width: int) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow, light and dark."""
    path = tmp_path / "log.html"
    path.write_text(render(LOG), encoding="utf-8")
    for dark in (False, True):
        browser.open(path, width=width, dark=dark)
        assert (browser.said, browser.asked) == ([], [])
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
