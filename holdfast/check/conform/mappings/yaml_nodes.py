"""YAML nodes with their places. A scalar stays text here: the part of the mapping that reads it decides its type.

A mapping file needs only a small part of YAML. Anchors, aliases, tags and merge keys are refused, and a number is an
integer in decimal digits. YAML 1.1 and 1.2 agree on the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.input_file import open_input

LARGEST = 1 << 20
"""The limit of bytes in a mapping file."""

DEEPEST = 32
"""The limit of nested maps and lists."""

Pairs = dict[str, tuple[yaml.Node, yaml.Node]]
"""The entries of a map: by key, the node of the key and the node of the value."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NULLS = ("", "~", "null", "Null", "NULL")


def read_text(path: Path) -> str:
    """The text of a mapping file; raises UsageError if it cannot be read, is too large, or is not UTF-8."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a mapping file in it")
    try:
        with open_input(path) as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: cannot be read: {reason}; a mapping is a YAML file") from None
    if len(data) > LARGEST:
        damaged(Place(str(path), 1), "the file has more than 1 MiB", "check that it is a mapping")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = Place(str(path), data.count(b"\n", 0, error.start) + 1)
        damaged(at, "the file is not UTF-8", "write the mapping in UTF-8")


def root(text: str, file: str) -> yaml.Node:
    """The root node of the file's only document; raises UsageError for no document, and for forbidden parts of YAML."""
    try:
        # Check the events first: they show anchors and depth, which the loader would resolve or recurse into.
        _check_events(text, file)
        loader = yaml.SafeLoader(text)
        loader.name = file
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Place(file, mark.line + 1 if mark else 1)
        quotes = any(sign in _line(text, at) for sign in "[?")
        remedy = "within {} and [], put an expression with [ or ? into double quotes" if quotes else "mend the line"
        damaged(at, f"the file is no YAML: {error.problem or error.context}", remedy)
    except yaml.reader.ReaderError as error:
        at = Place(file, text.count("\n", 0, error.position) + 1)
        damaged(at, f"the character {chr(error.character)!a} may not stand in YAML", "delete it")
    if node is None or is_null(node):
        damaged(Place(file, 1), "the mapping is empty", "it needs source and events")
    return node


def _check_events(text: str, file: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        at = Place(file, event.start_mark.line + 1 if event.start_mark else 1)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            damaged(at, "a second document begins", "a mapping file holds one mapping")
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor:
            damaged(at, f"{anchor} is an anchor or alias of YAML", "write the text out")
        if tag:
            damaged(at, f"{tag.replace('tag:yaml.org,2002:', '!!')} is a tag of YAML", "leave it out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            damaged(at, "the mapping is nested too deeply", f"it has at most {DEEPEST} levels")


def _line(text: str, at: Place) -> str:
    lines = text.splitlines()
    return lines[at.line - 1] if at.line <= len(lines) else ""


def place(node: yaml.Node) -> Place:
    """The place of a node."""
    return Place(node.start_mark.name, node.start_mark.line + 1, node.start_mark.column + 1)


def kind(node: yaml.Node) -> str:
    """The node in words, for an error message."""
    if isinstance(node, yaml.MappingNode):
        return "a map"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "nothing" if is_null(node) else shown(node.value)


def is_null(node: yaml.Node) -> bool:
    """Whether a node is null or empty."""
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in _NULLS


def text_of(node: yaml.Node, what: str) -> str:
    """The text of a scalar that is not empty. ``what``: the part of the mapping, for the error."""
    if not isinstance(node, yaml.ScalarNode) or is_null(node) or not node.value:
        damaged(place(node), f"{what} is {kind(node)}", "it is a text")
    return str(node.value)


def integer(node: yaml.Node, what: str) -> int:
    """The natural number in a scalar, with or without quotes."""
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if not _INTEGER.fullmatch(text) or not 0 <= (value := int(text[:20])) < 2**63:
        damaged(place(node), f"{what} is {kind(node)}", "it is an integer from 0, in decimal digits")
    return value


def items(node: yaml.Node, what: str) -> list[yaml.Node]:
    """The elements of a list."""
    if not isinstance(node, yaml.SequenceNode):
        damaged(place(node), f"{what} is {kind(node)}", "it is a list")
    return list(node.value)


def texts(node: yaml.Node, what: str) -> dict[str, Place]:
    """The texts of a list with their places; raises UsageError for a text that occurs twice."""
    found: dict[str, Place] = {}
    for each in items(node, what):
        text = text_of(each, f"an element of {what}")
        if text in found:
            damaged(place(each), f"{what} has {shown(text)} twice", "write it once")
        found[text] = place(each)
    return found


def pairs(node: yaml.Node, what: str, known: Iterable[str] | None = None) -> Pairs:
    """The entries of a map; raises UsageError for a key that occurs twice. ``known``: the allowed keys; None: any."""
    if not isinstance(node, yaml.MappingNode):
        damaged(place(node), f"{what} is {kind(node)}", "it is a map")
    found: Pairs = {}
    for key, value in node.value:
        name = text_of(key, f"a key of {what}")
        if name == "<<" and not key.style:
            damaged(place(key), "<< merges maps", "write the entries out")
        if name in found:
            damaged(place(key), f"{what} has {shown(name)} twice", "write it once")
        if known is not None and name not in known:
            damaged(place(key), f"{what} has the unknown key {shown(name)}", nearest(name, known))
        found[name] = (key, value)
    return found


def constant(node: yaml.Node, what: str) -> bool | int | str:
    """The JSON value of a scalar: true, false, an integer, or else a text. A scalar in quotes is a text."""
    text = text_of(node, what)
    if isinstance(node, yaml.ScalarNode) and node.style:
        return text
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _INTEGER.fullmatch(text) and len(text) <= 20 else text
