"""Models whose runs are taken again, and the counterexamples that are pinned for the repository's own."""

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

PINNED: list[dict[str, Any]] = [
    entry
    for entry in json.loads((Path(__file__).parents[2] / "models" / "manifest.json").read_text())
    if entry["scope"] == "tiny" and entry["verdict"] == "violated" and entry.get("engine", "check") == "check"
]
"""Every configuration of which it is pinned that a search at tiny finds a violation."""


def title(entry: dict[str, Any]) -> str:
    """A short name of a pinned configuration."""
    return " ".join((entry["model"], *entry.get("variants", ()), *entry.get("without", ())))


def target(name: str) -> str:
    """A model of the tests, or one of the repository, as the command line names it."""
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
    """Its run."""
    return _counterexample(PINNED.index(entry))


@cache
def _counterexample(index: int) -> Trace:
    return found(pinned(PINNED[index]), name=PINNED[index]["model"])


def found(system: System, *properties: str, name: str = "table") -> Trace:
    """The run to the first violation in the tiny scope; ``name`` is that of the model."""
    (trace,) = search(system, system.scopes["tiny"], properties=properties or None, target=target(name)).findings
    return trace
