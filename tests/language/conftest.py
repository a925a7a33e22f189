"""The fixture ``build``, and a clean path for imports."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Protocol

import pytest

from holdfast.ir.system import System
from tests.language.writing import compiled


class Build(Protocol):
    """Compile the text of a model, with the given variants chosen and the given rules removed."""

    def __call__(self, source: str, *variants: str, without: tuple[str, ...] = ()) -> System: ...


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the import path after each test. (Loading a model adds the model's folder to the path.)"""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Write models to files of their own, so that a test may compare several."""
    numbers = itertools.count()

    def build(source: str, *variants: str, without: tuple[str, ...] = ()) -> System:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return compiled(folder, source, *variants, without=without)

    return build
