"""Write a trace as ITF (Informal Trace Format), which Apalache, Quint and itf-py read.

Every integer is a ``#bigint``, a map is a list of pairs, a relation is the set of its tuples, an element is a string
such as ``n1_OF_NODE``. The action and its arguments stand in the variables ``mbt::actionTaken`` and
``mbt::nondetPicks``, and again in each state's ``#meta``: some readers look in one place, some in the other. Constants
that the scope gives are the trace's parameters. The file holds no time and no machine name: equal traces give equal
bytes.

An Optional can be written in two ways. Every reader takes a set of at most one element. Quint writes a variant
(``Some`` of the value, ``None`` of the empty tuple); itf-py 0.5 cannot read it, because it turns the tag into the name
of a Python class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from holdfast.ir.errors import UsageError
from holdfast.ir.types import (
    BoolType,
    Choice,
    EnumType,
    IntType,
    Key,
    MapType,
    NatType,
    OptionalType,
    Scalar,
    SortType,
)
from holdfast.lower.layout import Cell, Value
from holdfast.lower.map_text import cells_in
from holdfast.trace.line import replay_command
from holdfast.trace.text import count
from holdfast.trace.trace import Step, Trace

Optionals = Literal["set", "variant"]

ACTION = "mbt::actionTaken"
PICKS = "mbt::nondetPicks"


def write_itf(trace: Trace, path: Path, *, optionals: Optionals = "set") -> None:
    """Write the trace to ``path``; raises UsageError if that fails."""
    try:
        path.write_text(itf_text(trace, optionals=optionals), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; choose another file") from error


def itf_text(trace: Trace, *, optionals: Optionals = "set") -> str:
    """The text of the ITF file."""
    return json.dumps(itf_object(trace, optionals=optionals), indent=1) + "\n"


def itf_object(trace: Trace, *, optionals: Optionals = "set") -> dict[str, Any]:
    """The trace as the JSON object of an ITF file; a foreign run is returned as it was read."""
    if trace.foreign is not None:
        return foreign_object(trace, trace.foreign)
    return _Writer(trace, optionals).trace_object()


def foreign_object(trace: Trace, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The object of the file that a foreign run was read from; for a run from TLC, the object that ITF would have."""
    loop = {} if trace.loop is None else {"loop": trace.loop}
    return dict(trace.heading or {}) | {"states": [dict(state) for state in states]} | loop


class _Writer:
    def __init__(self, trace: Trace, optionals: Optionals) -> None:
        self.trace = trace
        self.optionals = optionals
        self.picks = _pick_names(trace)
        self.states = [step for step in trace.steps if step.refused is None]

    def trace_object(self) -> dict[str, Any]:
        constants = _fields(cell for cell, _ in self.trace.constants)
        variables = _fields(cell for cell in self.trace.cells if not cell.field.hidden)
        types = {name: self.field_type(cells[0]) for name, cells in (constants | variables).items()}
        return {
            "#meta": self.meta(types | {ACTION: "Str", PICKS: self.picks_type()}),
            "params": list(constants),
            "vars": [*variables, ACTION, PICKS],
            "states": [self.state(index, step) for index, step in enumerate(self.states)],
        } | ({} if self.trace.loop is None else {"loop": self.trace.loop})

    def meta(self, types: dict[str, str]) -> dict[str, Any]:
        trace, claim = self.trace, self.trace.claim
        refused = next((step.refused for step in trace.steps if step.refused is not None), None)
        again = f"; {trace.steps[-1].action} again, with equal arguments, is refused by {refused}" if refused else ""
        return {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "varTypes": types,
            "source": trace.target,
            "status": "ok" if claim is None or claim.kind == "witness" else "violation",
            "description": f"{self.described()}{again}",
            "model": trace.model,
            "scope": trace.scope,
            "variants": list(trace.variants),
            "without": list(trace.removed),
            "seed": trace.seed,
            "options": None if trace.options is None else list(trace.options),
            "fingerprint": trace.fingerprint,
            "claim": None if claim is None else claim.name,
            "command": trace.command,
            "replay": replay_command(trace),
        }

    def described(self) -> str:
        """A sentence for a reader who opens the file without the model."""
        claim, run = self.trace.claim, f"a run of {count(self.trace.length, 'step')}"
        command = f"{self.trace.command}: " if self.trace.command is not None else ""
        if claim is None:
            return f"{command}{run}"
        return f"{command}{run} that {'reaches' if claim.kind == 'witness' else 'violates'} {claim.title}"

    def state(self, index: int, step: Step) -> dict[str, Any]:
        values = dict(zip((cell.name for cell in self.trace.cells), step.values, strict=True))
        shown = _fields(cell for cell in self.trace.cells if not cell.field.hidden)
        meta: dict[str, Any] = {"index": index, "action": step.action, "args": self.args(step)}
        state: dict[str, Any] = {"#meta": meta | ({"repeat": True} if step.repeat else {})}
        if index == 0:
            given = {cell.name: value for cell, value in self.trace.constants}
            for name, cells in _fields(cell for cell, _ in self.trace.constants).items():
                state[name] = self.field(cells, [given[cell.name] for cell in cells])
        for name, cells in shown.items():
            state[name] = self.field(cells, [values[cell.name] for cell in cells])
        return state | {ACTION: step.action, PICKS: self.picked(step)}

    # Values ---------------------------------------------------------------------------------------------------

    def field(self, cells: list[Cell], values: list[Value]) -> Any:
        """A variable: a scalar, a relation as the set of its tuples, or a map.

        ``cells`` are all cells of one field, in the order of their keys; ``values`` are their values.
        """
        field = cells[0].field
        if not field.keys:
            return self.scalar(field.type, values[0])
        return self.table(field.keys, field.type, zip([cell.keys for cell in cells], values, strict=True))

    def table(self, kinds: Sequence[Key], kind: Scalar, cells: Iterable[tuple[tuple[Value, ...], Value]]) -> Any:
        """A relation as the set of its tuples, or a map. ``cells``: the keys and the value of each."""
        keyed = [
            (_tuple([self.scalar(*part) for part in zip(kinds, keys, strict=True)]), value) for keys, value in cells
        ]
        if isinstance(kind, BoolType):
            return {"#set": [key for key, member in keyed if member]}
        return {"#map": [[key, self.scalar(kind, value)] for key, value in keyed]}

    def choice(self, kind: Choice, value: Value) -> Any:
        """The value of a parameter."""
        if not isinstance(kind, MapType):
            return self.scalar(kind, value)
        return self.table(kind.keys, kind.value, cells_in(kind, str(value)))

    def scalar(self, kind: Scalar, value: Value) -> Any:
        match kind:
            case OptionalType(of):
                return self.option(None if value is None else self.scalar(of, value))
            case SortType(name):
                return f"{value}_OF_{_upper(name)}"
            case NatType() | IntType():
                return {"#bigint": str(value)}
            case BoolType() | EnumType():
                return value

    def option(self, value: Any) -> Any:
        """An Optional: ``value`` is None or a value in the encoding of ITF."""
        if self.optionals == "set":
            return {"#set": [] if value is None else [value]}
        return {"tag": "None", "value": {"#tup": []}} if value is None else {"tag": "Some", "value": value}

    def args(self, step: Step) -> dict[str, Any]:
        params = next((sig.params for sig in self.trace.signatures if sig.action == step.action), ())
        kinds = {param.name: param.type for param in params}
        return {name: self.choice(kinds[name], value) for name, value in step.args}

    def picked(self, step: Step) -> dict[str, Any]:
        """Every parameter of every action, None where this step's action has no such parameter."""
        args = self.args(step)
        mine = {pick: args[param] for (action, param), (pick, _) in self.picks.items() if action == step.action}
        return {pick: self.option(mine.get(pick)) for pick, _ in self.picks.values()}

    # Types ----------------------------------------------------------------------------------------------------

    def field_type(self, cell: Cell) -> str:
        field = cell.field
        return self.table_type(field.keys, field.type) if field.keys else self.scalar_type(field.type)

    def table_type(self, kinds: Sequence[Key], kind: Scalar) -> str:
        keys = [self.scalar_type(key) for key in kinds]
        key = keys[0] if len(keys) == 1 else f"<<{', '.join(keys)}>>"
        return f"Set({key})" if isinstance(kind, BoolType) else f"{key} -> {self.scalar_type(kind)}"

    def choice_type(self, kind: Choice) -> str:
        return self.table_type(kind.keys, kind.value) if isinstance(kind, MapType) else self.scalar_type(kind)

    def scalar_type(self, kind: Scalar) -> str:
        match kind:
            case OptionalType(of):
                return self.option_type(self.scalar_type(of))
            case SortType(name):
                return _upper(name)
            case NatType() | IntType():
                return "Int"
            case BoolType():
                return "Bool"
            case EnumType():
                return "Str"

    def option_type(self, of: str) -> str:
        return f"Set({of})" if self.optionals == "set" else f"Some({of}) | None(UNIT)"

    def picks_type(self) -> str:
        fields = {pick: self.option_type(self.choice_type(kind)) for pick, kind in self.picks.values()}
        return f"{{ {', '.join(f'{pick}: {kind}' for pick, kind in fields.items())} }}" if fields else "{}"


def _tuple(parts: list[Any]) -> Any:
    """A key: a key of one part is that part, without a tuple around it."""
    return parts[0] if len(parts) == 1 else {"#tup": parts}


def _upper(name: str) -> str:
    """The name of a sort as an uninterpreted type: ``LogStream`` is ``LOG_STREAM``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def _fields(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells grouped by variable, in their order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.field.name, []).append(cell)
    return found


def _pick_names(trace: Trace) -> dict[tuple[str, str], tuple[str, Choice]]:
    """For each action and parameter: its field in the record of picks, and its type.

    Parameters of one name and type share a field. Parameters of one name and different types get the action's name in
    front of theirs.
    """
    params = [(signature.action, param) for signature in trace.signatures for param in signature.params]
    kinds: dict[str, set[str]] = {}
    for _, param in params:
        kinds.setdefault(param.name, set()).add(str(param.type))
    return {
        (action, param.name): (param.name if len(kinds[param.name]) == 1 else f"{action}_{param.name}", param.type)
        for action, param in params
    }
