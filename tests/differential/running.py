"""Load a generated model: write it to a file, import it, and forget it again."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from holdfast.ir.compile import source as sources
from holdfast.ir.load import load_model
from holdfast.ir.system import Action, Property, System
from holdfast.lower.layout import Layout
from holdfast.lower.python.interpreter import Args, Interpreter
from tests.lower.packed import packed


@contextmanager
def loaded(source: str) -> Iterator[type]:
    """The model's class; afterwards no trace of its module is left."""
    before = list(sys.path)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "generated.py"
        path.write_text(source, encoding="utf-8")
        try:
            yield load_model(str(path))
        finally:
            sys.path[:] = before
            sys.modules.pop("_model_generated", None)
            sources._tree.cache_clear()


def reduced(source: str, fails: Callable[[str], bool]) -> str:
    """Remove lines, each with its indented block, as long as the source still fails; returns the rest."""
    lines, position = source.splitlines(), 0
    while position < len(lines):
        depth = len(lines[position]) - len(lines[position].lstrip())
        end = position + 1
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > depth:
            end += 1
        fewer = [*lines[:position], *lines[end:]]
        if fails("\n".join(fewer) + "\n"):
            lines = fewer
        else:
            position += 1
    return "\n".join(lines) + "\n"


def arguments(layout: Layout, of: Action | Property) -> Iterator[Args]:
    """All arguments of an action or a property."""
    return itertools.product(*(range(layout.codes(param.type)) for param in of.params))


def any_state(interpreter: Interpreter, chance: random.Random) -> bytes:
    """Any state of a layout, except for sequences that no operation leaves."""
    codes = (chance.randrange(cell.field.codes) for cell in interpreter.layout.cells)
    return packed(interpreter.system, interpreter.layout, codes)


def rules_of(system: System) -> list[str]:
    """The removable rules of a system: every rule, and every rule in each action that it serves."""
    return [text for rule in system.rules for text in (rule.label, *(f"{rule.label}@{act}" for act in rule.actions))]


def sample(options: Sequence[str], most: int, chance: random.Random) -> tuple[str, ...]:
    """Up to N of the options, in their order."""
    chosen = {chance.randrange(len(options)) for _ in range(chance.randrange(most + 1))} if options else set()
    return tuple(option for place, option in enumerate(options) if place in chosen)
