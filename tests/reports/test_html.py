"""The page of a campaign: valid markup for any names, nothing loaded from elsewhere, and its look in Chromium."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.ir.printable import printable
from holdfast.trace.views.svg import STYLE
from spark.campaign.findings import MOST_SHOWN
from spark.campaign.page.html import MOST_ACTIONS, MOST_RULES, MOST_STEPS, render
from spark.campaign.saturation import new_steps
from spark.campaign.summary import RuleSum, Summary
from tests.reports.browser import Browser
from tests.spark.samples import HOSTILE, summary

SAMPLES: dict[str, dict[str, Any]] = {
    "found": {"removed": ("ST-14",), "findings": 4},
    "clean": {},
    "running": {"done": 7, "findings": 2, "shrunk": False},
    "not begun": {"done": 0},
    "one unit": {"traces": 5_000, "traces_per_unit": 10_000},
    "one action": {"actions": ("only",), "traces": 200_000},
    "40 findings": {"findings": 40, "traces": 300_000},
    "60 actions": {"actions": tuple(f"an_action_of_number_{n}" for n in range(60)), "traces": 200_000},
    "huge": {"traces": 10**15, "traces_per_unit": 10**14, "species": 400_000},
    "hostile": {
        "model": HOSTILE[0],
        "target": HOSTILE[1],
        "removed": HOSTILE,
        "actions": HOSTILE,
        "rules": HOSTILE,
        "claims": HOSTILE,
        "predicates": HOSTILE,
        "fingerprint": HOSTILE[0],
        "findings": 5,
        "traces": 200_000,
    },
}

VOID = {"meta", "link", "input", "br", "hr", "img"}


@pytest.fixture(scope="module")
def made() -> Callable[[str], Summary]:
    """The sample campaigns, each made once."""
    held: dict[str, Summary] = {}

    def of(name: str) -> Summary:
        if name not in held:
            held[name] = summary(**SAMPLES[name])
        return held[name]

    return of


class Page(HTMLParser):
    """A parsed page. ``faults``: the errors of its markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.inside: dict[str, list[str]] = {}
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self._open]
        self.faults += self._wrong()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)
            self.inside.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> at line {self.getpos()[0]} closes another element")

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.inside[tag][-1] += data

    def _wrong(self) -> Iterator[str]:
        ids = [given["id"] for _, given in self.tags if "id" in given]
        yield from (f"id {name} twice" for name in set(ids) if ids.count(name) > 1)
        for tag, given in self.tags:
            yield from (f"<{tag} {given}>: {fault}" for fault in _faults(tag, given, ids))
        tags = [tag for tag, _ in self.tags]
        levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
        if any(next_one > level + 1 for level, next_one in zip([0, *levels], levels, strict=False)):
            yield "a level of headings is skipped"
        if (tags.count("h1"), tags.count("main"), "title" in tags) != (1, 1, True):
            yield "not one title, one <h1> and one <main>"
        if tags.count("table") != tags.count("caption"):
            yield "a table without a caption"


def _faults(tag: str, given: dict[str, str], ids: list[str]) -> Iterator[str]:
    """The errors in the attributes of an element, in a page with these ids."""
    for name, value in given.items():
        if name == "style" or name.startswith("on"):
            yield f"the policy forbids {name}"
        if name in ("src", "href", "action", "data", "poster", "srcset") and not value.startswith("#"):
            if value != "data:,":
                yield "leads out of the page"
        elif name in ("href", "aria-labelledby", "for", "data-copy") and value.removeprefix("#") not in ids:
            yield f"{name} names what is not there"
    if tag == "svg" and given.get("aria-hidden") != "true" and given.get("role") != "img":
        yield "a picture without a text"
    if given.get("role") == "region" and not given.get("aria-label"):
        yield "a region without a name"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_markup_is_sound(made: Callable[[str], Summary], name: str) -> None:
    """Elements are closed, links have targets, headings are in order, tables have captions, and pictures have texts."""
    assert Page(render(made(name))).faults == []


def test_unsound_markup_is_seen(made: Callable[[str], Summary]) -> None:
    """The check finds an unclosed element, an external link, a style, a missing target, and a heading too deep."""
    page = render(made("clean"))
    for wrong in (
        "<div>",
        '<a href="https://example.com/">x</a>',
        '<p style="color: red">x</p>',
        '<a href="#nowhere">x</a>',
        "<h5>x</h5>",
        "<table></table>",
        "<svg></svg>",
    ):
        assert Page(page.replace("</main>", f"{wrong}</main>")).faults != [], wrong


def test_names_are_texts_and_never_markup(made: Callable[[str], Summary]) -> None:
    """A model, rule, property or predicate may have any name. The page shows it as text."""
    text = render(made("hostile"))
    page = Page(text)
    assert len(page.inside["script"]) == len(page.inside["style"]) == 1
    shown = " ".join(page.inside["main"])
    for name in HOSTILE:
        assert printable(name) in shown
    assert HOSTILE[0] in page.inside["h1"][0]
    assert printable(text) == text


def test_the_policy_names_what_there_is(made: Callable[[str], Summary]) -> None:
    """The policy allows one style and one script, by their digests, and nothing else."""
    page = Page(render(made("found")))
    (policy,) = (given["content"] for _, given in page.tags if given.get("http-equiv") == "Content-Security-Policy")
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    for name in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.inside[name][0].encode()).digest()).decode()
        assert allowed[f"{name}-src"] == f"'sha256-{digest}'"
    assert set(allowed) == {"default-src", "style-src", "script-src", "img-src", "base-uri", "form-action"}


def test_equal_summaries_give_equal_bytes(made: Callable[[str], Summary]) -> None:
    """The page contains no date and nothing random."""
    assert render(made("found")) == render(summary(**SAMPLES["found"]))


def test_the_page_says_what_it_leaves_out(made: Callable[[str], Summary]) -> None:
    """Findings, the actions of the matrix and rules are limited. The page says how many more there are."""
    page = render(made("40 findings"))
    assert page.count('<article class="finding"') == MOST_SHOWN
    assert f"{40 - MOST_SHOWN} more, met more seldom, are left out" in page
    assert f"{60 - MOST_ACTIONS} actions that were taken more seldom are left out" in render(made("60 actions"))
    rules = tuple(RuleSum("only", f"R-{number}", 1, 1) for number in range(MOST_RULES + 7))
    assert "7 more rows are left out" in render(attrs.evolve(made("one action"), rules=rules))
    assert "left out of this page" not in render(made("clean"))


def test_the_page_says_how_many_steps_were_new(made: Callable[[str], Summary]) -> None:
    """The number of new steps stands beside that of all steps, as in the summary; not before a unit is done."""
    clean = made("clean")
    assert f"<dt>New steps</dt><dd>{new_steps(clean.states, clean.steps)}</dd>" in render(clean)
    assert "New steps" not in render(made("not begun"))


def test_a_finding_has_its_run_its_replay_line_and_its_place(made: Callable[[str], Summary]) -> None:
    """The diagram is drawn from the shrunk run's ITF, and has no style of its own."""
    page = render(made("found"))
    assert page.count('role="img" width=') == len(made("found").findings)
    assert page.count("<style>") == 1
    assert "holdfast replay &#39;ownership tiny -ST-14" in page
    assert "INV-01. No two processes can ack appends to one stream." in page
    assert "runs of 2 signatures shrink to it" in render(summary(findings=6, traces=100_000, alike=True))
    running = render(made("running"))
    assert "It is not shrunk yet" in running
    assert "replay-1" not in running


def test_the_rules_of_the_page_are_explained(made: Callable[[str], Summary]) -> None:
    """A removed rule is explained below with its row. A model without a file of rows shows no rows of another model."""
    page = render(made("found"))
    assert page.count('<a href="#rules">Rules</a>') == 1
    assert "<dt>ST-14</dt><dd>The controller refuses an open with a newer epoch" in page
    elsewhere = attrs.evolve(made("found").asked, target="elsewhere/ownership.py")
    assert "ST-14</dt>" not in render(attrs.evolve(made("found"), asked=elsewhere))


@pytest.mark.parametrize(
    "itf", ["", "{", "[]", '{"states": []}', '{"vars": ["x"], "states": [{"x": {"#map": 7}}]}', "[" * 9_999]
)
def test_a_run_that_cannot_be_drawn_is_text(made: Callable[[str], Summary], itf: str) -> None:
    """If the ITF cannot be drawn, the run's text is there, unfolded."""
    found = made("found")
    first = found.findings[0]
    assert first.shrunk is not None
    broken = attrs.evolve(first, shrunk=attrs.evolve(first.shrunk, itf=itf))
    page = render(attrs.evolve(found, findings=(broken,)))
    assert "<details open>" in page
    assert 'role="img" width=' not in page


def test_a_very_long_run_is_text(made: Callable[[str], Summary]) -> None:
    """A run of thousands of steps is shown as text, without a diagram."""
    found = made("found")
    first = found.findings[0]
    assert first.shrunk is not None
    long = attrs.evolve(first.shrunk, steps=MOST_STEPS + 1, text="x" * 300_000)
    page = render(attrs.evolve(found, findings=(attrs.evolve(first, shrunk=long),)))
    assert "<details open>" in page
    assert "100,000 letters more are left out" in page


def test_the_page_styles_all_that_diagrams_use() -> None:
    """The page's style has a rule for each class that diagrams use."""
    classes = set(re.findall(r"\.([a-z]+)", STYLE))
    css = Path("reports/page/base.css").read_text(encoding="utf-8")
    assert classes - set(re.findall(r"\.run \.([a-z]+)", css)) == set()


# In a browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(made: Callable[[str], Summary], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The files of the samples' pages."""
    folder = tmp_path_factory.mktemp("pages")

    def of(name: str) -> Path:
        path = folder / f"{name}.html"
        path.write_text(render(made(name)), encoding="utf-8")
        return path

    return of


GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("name", ["found", "not begun", "60 actions", "hostile"])
def test_the_page_opens_silently(browser: Browser, pages: Callable[[str], Path], name: str) -> None:
    """The page logs nothing, requests nothing, and has no horizontal overflow: wide and narrow, light and dark."""
    for width in (1280, 400):
        for dark in (False, True):
            browser.open(pages(name), width=width, dark=dark)
            assert (browser.said, browser.asked) == ([], [])
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            red, green, blue = map(int, re.findall(r"\d+", browser.evaluate(GROUND)))
            assert (red + green + blue < 3 * 60) == dark
            assert len(browser.screenshot()) > 10_000


def test_a_page_that_talks_and_asks_is_noticed(browser: Browser, tmp_path: Path) -> None:
    """The test above notices an error, a request, and a script that the policy does not allow."""
    page = tmp_path / "wrong.html"
    page.write_text('<img src="missing.png"><script>nowhere();</script>', encoding="utf-8")
    browser.open(page)
    assert any("nowhere" in said for said in browser.said)
    assert browser.asked == [(tmp_path / "missing.png").as_uri()]


def test_the_policy_holds(browser: Browser, pages: Callable[[str], Path], tmp_path: Path) -> None:
    """The browser blocks an injected script and an injected picture."""
    page = tmp_path / "slipped.html"
    slipped = '<script>document.title = "taken over"</script><img src="missing.png">'
    page.write_text(
        pages("found").read_text(encoding="utf-8").replace("</main>", f"{slipped}</main>"), encoding="utf-8"
    )
    browser.open(page)
    assert browser.evaluate("document.title") != "taken over"
    assert sum("Content Security Policy" in said for said in browser.said) == 2


def test_the_reader_chooses_the_colours(browser: Browser, pages: Callable[[str], Path]) -> None:
    """The reader can override the system's colour scheme, and return to it."""
    browser.open(pages("found"))
    light = browser.evaluate(GROUND)
    browser.evaluate("document.querySelector('button[data-theme=dark]').click()")
    assert browser.evaluate(GROUND) != light
    browser.evaluate("document.querySelector('button[data-theme=\"\"]').click()")
    assert browser.evaluate(GROUND) == light


def test_the_filter_keeps_rows_that_match(browser: Browser, pages: Callable[[str], Path]) -> None:
    """The filter applies to all coverage tables, ignores case, and shows the number of matching rows."""
    browser.open(pages("found"))
    shown = "[...document.querySelectorAll('table[data-filter] tbody tr')].filter(row => !row.hidden).length"
    every = browser.evaluate(shown)
    script = "filter.value = {!r}; filter.dispatchEvent(new Event('input')); counted.textContent"
    assert browser.evaluate(script.format("nd-01")) == f"1 of {every} rows"
    assert browser.evaluate(shown) == 1
    assert browser.evaluate(script.format("")) == ""
    assert browser.evaluate(shown) == every


def test_without_scripts_all_is_there_to_read(browser: Browser, pages: Callable[[str], Path]) -> None:
    """Without scripts the page hides the controls that need them, and shows everything else."""
    browser.open(pages("found"), scripts=False)
    hidden = "[...document.querySelectorAll('button, .filter')].every(each => !each.checkVisibility())"
    assert browser.evaluate(hidden)
    text = browser.evaluate("document.body.innerText")
    for said in ("violated", "holdfast replay", "never", "Saturation", "Pairs of actions"):
        assert said in text


def test_the_replay_line_can_be_copied(browser: Browser, pages: Callable[[str], Path]) -> None:
    """If the page may not use the clipboard, the line is selected, so that the reader can copy it."""
    browser.open(pages("found"))
    label = (
        "new Promise(done => new MutationObserver(() => done(button.textContent)).observe(button, {childList: true}))"
    )
    script = f"const button = document.querySelector('button[data-copy]'); const seen = {label}; button.click(); seen"
    assert browser.evaluate(script) in ("Copied", "Selected: press Ctrl+C")
