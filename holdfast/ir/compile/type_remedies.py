"""What to write instead of a type outside the language: a container of Python, a text, a class of several values.

Each remedy is an annotation that compiles, once the types that it names are declared.
"""

from __future__ import annotations

import ast
import collections
import collections.abc
import inspect
import types
import typing

from holdfast.ir.marks import MARK

Advice = tuple[str, str]
"""A problem and its remedy."""

SCALAR = "use bool, an Enum, a Sort, Nat or Int, or one of them `| None`"

SEQUENCES = (list, collections.deque, collections.abc.Sequence, collections.abc.MutableSequence)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
MAPPINGS = (dict, collections.defaultdict, collections.abc.Mapping, collections.abc.MutableMapping)

PARTS = 2
"""The number of parts of a class that a remedy shows as fields."""


def of_container(node: ast.Subscript, origin: object, role: object) -> Advice:
    """The advice for ``origin[...]`` where a scalar is needed. ``role``: "map" or "rel" for the language's own."""
    kind = getattr(origin, "__origin__", origin)  # ``typing.List`` stands for ``list``
    parts = [ast.unparse(part) for part in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    if role in ("map", "rel"):
        return (
            "a Map or Rel is a whole field",
            "declare a field of this type; all else holds one value",
        )
    if role == "seq":
        problem = "a Seq is a whole field, or the value of a Map"
        return problem, "name the sequence itself: self.field, or self.field[key]"
    if kind in SEQUENCES or (kind is tuple and parts[1:] == ["..."]):
        return "a cell holds no sequence", _sequence(parts[0].removesuffix(" | None"))
    if kind is tuple:
        return "a cell holds no tuple", "write a field for each of its parts"
    if kind in SETS:
        return "a cell holds no set", f"write Rel[{parts[0]}]: True for each member"
    if kind in MAPPINGS and len(parts) == 2:
        return "a cell holds no mapping", f"write Map[{parts[0]}, {parts[1]}]"
    if origin is typing.Optional:
        return "this is not a type of the language", f"write `{parts[0]} | None`"
    return "a cell holds a scalar", SCALAR


def _sequence(element: str) -> str:
    return f"write Seq[{element}, Index] with class Index(Nat), or Rel[{element}] if no order matters"


def of_map_in_map(outer: str, node: ast.Subscript, role: object) -> Advice:
    """The advice for a Map, Rel, Bag or Pool as the value of a Map with the keys ``outer``: one with all keys."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if role == "rel" or len(parts) != 2:
        return "a Map holds scalars", f"write Rel[{', '.join([outer, *map(ast.unparse, parts)])}]"
    kind = ast.unparse(node.value)
    return "a Map holds scalars", f"write {kind}[tuple[{outer}, {keys_text(parts[0])}], {ast.unparse(parts[1])}]"


def keys_text(node: ast.expr) -> str:
    """The keys of a Map as its annotation lists them, without the ``tuple`` around several."""
    match node:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return ", ".join(map(ast.unparse, parts))
    return ast.unparse(node)


def of_class(cls: type) -> Advice:
    """The advice for a class that is no type of the language."""
    name = cls.__name__
    if cls in (list, tuple, *SEQUENCES):
        return f"a cell holds no {name}", _sequence("Node")
    if cls in SETS:
        return f"a cell holds no {name}", "write Rel[Node]: True for each member"
    if cls in MAPPINGS:
        return f"a cell holds no {name}", "write Map[Key, Value]"
    if cls in (str, bytes):
        return "text is outside the language", "declare an Enum of the values, or a Sort if it is only a name"
    if cls in (float, complex):
        return f"{name} is outside the language", "count in whole numbers: declare a Nat, or an Int with its bounds"
    fields = [each for each in inspect.get_annotations(cls) if not each.startswith("_")][:PARTS]
    shown = ", ".join(f"`{each}: Map[{name}, {_kind(cls, each)}]`" for each in fields) or f"`due: Map[{name}, Epoch]`"
    return (
        f"{name} is a class, and no type of the language",
        f"declare `class {name}(Sort)`, and a field for each part of it: {shown}",
    )


def _kind(cls: type, name: str) -> str:
    """The type of a part of a class, as its author wrote it."""
    kind = inspect.get_annotations(cls)[name]
    if isinstance(kind, str):
        return kind
    return str(kind) if isinstance(kind, types.UnionType | types.GenericAlias) else getattr(kind, "__name__", str(kind))


_HELD = {"seq": "sequence", "bag": "bag", "pool": "pool"}


def of_parameter(node: ast.Subscript, origin: object, what: str) -> Advice:
    """The advice for a parameter that is a container: ``origin[...]``. ``what``: the parameter in words."""
    role = getattr(origin, MARK, None)
    if role in _HELD:
        return f"{what} would hold a {_HELD[role]}", "take single values, a Rel or a Map"
    if "ghost" in getattr(origin, "__metadata__", ()):
        return f"{what} is no history", f"write {ast.unparse(node.slice)}"
    one = _one(node)
    return f"{what} would hold many values", f"write {one} for one value, or Rel[{one}] for a set of them"


def _one(node: ast.Subscript) -> str:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return keys_text(parts[0]).partition(",")[0]
