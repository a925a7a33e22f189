"""Hypothesis profiles, ``ci`` (``make test``) and ``nightly`` (``make test-slow``), and the flag for golden files."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A change is judged by the same examples on every machine; a shared runner's speed is no finding.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one flag that rewrites golden files with what comes out now."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))
