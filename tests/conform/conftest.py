"""Fixtures for tests of logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """A function that writes a log and returns its path."""

    def write(text: str | bytes, name: str = "a.log") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., str]:
    """A function that writes a log from its lines and returns its path."""

    def write(*lines: dict[str, Any]) -> str:
        path = tmp_path / "x.log"
        path.write_text("".join(json.dumps(row) + "\n" for row in lines))
        return str(path)

    return write
