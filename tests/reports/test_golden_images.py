"""The pages of twelve findings look as their kept images, with a tolerance for other fonts.

``pytest tests/reports/test_golden_images.py --update-golden`` writes the images anew. Look at them before you keep
them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.finding_pages import PAGES
from tests.reports.browser import Browser

IMAGES = Path(__file__).parent / "golden" / "images"
WIDTHS = (360, 1_280, 2_000)
TOLERANCE = 0.2
"""Another font moves letters within their blocks, by 0.04 to 0.12; another page differs by 0.27 and more."""

NAMES = (
    "AM-01", "AM-08", "AM-20", "CA-20", "CA-25-unclean", "CA-42", "EL-03", "I-02", "LP-05", "M-11", "ZG-1", "ZG-5",
)  # fmt: skip


def seen(browser: Browser, page: Path, width: int, *, dark: bool) -> bytes:
    """What a reader sees first: the window at the last step of the run."""
    browser.open(page, width=width, dark=dark)
    browser.evaluate("go(steps.length - 1, { moves: false })")
    return browser.small_screenshot(width)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_looks_as_before(browser: Browser, update_golden: bool, name: str) -> None:
    """In each width, light and dark."""
    for width in WIDTHS:
        for dark in (False, True):
            now = seen(browser, PAGES / f"{name}.html", width, dark=dark)
            image = IMAGES / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            if update_golden:
                image.parent.mkdir(exist_ok=True)
                image.write_bytes(now)
            assert browser.difference(image.read_bytes(), now) <= TOLERANCE, f"--update-golden, and look: {image}"


def test_what_looks_different_is_noticed(browser: Browser, tmp_path: Path) -> None:
    """The page of another finding, one without its style, one in other colours, one without its diagram."""
    page, width = PAGES / f"{NAMES[0]}.html", WIDTHS[1]
    before = seen(browser, page, width, dark=False)
    assert browser.difference(before, before) == 0
    text = page.read_text(encoding="utf-8")
    plain = tmp_path / "plain.html"
    plain.write_text(text.replace("<style", "<template").replace("</style", "</template"), encoding="utf-8")
    undrawn = tmp_path / "undrawn.html"
    undrawn.write_text(text.replace("<svg", "<svg hidden"), encoding="utf-8")
    others = [
        seen(browser, PAGES / f"{NAMES[1]}.html", width, dark=False),
        seen(browser, plain, width, dark=False),
        seen(browser, page, width, dark=True),
        seen(browser, undrawn, width, dark=False),
    ]
    assert [browser.difference(before, other) > TOLERANCE for other in others] == [True] * 4
