"""Read a run from ITF (Informal Trace Format), as Apalache, Quint, itf-py and Holdfast write it.

The action and its arguments may stand in the variables ``mbt::actionTaken`` and ``mbt::nondetPicks``, in each state's
``#meta``, or in both. If they stand in both, they must agree.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.ir.errors import UsageError
from holdfast.ir.printable import one_line, printable
from holdfast.trace.foreign import ForeignRun, ForeignState
from holdfast.trace.itf import ACTION, PICKS
from holdfast.trace.itf_values import Rec, SetOf, Tree, Variant, decode, excerpt, key, show, whole

REMEDY = "give an ITF file as its tool wrote it"
"""The remedy for a file that is not as ITF says."""

_TAGGED_RECORD = re.compile(r"[{,]\s*tag\s*:")
"""Finds a record with a field ``tag`` in the types of Apalache and Quint. A variant has the type ``Some(Int) |
None(UNIT)`` there, without ``tag``."""


def itf_run(data: Mapping[str, Any], path: Path) -> ForeignRun:
    """The run in the object of an ITF file. Raises UsageError with file and place if the object contains no run."""
    try:
        return _Reading(data, path).run()
    except _WrongError as error:
        raise UsageError(f"{path}: {error}; {REMEDY}") from None


class _WrongError(Exception):
    """The error in the file and its place; ``itf_run`` adds the file's name."""


class _Reading:
    def __init__(self, data: Mapping[str, Any], path: Path) -> None:
        self.path = path
        self.heading = {name: part for name, part in data.items() if name not in ("states", "loop")}
        self.meta = self._heading_object("#meta")
        self.params = self._names("params")
        self.vars = self._names("vars")
        types = self.meta.get("varTypes")
        self.types: Mapping[str, Any] = types if isinstance(types, dict) else {}
        self.states = data.get("states")
        self.loop = data.get("loop")

    def run(self) -> ForeignRun:
        if not isinstance(self.states, list) or not self.states:
            raise _WrongError("states is no list of states, or an empty one")
        loop = self.loop
        if loop is not None and (
            not isinstance(loop, int) or isinstance(loop, bool) or not 0 <= loop < len(self.states)
        ):
            raise _WrongError(f"loop is {_named(loop)}, and not the index of a state, 0 to {len(self.states) - 1}")
        states = tuple(self._state(index, state) for index, state in enumerate(self.states))
        return ForeignRun(self.path, self._model(), self.heading, states, loop)

    def _model(self) -> str:
        """The model's name: from the file's ``#meta`` if it gives one, or else the file's own name."""
        for name in ("model", "source"):
            said = self.meta.get(name)
            if isinstance(said, str) and said:
                return said if name == "model" else Path(said).stem
        return self.path.name.removesuffix(".json").removesuffix(".itf")

    def _heading_object(self, name: str) -> Mapping[str, Any]:
        found = self.heading.get(name, {})
        if not isinstance(found, dict):
            raise _WrongError(f"{name} is no object")
        return found

    def _names(self, name: str) -> list[str]:
        found = self.heading.get(name, [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise _WrongError(f"{name} is no list of names")
        return found

    # States -----------------------------------------------------------------------------------------------------

    def _state(self, index: int, state: Any) -> ForeignState:
        if not isinstance(state, dict):
            raise _WrongError(f"state {index} is no object")
        wanted = [*self.vars, *(self.params if index == 0 else [])]
        missing = [name for name in wanted if name not in state]
        if missing:
            raise _WrongError(f"state {index} has no value of {', '.join(missing)}")
        unknown = [name for name in state if name != "#meta" and name not in self.vars and name not in self.params]
        if unknown:
            raise _WrongError(f"state {index} gives {', '.join(unknown)}, which neither vars nor params names")
        meta = state.get("#meta", {})
        if not isinstance(meta, dict):
            raise _WrongError(f"state {index}: #meta is no object")
        values = {name: self._value(index, name, value) for name, value in state.items() if name != "#meta"}
        action = self._action(index, values.pop(ACTION, None), meta.get("action"))
        args = self._args(index, action, values.pop(PICKS, None), meta.get("args"))
        return ForeignState(values, state, action, args, repeat=meta.get("repeat") is True)

    def _value(self, index: int, name: str, value: Any) -> Tree:
        kind = self.types.get(name)
        records = isinstance(kind, str) and _TAGGED_RECORD.search(kind) is not None
        try:
            return decode(value, records=records)
        except UsageError as error:
            raise _WrongError(f"state {index}: {name}: {error}") from None

    def _action(self, index: int, taken: Tree | None, said: Any) -> str | None:
        """The action's name, or None. Quint leaves the name empty for a step that takes no named action."""
        in_meta = said if isinstance(said, str) and said else None
        in_variable = taken if isinstance(taken, str) and taken else None
        if in_meta is not None and in_variable is not None and in_meta != in_variable:
            raise _WrongError(f"state {index}: its #meta names the action {in_meta}, and {ACTION} {in_variable}")
        return in_meta or in_variable

    def _args(self, index: int, action: str | None, picks: Tree | None, said: Any) -> tuple[tuple[str, Tree], ...]:
        picked = {} if not isinstance(picks, Rec) else _picked(picks)
        if not isinstance(said, dict):
            return tuple((name, value) for name, value in picked.items() if value is not None)
        args = {name: self._value(index, f"the argument {name}", value) for name, value in said.items()}
        for name, value in args.items():
            # The picks may store it as ACTION_NAME: a parameter name that has several types gets that prefix.
            other = picked.get(name, picked.get(f"{action}_{name}"))
            if other is not None and key(other) != key(value):
                raise _WrongError(f"state {index}: its #meta has {name} = {show(value)}, and {PICKS} {show(other)}")
        return tuple(args.items())


def _picked(picks: Rec) -> dict[str, Tree | None]:
    """The picks without their wrapping as Optionals, which are variants or sets of at most one element."""
    found: dict[str, Tree | None] = {}
    for name, value in picks.fields:
        match value:
            case Variant("Some", of) | SetOf((of,)):
                found[name] = of
            case Variant("None", _) | SetOf(()):
                found[name] = None
            case _:
                found[name] = value
    return found


def _one_line(value: Any) -> Any:
    """The JSON value with printable texts of one line."""
    match value:
        case str():
            return one_line(value)
        case list():
            return [_one_line(each) for each in value]
        case dict():
            return {one_line(name): _one_line(each) for name, each in value.items()}
    return value


def _named(loop: Any) -> str:
    """The loop of a file in a message. Python prints no number of more than 4,300 digits."""
    return excerpt(loop) if type(loop) is int else repr(loop)


def read_json(text: str, path: Path) -> Any:
    """The JSON value of a text. Each text in it is made printable, on one line.

    Raises UsageError, with line and column, if the text is no JSON.
    """
    collecting = gc.isenabled()
    # With garbage collection on, most of the time goes into scans of millions of new objects that are all in use.
    gc.disable()
    try:
        value = json.loads(text, parse_int=whole)
        # Only an escape, or a character that is not shown, makes a name of the file more than a part of a line.
        return _one_line(value) if "\\" in text or printable(text) != text else value
    except json.JSONDecodeError as error:
        early = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        problem = (
            f"{error.msg} (the file ends too early); was it truncated?" if early else f"{error.msg}; mend it there"
        )
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is no JSON: {problem}") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}; {REMEDY}") from None
    except RecursionError:
        raise UsageError(f"{path}: its JSON nests too deeply to be a run; {REMEDY}") from None
    finally:
        if collecting:
            gc.enable()
