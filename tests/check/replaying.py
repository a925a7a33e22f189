"""Helpers that replay runs on models of the tests, and the pinned counterexamples of the repository's own models."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.trace.trace import Trace

MODELS = Path(__file__).parent / "models"
TABLE = str(MODELS / "table.py")
LINE = f"{TABLE} tiny -ST-14 #35e6084304bdb5d7 one_handle: open(p1,s1,1) open(p2,s1,2)"
"""The run on which two processes hold one stream of the table, as a line."""

PINNED: list[dict[str, Any]] = [
    entry
    for entry in json.loads((Path(__file__).parents[2] / "models" / "manifest.json").read_text())
    if entry["scope"] == "tiny" and entry["verdict"] == "violated" and entry.get("engine", "check") == "check"
]
"""Every configuration with a pinned violation at scope tiny."""


def title(entry: dict[str, Any]) -> str:
    """A short name of a pinned configuration."""
    return " ".join((entry["model"], *entry.get("variants", ()), *entry.get("without", ())))


def target(name: str) -> str:
    """The command-line name of a model, which is one of the tests' or one of the repository's."""
    path = MODELS / f"{name}.py"
    return str(path) if path.exists() else name


@cache
def model(name: str, *without: str, variants: tuple[str, ...] = ()) -> System:
    """That model, compiled."""
    return remove_rules(compile_model(load_model(target(name)), variants=variants), without)


def pinned(entry: dict[str, Any]) -> System:
    """The system of a pinned configuration."""
    return model(entry["model"], *entry.get("without", ()), variants=tuple(entry.get("variants", ())))


def counterexample(entry: dict[str, Any]) -> Trace:
    """The counterexample of a pinned configuration."""
    return _counterexample(PINNED.index(entry))


@cache
def _counterexample(index: int) -> Trace:
    return found(pinned(PINNED[index]), name=PINNED[index]["model"])


def found(system: System, *properties: str, name: str = "table") -> Trace:
    """The run to the first violation in scope tiny; ``name`` is the model's name."""
    (trace,) = search(system, system.scopes["tiny"], properties=properties or None, target=target(name)).findings
    return trace
