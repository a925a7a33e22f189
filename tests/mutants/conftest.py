"""A small tree like this repository, with tests that leave one of its faults unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

FILES = {
    "holdfast/__init__.py": "",
    "holdfast/lower/__init__.py": "",
    "holdfast/lower/counting.py": '''\
"""Counting."""


def total(limit: int) -> int:
    found = 0
    while limit > 0:
        found += limit
        limit -= 1
    return found
''',
    "holdfast/ir/__init__.py": "",
    "holdfast/ir/same.py": '''\
"""Comparing."""


def same(left: int, right: int) -> bool:
    return left == right


def forgotten(left: int) -> bool:
    return left == 5
''',
    "holdfast/check/__init__.py": "",
    "holdfast/check/both.py": '''\
"""Deciding."""


def both(left: bool, right: bool) -> bool:
    return left and right
''',
    "holdfast/runs/__init__.py": "",
    "holdfast/runs/either.py": '''\
"""Choosing."""


def either(left: bool, right: bool) -> bool:
    return left or right
''',
    "tests/test_toy.py": """\
from holdfast.check.both import both
from holdfast.ir.same import same
from holdfast.lower.counting import total
from holdfast.runs.either import either


def test_total():
    assert total(2) == 3


def test_same():
    assert same(1, 1)


def test_both():
    assert both(True, True)


def test_either():
    assert either(True, False)
""",
    "pyproject.toml": """\
[tool.pytest.ini_options]
addopts = ["--import-mode=importlib"]
markers = ["slow: none"]
""",
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The root of the tree."""
    root = tmp_path / "toy"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
