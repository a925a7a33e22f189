"""Read the parts of a mapping file that describe an event: expressions, arguments and cells."""

from __future__ import annotations

import yaml

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.mappings.mapping_event import Cells, Kind
from holdfast.check.conform.mappings.mapping_expressions import MappingExpression, Tables, constant, list_of, parse
from holdfast.check.conform.mappings.yaml_nodes import Pairs, is_null, kind, pairs, place, text_of

KIND_KEYS = ("action", "span", "pre", "post", "note")
"""The keys of a kind of line that are not arguments."""


def read_expression(node: yaml.Node, what: str, tables: Tables) -> MappingExpression:
    """The expression of a node: a scalar, or a list of expressions. A scalar in single quotes is a text."""
    at = place(node)
    if isinstance(node, yaml.SequenceNode):
        return list_of([read_expression(each, what, tables) for each in node.value], at)
    if isinstance(node, yaml.ScalarNode) and node.style == "'":
        return constant(str(node.value), at)
    if not isinstance(node, yaml.ScalarNode) or is_null(node) or node.style in ("|", ">"):
        found = "a block of text" if isinstance(node, yaml.ScalarNode) and node.style else kind(node)
        damaged(at, f"{what} is {found}", "it is an expression, such as a field's name, or a list of them")
    return parse(node.value, at, tables)


def read_kind(name: str, key: yaml.Node, given: Pairs, tables: Tables) -> Kind:
    """The kind that ``given`` describes: its action, its arguments and its cells. ``key``: the node with its name."""
    if "action" not in given:
        near = nearest("action", given)
        damaged(place(key), f"{name} has no action", f"name the action of the model{f'; {near}' if given else ''}")
    for argument, (each, _) in given.items():
        if not argument.isidentifier():
            damaged(place(each), f"{shown(argument)} is no name of a parameter", nearest(argument, KIND_KEYS))
    action = text_of(given["action"][1], "action")
    if not action.isidentifier():
        damaged(place(given["action"][1]), f"{shown(action)} is no name of an action", "give the action alone")
    args = {each: value for each, (_, value) in given.items() if each not in KIND_KEYS}
    return Kind(
        name=name,
        at=place(key),
        action=action,
        args={each: read_expression(value, f"{each} of {name}", tables) for each, value in args.items()},
        places={"action": place(given["action"][1]), **{each: place(given[each][0]) for each in args}},
        span=read_expression(given["span"][1], f"span of {name}", tables) if "span" in given else None,
        pre=read_cells(given["pre"][1], f"pre of {name}", tables) if "pre" in given else (),
        post=read_cells(given["post"][1], f"post of {name}", tables) if "post" in given else (),
        note=text_of(given["note"][1], f"note of {name}") if "note" in given else None,
    )


def read_cells(node: yaml.Node, what: str, tables: Tables) -> Cells:
    """The cells of ``pre`` or ``post``: first by field of the model, then by keys."""
    cells = []
    for name, (key, value) in pairs(node, what).items():
        if not name.isidentifier():
            damaged(place(key), f"{shown(name)} is no name of a field", "pre and post name fields of the model")
        cells.append((name, _inner(value, f"{what}, {name}", tables)))
    return tuple(cells)


def _inner(node: yaml.Node, what: str, tables: Tables) -> MappingExpression | Cells:
    if not isinstance(node, yaml.MappingNode):
        return read_expression(node, what, tables)
    if not node.value:
        damaged(place(node), f"{what} is an empty map", "give the cells of the field, by their keys")
    cells = []
    seen = set()
    for key, value in node.value:
        of = read_expression(key, f"a key of {what}", tables)
        if of.text in seen:
            damaged(place(key), f"{what} has the key {shown(of.text)} twice", "write it once")
        seen.add(of.text)
        cells.append((of, _inner(value, what, tables)))
    return tuple(cells)
