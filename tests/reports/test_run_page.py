"""The page of a run: what it tells of each step, and how a reader goes through it in Chromium."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

import attrs
import pytest

from holdfast.cli.app import main
from holdfast.cli.explore import open_session
from holdfast.ir.printable import printable
from holdfast.records.explained_run import MOST_LISTED, ExplainedRun, _with_needs_of_the_last, explained_run
from holdfast.records.state_tables import ShownCell, StateRow, StateTable, state_tables
from holdfast.runs.loading import open_trace
from holdfast.trace.line import to_line
from holdfast.trace.text import name_of
from reports.run_page.run_page import render
from tests.docs.finding_pages import shown
from tests.live.asking import answer, edited
from tests.reports.browser import Browser
from tests.reports.nasty import NASTY
from tests.spark.samples import HOSTILE

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"
LINE = re.compile(r"replay:    holdfast replay '(.*)'")


def line_of(page: str) -> str:
    """The first replay line on the page of a finding."""
    found: str = LINE.findall((FINDINGS / f"{page}.md").read_text(encoding="utf-8"))[0]
    return found


@cache
def run_of(page: str) -> ExplainedRun:
    """The run of a finding."""
    opened = open_trace(line_of(page))
    return explained_run(opened.trace, opened.replayer)


def test_each_step_tells_what_it_needed_and_who_needs_it() -> None:
    """AM-20: the last open needs what step 5 has closed; the handle that it writes decides."""
    run = run_of("AM-20")
    last = run.steps[-1]
    assert ("opened[s1]", "False", 5) in [(each.name, each.value, each.writer) for each in last.needed]
    assert [each.name for each in last.changes if each.decides] == ["handle[p3, s1]"]
    closed = next(each for each in run.steps[4].changes if each.name == "opened[s1]")
    assert closed.readers == (6,)
    assert run.led == 6
    assert all(step.leads for step in run.steps)


def test_the_missing_rule_is_told_at_its_step() -> None:
    """CA-42: without CA-41 the cancel succeeds. The page says that the rule refuses it, and what the rule means."""
    run = run_of("CA-42")
    assert [bool(step.missing) for step in run.steps] == [False, False, True]
    assert "CA-41" in run.steps[-1].missing
    assert "CA-41" in dict(run.rules)
    assert render(run) == render(run_of("CA-42"))


def test_the_run_is_tried_with_the_rule() -> None:
    """CA-42: with CA-41 the first two steps do the same, and the cancel is refused. A variant is no rule."""
    found = run_of("CA-42").with_rules
    assert found is not None
    assert found.same == 2
    [last] = found.steps
    assert (last.number, last.refused, last.guarded) == (3, "CA-41 refuses it", ())
    assert "replica: n2 → n1" in last.plain
    assert 'id="with"' in render(run_of("CA-42"))
    assert run_of("AM-20").with_rules is None
    assert 'id="with"' not in render(run_of("AM-20"))


def test_steps_behind_a_refused_one_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Without ST-14 a second owner appends. With it that owner has no stream, so its append is refused, too."""
    assert main(["check", "ownership", "--scope", "tiny", "--without", "ST-14"]) == 12
    opened = open_trace(f"{LINE.findall(capsys.readouterr().out)[0]} append(p3,s1)")
    found = explained_run(opened.trace, opened.replayer).with_rules
    assert found is not None
    assert [step.refused != "" for step in found.steps] == [True, True]
    assert found.conclusion == "At the end one_owner holds."


def test_a_run_without_its_model_is_shown_as_far_as_it_goes() -> None:
    """Without a model nobody knows what a step needed, or what else was possible."""
    trace = open_trace(line_of("AM-20")).trace
    run = explained_run(trace, None)
    assert run.led is None
    assert not any(step.needed or step.met or step.missing for step in run.steps)
    page = render(run)
    assert 'id="why"' not in page
    assert "handle[p3, s1]" in page


def renamed(run: ExplainedRun, name: str) -> ExplainedRun:
    """A run with one step, in which everything has one name."""
    change = attrs.evolve(run.steps[0].changes[0], name=name, old=name, new=name)
    step = attrs.evolve(run.steps[0], call=name, missing=name, refused=name, met={name: name}, changes=(change,))
    cell = ShownCell(0, name, name)
    table = StateTable(name, (name,), (StateRow(name, (cell,)),))
    return attrs.evolve(
        run, title=name, sentence=name, about=name, conclusion=name, replay=name, steps=(step,), tables=(table,),
        rules=((name, name),),
    )  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_text(name: str) -> None:
    """Names with markup, control and bidirectional characters add no element, and none of these characters."""
    run = run_of("CA-42")
    page = render(renamed(run, name))
    assert re.findall(r"<[a-z/!]+", page) == re.findall(r"<[a-z/!]+", render(renamed(run, "plain")))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``show --html`` writes the page and prints nothing; a file that cannot be written is refused first."""
    file = tmp_path / "run.html"
    assert main(["show", line_of("CA-42"), "--html", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text(encoding="utf-8") == render(run_of("CA-42"))
    assert main(["show", line_of("CA-42"), "--html", str(tmp_path / "no" / "run.html")]) == 2


@pytest.mark.parametrize(
    ("argv", "code", "title"),
    [
        (("check", "ownership", "--scope", "tiny", "--without", "ST-14"), 12, "violated after"),
        (("walk", "cancellation", "--scope", "tiny", "--without", "CA-41", "--runs", "2000"), 12, "violated after"),
        (("live", "route_epoch", "--scope", "tiny", "--variant", "idle_commit_waits"), 13, "reclaimed: violated"),
        (("replay", "AM-20"), 12, "one_owner: violated after 6 steps"),
        (("shrink", "AM-20"), 0, "one_owner: violated after 6 steps"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_that_find_runs_write_the_page(
    argv: tuple[str, ...], code: int, title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command writes the page of its run, and prints what it prints without a page."""
    argv = tuple(line_of(word) if word == "AM-20" else word for word in argv)
    assert main(list(argv)) == code
    said = capsys.readouterr().out
    file = tmp_path / "run.html"
    assert main([*argv, "--html", str(file)]) == code
    assert capsys.readouterr().out == said
    assert title in file.read_text(encoding="utf-8")


def test_nothing_found_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If nothing is violated, the command says that it writes no page; two files may not have one name."""
    file = tmp_path / "run.html"
    assert main(["check", "kip_236", "--scope", "tiny", "--html", str(file)]) == 0
    assert f"nothing is violated, so {file} is not written" in capsys.readouterr().err
    assert not file.exists()
    assert main(["check", "kip_236", "--html", str(file), "--itf", str(file)]) == 2


@pytest.mark.parametrize("verb", ["check", "show"])
def test_a_page_replaces_no_other_file(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no page, such as the model, is refused and left as it is; an earlier page is replaced."""
    file, words = (
        tmp_path / "mine",
        {"check": ["check", "kip_236", "--scope", "tiny"], "show": ["show", line_of("CA-42")]},
    )
    file.write_text("import mine\n")
    assert main([*words[verb], "--html", str(file)]) == 2
    assert "the file exists, and is no page" in capsys.readouterr().err
    assert file.read_text() == "import mine\n"
    file.write_text("<!DOCTYPE html>")
    assert main([*words[verb], "--html", str(file)]) == 0


# In a browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The pages of findings."""
    folder = tmp_path_factory.mktemp("pages")

    def of(name: str) -> Path:
        path = folder / f"{name}.html"
        path.write_text(render(run_of(name)), encoding="utf-8")
        return path

    return of


@pytest.mark.parametrize("width", [360, 1280, 2000])
def test_the_page_opens_silently(browser: Browser, pages: Callable[[str], Path], width: int) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow, light and dark."""
    for dark in (False, True):
        browser.open(pages("AM-20"), width=width, dark=dark)
        assert (browser.said, browser.asked) == ([], [])
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


SHOWN = "[...document.querySelectorAll('.step')].filter(each => each.checkVisibility()).map(each => each.id).join()"
OPENED = "document.querySelector('.state [title=\"opened[s1]\"]')"


def test_a_reader_goes_through_the_steps(browser: Browser, pages: Callable[[str], Path]) -> None:
    """Keys, the slider, a click in the diagram, and the fragment show a step, and the state after it."""
    browser.open(pages("AM-20"))
    assert browser.evaluate(SHOWN) == "step-0"
    assert browser.evaluate(f"{OPENED}.textContent") == "False"
    key = "document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))"
    browser.evaluate(key.format("ArrowRight"))
    assert browser.evaluate(SHOWN) == "step-1"
    assert browser.evaluate("location.hash") == "#step-1"
    assert browser.evaluate(f"{OPENED}.textContent + {OPENED}.className") == "Truechanged needed"
    browser.evaluate("slider.value = 3; slider.dispatchEvent(new Event('input'))")
    assert browser.evaluate(SHOWN) == "step-3"
    assert browser.evaluate(f"{OPENED}.textContent") == "False"
    browser.evaluate("document.querySelector('[data-step=\"4\"]').dispatchEvent(new Event('click'))")
    assert browser.evaluate(SHOWN) == "step-4"
    assert "after step 4" in browser.evaluate("document.getElementById('state').innerText")
    browser.evaluate(key.format("ArrowLeft"))
    browser.evaluate(key.format("Home"))
    assert browser.evaluate(f"{OPENED}.textContent") == "False"
    browser.evaluate("document.querySelector('[data-go=all]').click()")
    assert browser.evaluate(SHOWN).count("step-") == 7


def test_the_state_shows_what_each_process_holds(browser: Browser, pages: Callable[[str], Path]) -> None:
    """What p1 and p3 hold of s1 is in their columns; what the system holds of it is in a column of its own."""
    browser.open(pages("AM-20"))
    browser.evaluate("go(6)")
    table = "[...document.querySelectorAll('.state')].find(each => each.caption.innerText === 'About s1')"
    row = "[...[...table.rows].find(each => each.cells[0].innerText === '{}').cells].map(each => each.innerText).join()"
    said = {name: browser.evaluate(f"(() => {{ const table = {table}; return {row.format(name)}; }})()") for name in
            ("Variable", "epoch", "handle")}  # fmt: skip
    assert said == {"Variable": "Variable,system,p1,p2,p3,p4", "epoch": "epoch,2,,,,", "handle": "handle,,1,0,2,0"}


@pytest.mark.parametrize("page", shown())
def test_each_cell_is_in_one_table(page: str) -> None:
    """No cell takes the place of another, and none is left out; hidden budgets are no cells of the model."""
    trace = open_trace(line_of(page)).trace
    cells = [cell for table in state_tables(trace) for row in table.rows for cell in row.cells if cell is not None]
    visible = {index: name_of(cell) for index, cell in enumerate(trace.cells) if not cell.field.hidden}
    assert sorted((cell.index, cell.name) for cell in cells) == sorted(visible.items())
    assert all(len(row.cells) == len(table.columns) for table in state_tables(trace) for row in table.rows)


TIED = "[...document.querySelectorAll('.tied')].map(each => each.dataset.step).join()"


def test_a_step_marks_what_it_needed(browser: Browser, pages: Callable[[str], Path]) -> None:
    """Step 5 needs the epoch that step 1 wrote, and step 6 needs it closed; the marks go with the step."""
    browser.open(pages("AM-20"))
    browser.evaluate("go(5)")
    tied = set(browser.evaluate(TIED).split(","))
    assert {"1", "6"} <= tied
    assert "5" not in tied
    assert "epoch[s1]" in browser.evaluate("[...document.querySelectorAll('.needed')].map(each => each.title).join()")
    browser.evaluate("go(0)")
    assert browser.evaluate("document.querySelectorAll('.tied, .needed, .changed').length") == 0


def test_the_page_has_the_command_that_goes_on(browser: Browser, pages: Callable[[str], Path]) -> None:
    """The command names the step that is shown, and opens the run there."""
    browser.open(pages("AM-20"))
    browser.evaluate("go(3); document.querySelector('#onwards summary').click()")
    browser.evaluate("go(4)")
    command = shlex.split(browser.evaluate("new Promise(done => setTimeout(() => done(explore.textContent)))"))
    assert command[:2] == ["holdfast", "explore"]
    assert command[3:] == ["--at", "4"]
    session, _ = open_session(command[2])
    assert len(session.run) == 7


def test_a_long_run_is_a_small_page(browser: Browser, tmp_path: Path) -> None:
    """Ten thousand steps take at most 5 MB. The browser lays out the part with the step on show, and no other."""
    run = run_of("AM-20")
    # A run of more than 200 steps does not say what else was possible.
    whole = [attrs.evolve(run.steps[number % 6], number=number + 1, met={}) for number in range(10_000)]
    assert _with_needs_of_the_last(whole[:1_000]) == (1, whole[:1_000])
    first, steps = _with_needs_of_the_last(whole)
    assert sum(len(step.needed) for step in steps) <= MOST_LISTED - 20_000
    assert sum(len(step.needed) for step in steps[first - 1 :]) > MOST_LISTED - 20_100
    path = tmp_path / "run.html"
    path.write_text(render(attrs.evolve(run, steps=tuple(steps), svg="", told_from=first)), encoding="utf-8")
    assert f"From step {first} on" in path.read_text(encoding="utf-8")
    assert path.stat().st_size <= 5_000_000
    browser.open(path)
    assert (browser.said, browser.asked) == ([], [])
    browser.evaluate("go(9999)")
    assert browser.evaluate(SHOWN) == "step-9999"
    parts = "[...document.querySelectorAll('.part')].filter(each => each.checkVisibility()).length"
    assert browser.evaluate(parts) == 1
    browser.evaluate("document.querySelector('[data-go=all]').click()")
    assert browser.evaluate(parts) == 101
    assert browser.evaluate("[...document.querySelectorAll('.part')].at(50).checkVisibility()")
    unseen = "document.getElementById('step-5000').checkVisibility({contentVisibilityAuto: true})"
    assert browser.evaluate(unseen) is False
    # All of a short run is laid out at once, so its text is there wherever its reader looks.
    assert browser.evaluate(unseen.replace("5000", "100"))


def test_without_scripts_all_steps_are_there_to_read(browser: Browser, pages: Callable[[str], Path]) -> None:
    """Without scripts the page hides the controls that need them, and shows everything else."""
    browser.open(pages("AM-20"), scripts=False)
    assert browser.evaluate("[...document.querySelectorAll('button, .player')].every(each => !each.checkVisibility())")
    text = browser.evaluate("document.body.innerText")
    for said in ("violated after 6 steps", "holdfast replay", "open(p=p3, s=s1, e=2, heard=True)", "needed by step 6"):
        assert said in text


MADE_OF = "[...document.querySelectorAll('*')].map(each => each.tagName + each.getAttributeNames()).join()"


@pytest.mark.parametrize("name", NASTY)
def test_nasty_texts_are_shown_as_text(browser: Browser, tmp_path: Path, name: str) -> None:
    """A name, a label, a sentence or a file's name with markup, quotes or controls is text: it runs and loads nothing.

    The page has the same elements, with the same attributes, as with an ordinary name.
    """
    run, made_of = run_of("CA-42"), []
    for each in ("ordinary", name):
        path = tmp_path / "run.html"
        path.write_text(render(renamed(run, each)), encoding="utf-8")
        browser.open(path)
        browser.evaluate("go(1)")
        assert (browser.said, browser.asked) == ([], [])
        made_of.append(browser.evaluate(MADE_OF))
    assert made_of[0] == made_of[1]
    assert printable(name) in browser.evaluate("document.querySelector('h1').textContent")
    assert printable(name) in browser.evaluate("document.querySelector('.state td').textContent")
    assert browser.evaluate("typeof pwned") == "undefined"


def test_a_loop_has_no_last_step(browser: Browser, tmp_path: Path) -> None:
    """Behind the last step comes the first one of the loop again, with the state before it."""
    trace = answer(edited(tmp_path, ('fair="strong"', 'fair="weak"')), "served").findings[0]
    opened = open_trace(to_line(trace))
    path = tmp_path / "run.html"
    path.write_text(render(explained_run(opened.trace, opened.replayer)), encoding="utf-8")
    browser.open(path)
    browser.evaluate("go(1)")
    before = browser.evaluate("document.querySelector('.tables').innerText")
    browser.evaluate("document.querySelector('[data-go=last]').click()")
    assert browser.evaluate(SHOWN) == "step-4"
    assert browser.evaluate("document.querySelector('.tables').innerText") == before
    browser.evaluate("document.querySelector('[data-go=on]').click()")
    assert browser.evaluate(SHOWN) == "step-2"
    assert (
        browser.evaluate("[...document.querySelectorAll('.loops')].map(each => each.id).join()")
        == "step-2,step-3,step-4"
    )
    assert browser.evaluate("document.querySelectorAll('.steps .loop').length") == 1
