"""The meaning of a kind of line, or of an operation: an action with arguments, and cells before and after it."""

from __future__ import annotations

import json
from collections.abc import Mapping as Map

import attrs

from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import Json
from holdfast.check.conform.mappings.mapping_expressions import AbsentError, MappingExpression
from holdfast.ir.errors import Place

Cells = tuple[tuple["str | MappingExpression", "MappingExpression | Cells"], ...]
"""Cells of ``pre`` or ``post``: names of fields, with nested keys. Each key is an expression."""


@attrs.frozen
class Kind:
    """The meaning of a kind of line, or of an operation: an action, with an expression for each argument.

    ``places``: where the mapping names the action (``action``) and each argument, for errors about the model.
    ``note``: the reason why model and code differ here.
    """

    name: str
    at: Place
    action: str
    args: Map[str, MappingExpression]
    places: Map[str, Place]
    span: MappingExpression | None = None
    pre: Cells = ()
    post: Cells = ()
    note: str | None = None

    def arguments(self, raw: Json, at: Place) -> dict[str, Json]:
        """The arguments that a line gives, by name. An argument that the line lacks is left out."""
        args: dict[str, Json] = {}
        for name, expression in self.args.items():
            try:
                args[name] = expression.of(raw, at)
            except AbsentError:
                continue
        return args


def cells_of(cells: Cells, raw: Json, at: Place) -> Map[str, Json]:
    """The cells of a line. A cell with an unknown key or value is left out."""
    found: dict[str, Json] = {}
    for key, inner in cells:
        try:
            name = key if isinstance(key, str) else _key(key.of(raw, at))
            if name in found:
                damaged(at, f"the mapping gives the cell {shown(name)} twice", "give each cell once")
            found[name] = cells_of(inner, raw, at) if isinstance(inner, tuple) else inner.of(raw, at)
        except AbsentError:
            continue
    return found


def _key(value: Json) -> str:
    """A key as a text, like in Holdfast's own format. An element that is a list, such as a process, becomes JSON."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
