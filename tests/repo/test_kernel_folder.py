"""The folder of compiled kernels that the tests of a session share."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The configuration of a session that begins; the environment is put back afterwards."""
    monkeypatch.setenv("HOLDFAST_CACHE", "the folder of another session")
    monkeypatch.delenv(conftest.GIVEN, raising=False)
    plugins = SimpleNamespace(register=lambda _: None)
    return SimpleNamespace(pluginmanager=plugins, getoption=lambda _: False, stash={})


def test_a_session_removes_its_own_folder(session: Any) -> None:
    """A session makes a new folder, and removes it at its end."""
    conftest.pytest_configure(session)
    folder = Path(os.environ["HOLDFAST_CACHE"])
    assert folder.is_dir()
    conftest.pytest_unconfigure(session)
    assert not folder.exists()


def test_a_given_folder_stays_and_is_not_handed_on(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A given folder is used and kept. A session that a test starts, maybe of a faulty engine, does not get it."""
    monkeypatch.setenv(conftest.GIVEN, str(tmp_path))
    conftest.pytest_configure(session)
    assert os.environ["HOLDFAST_CACHE"] == str(tmp_path)
    assert conftest.GIVEN not in os.environ
    conftest.pytest_unconfigure(session)
    assert tmp_path.is_dir()
