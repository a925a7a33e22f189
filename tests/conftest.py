"""Hypothesis profiles, flags that rewrite files, the mark of long tests, and a folder for compiled kernels.

The profiles are ``ci`` (``make test``) and ``nightly`` (``make test-slow``). The folder lasts as long as the session,
unless it is given.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import settings

from tests.durations import Durations, recorded
from tests.tiers import COLLECTED, long_tests

KERNELS = pytest.StashKey[str]()
GIVEN = "HOLDFAST_TEST_KERNELS"
"""The environment variable that names a folder of kernels which several sessions share. They do not remove it."""

# The same change always gets the same answer, so no daily seed and no saved examples; deadlines would blame slow
# runners.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags that rewrite golden files and the record of durations with the current results."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing")
    parser.addoption("--store-durations", action="store_true", help="write how long each test takes to durations.json")


def pytest_configure(config: pytest.Config) -> None:
    """Share one folder of compiled kernels among all workers, and write nothing to anybody's home."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(store=config.getoption("--store-durations")))
        # A session that a test starts may have another engine, and has a folder of its own.
        given = os.environ.pop(GIVEN, None)
        if given is None:
            given = config.stash[KERNELS] = tempfile.mkdtemp(prefix="holdfast-tests-")
        os.environ["HOLDFAST_CACHE"] = given


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that take long, before pytest leaves out what ``-m`` does not name."""
    config.stash[COLLECTED] = {item.nodeid for item in items}
    found = long_tests(config.stash[COLLECTED], recorded())
    for item in items:
        if item.nodeid in found:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """Hide the collected tests from the garbage collector, which would go through them again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    if KERNELS in config.stash:
        shutil.rmtree(config.stash[KERNELS], ignore_errors=True)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))
