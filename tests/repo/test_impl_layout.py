"""The layout of the implementation: its imports, its labels, its errors, and the size of its files."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from impl.errors import E
from impl.rules import ROOT, guards

REPOSITORY = ROOT.parent
FILES = sorted(ROOT.rglob("*.py"))
FREE = ("bridge", "cli")
"""Folders that may use holdfast: the command line, and the pairings of controller and models."""
DRIVERS = ("real",)
"""The folder of the processes: its drivers give nodes their time, and carry their messages."""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _rows() -> set[str]:
    """The ids of rules and guards that the protocol pages explain, in small letters."""
    pages = (REPOSITORY / "docs" / "protocol").glob("*.md")
    return {id_ for page in pages for id_ in re.findall(r'<a id="([a-z]+-[0-9a-z]+)">', page.read_text("utf-8"))}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_the_implementation_does_not_know_its_judge(path: Path) -> None:
    """Models and code are two readings of the same pages. Neither may import the other."""
    banned = {"holdfast", "models", "spark", "reports"}
    if path.relative_to(ROOT).parts[0] in FREE:
        banned -= {"holdfast"}
    assert not {name for name in _imported(path) if name.partition(".")[0] in banned}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_node_asks_nobody_for_time_or_chance(path: Path) -> None:
    """A node never sleeps, reads a clock, opens a socket or draws random numbers.

    One file of the simulator draws. Another one starts processes, each with a thread that ends it with this process.
    """
    banned = {"time", "datetime", "random", "secrets", "uuid", "socket", "asyncio", "threading", "os"}
    if _name(path) == "sim/tape.py":
        banned -= {"random"}
    if _name(path) == "sim/seeds.py":
        banned -= {"threading", "os"}
    if path.relative_to(ROOT).parts[0] not in (*FREE, *DRIVERS):
        assert not _imported(path) & banned


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_crash_leaves_nothing_to_do(path: Path) -> None:
    """Code that awaits has no ``finally`` and no ``with``, since a crash ends it without cleaning up.

    The drivers of processes, and the commands, await the event loop of asyncio, which nobody simulates.
    """
    if path.relative_to(ROOT).parts[0] in ("cli", *DRIVERS):
        return
    waiting = [node for node in ast.walk(_tree(path)) if isinstance(node, ast.AsyncFunctionDef)]
    for node in (each for function in waiting for each in ast.walk(function)):
        assert not isinstance(node, ast.With | ast.AsyncWith), f"{_name(path)}:{node.lineno}"
        assert not (isinstance(node, ast.Try) and node.finalbody), f"{_name(path)}:{node.lineno}"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_file_holds_one_idea(path: Path) -> None:
    """A file has at most 300 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_lower_layers_do_not_import_higher_ones() -> None:
    """Records import nothing, metadata records, and the controller both. Brokers and scenarios import the controller's
    messages and tables.
    """
    low = ["impl.errors", "impl.rules", "impl.records", "impl.tasks", "impl.store"]
    layers = [*low, "impl.metadata", "impl.controller", "impl.broker", "impl.client", "impl.oracles", "impl.sim",
              "impl.real"]  # fmt: skip

    def layer(module: str) -> int | None:
        return next((i for i, name in enumerate(layers) if module == name or module.startswith(name + ".")), None)

    for path in FILES:
        own = layer("impl." + _name(path).removesuffix(".py").replace("/", "."))
        if own is not None:
            higher = {name for name in _imported(path) if (found := layer(name)) is not None and found > own}
            assert not higher, f"{_name(path)} imports {higher}"


def test_every_label_is_a_rule_that_a_page_explains() -> None:
    """A label is the id of a row of docs/protocol, perhaps with a suffix. ``guards`` refuses computed labels."""
    wrong = [label for label in guards() if not re.fullmatch(r"[A-Z]{1,2}-\d\d[a-z]?(\.[a-z_]+)?", label)]
    assert not wrong
    missing = [label for label in guards() if label.partition(".")[0].lower() not in _rows()]
    assert not missing, f"docs/protocol has no row for {', '.join(missing)}"


def test_every_error_has_a_code_of_the_tables() -> None:
    """An error has a code of streams.md 16, reassignment.md 11 or ZR-27, or none and the name of AutoMQ's exception."""
    codes = {
        (int(code), name)
        for page in ("streams", "reassignment", "zone-routing")
        for code, name in re.findall(
            r"\b(\d+)\s+`?([A-Z][A-Z_]+)`?", (REPOSITORY / "docs" / "protocol" / f"{page}.md").read_text("utf-8")
        )
    }
    missing = [error.name for error in E if error.name in _answered() and error.value > 0]
    missing = [name for name in missing if (E[name].value, name) not in codes]
    assert not missing, f"docs/protocol gives no code for {', '.join(missing)}"


def test_every_error_is_answered_somewhere() -> None:
    """Every code of the tables is the answer of an operation, except these."""
    assert {error.name for error in E} - _answered() == UNUSED


UNUSED = {
    "CLUSTER_AUTHORIZATION_FAILED",  # brokers answer with this one
    *("REASSIGNMENT_IN_PROGRESS", "STREAM_EXIST"),  # no operation answers with this one
}


@cache
def _answered() -> frozenset[str]:
    """The names of the errors that stand in the code as ``E.NAME``."""
    return frozenset(
        node.attr
        for path in FILES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "E"
    )
