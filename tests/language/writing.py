"""Writing a small model, compiling it, and running it on both executors."""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterator
from pathlib import Path

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Action, Property, System
from holdfast.lower.outcome import Taken
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Args, Interpreter
from tests.lower.packed import packed

HEADER = (
    "from __future__ import annotations; from enum import Enum; from typing import Self; "
    "from holdfast.lang import *; from tests.language.toy import *"
)
"""The first line of every model text here. A model's own text begins at line 2."""


def load(folder: Path, source: str) -> type:
    """The model that the source defines, written to ``model.py`` in the folder."""
    path = folder / "model.py"
    assert not path.exists(), "a file is imported once: write another model to another folder"
    path.write_text(f"{HEADER}\n{textwrap.dedent(source).lstrip()}")
    return load_model(str(path))


def compiled(folder: Path, source: str, *variants: str, without: tuple[str, ...] = ()) -> System:
    """The system of the model that the source defines."""
    return remove_rules(compile_model(load(folder, source), variants=variants), without)


def disagreement(system: System, scope: str = "tiny", states: int = 60) -> str | None:
    """The first difference between the compiled system and CPython, or None: on N reachable and N random states."""
    interpreter, cpython = Interpreter(system, system.scopes[scope]), CPython(system, system.scopes[scope])
    if interpreter.initial() != cpython.initial():
        return "initial states"
    for state in _some_states(interpreter, states):
        for action in system.actions:
            for args in _arguments(interpreter, action):
                one, two = interpreter.step(state, action.name, args), cpython.step(state, action.name, args)
                if one != two:
                    return f"{action.name}{args} of {interpreter.layout.decode(state)}: compiled {one}, run {two}"
                for prop in system.of_kind("step"):
                    if isinstance(one, Taken) and prop.of in (None, action.name):
                        claim = prop, state, one.state, args
                        if interpreter.holds_step(*claim) != cpython.holds_step(*claim):
                            return f"{prop.name} after {action.name}{args} of {interpreter.layout.decode(state)}"
        for prop in system.properties:
            for args in _arguments(interpreter, prop) if prop.kind != "step" else ():
                if interpreter.holds(prop, state, args) != cpython.holds(prop, state, args) or (
                    prop.goal is not None and interpreter.goal(prop, state, args) != cpython.goal(prop, state, args)
                ):
                    return f"{prop.name}{args} in {interpreter.layout.decode(state)}"
    return None


def _some_states(interpreter: Interpreter, most: int) -> Iterator[bytes]:
    """Reachable states, nearest first, then random ones."""
    seen = dict.fromkeys(interpreter.initial())
    waiting = list(seen)
    for state in waiting:
        if len(waiting) >= most:
            break
        for successors in interpreter.successors:
            for after, _ in successors(state):
                if after not in seen:
                    seen[after] = None
                    waiting.append(after)
    yield from waiting[:most]
    chance = random.Random(most)
    for _ in range(most):
        codes = bytearray(chance.randrange(cell.field.codes) for cell in interpreter.layout.cells)
        yield packed(interpreter.system, interpreter.layout, codes)


def _arguments(interpreter: Interpreter, of: Action | Property) -> Iterator[Args]:
    return itertools.product(*(range(interpreter.layout.codes(param.type)) for param in of.params))


def idle_actions(system: System, scope: str = "tiny", states: int = 60) -> list[str]:
    """The actions that change none of the states that ``disagreement`` looks at."""
    interpreter = Interpreter(system, system.scopes[scope])
    looked_at = list(_some_states(interpreter, states))
    return [
        action.name
        for action, successors in zip(system.actions, interpreter.successors, strict=True)
        if all(after == state for state in looked_at for after, _ in successors(state))
    ]


def errors_of(folder: Path, source: str) -> list[str]:
    """The text of each error for which the model is refused."""
    try:
        compiled(folder, source)
    except ModelError as refused:
        return [str(error) for error in refused.errors]
    return []
