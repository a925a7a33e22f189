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
    """Compiles the text of a model, for the given variants, without the given rules."""

    def __call__(self, source: str, *variants: str, without: tuple[str, ...] = ()) -> System: ...


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model puts its folder on the path of imports; each test begins with the path as it was."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Models written to files of their own, so that one test may compare several."""
    numbers = itertools.count()

    def build(source: str, *variants: str, without: tuple[str, ...] = ()) -> System:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return compiled(folder, source, *variants, without=without)

    return build
