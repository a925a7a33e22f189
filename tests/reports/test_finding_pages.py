"""Each finding has its run as a page, which is current, linked, and opens silently."""

from __future__ import annotations

import pytest

from tests.docs.finding_pages import FINDINGS, PAGES, page, shown
from tests.reports.browser import Browser

WIDTHS = (360, 1_280, 2_000)


def test_each_finding_has_a_page() -> None:
    """No page is left over. A finding without a replay line has none."""
    assert len(shown()) >= 12
    assert [file.stem for file in sorted(PAGES.glob("*.html"))] == shown()


@pytest.mark.parametrize("name", shown())
def test_the_page_is_current_and_linked(name: str) -> None:
    """It has the run whose replay line the text shows."""
    assert (PAGES / f"{name}.html").read_text(encoding="utf-8") == page(name), "write it anew: make pages"
    assert f"(pages/{name}.html)" in (FINDINGS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", shown())
def test_the_page_opens_silently(browser: Browser, name: str) -> None:
    """In each width, light and dark: no message, no request, no part that is wider than the window."""
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(PAGES / f"{name}.html", width=width, dark=dark)
            assert (browser.said, browser.asked) == ([], [])
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
