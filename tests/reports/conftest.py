"""What the tests of all pages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reports.browser import Browser, find_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests of a module."""
    command = find_browser()
    if command is None:
        pytest.skip("no Chromium is installed to open the page in")
    with Browser(command) as found:
        yield found
