"""Reads YAML with line numbers. A scalar stays text here: the type that reads it decides its meaning.

YAML 1.1 and 1.2 disagree about ``on``, ``010`` and others. A type that expects text gets text, so the name of an error
or of a topic never becomes a number or a boolean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import yaml

from impl.scenario.composing import compose

Pairs = dict[str, tuple[yaml.Node, yaml.Node]]
"""The entries of a map: by key, the node of the key and the node of the value."""

TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
}
MERGE = "tag:yaml.org,2002:merge"
NULLS = ("", "~", "null", "Null", "NULL")
INTEGER = re.compile(r"[-+]?(0x[0-9a-fA-F]+|[0-9][0-9_]*)")
NUMBER = re.compile(r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


SCHEMA = "see `holdfast scenario schema`"
"""The remedy for a value of another type, or in another place, than the language has."""


class MalformedError(Exception):
    """A scenario file is outside the language. The text is ``FILE:LINE: problem; remedy``."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Let a problem with the value of an argument or of a result begin with its name."""
    try:
        yield
    except MalformedError as error:
        problem = error.problem
        raise MalformedError(error.file, error.line, f"{name}: {problem}") from None


def malformed(node: yaml.Node, problem: str, remedy: str | None = SCHEMA) -> NoReturn:
    """Raise MalformedError at a node. ``remedy``: None if the text of the problem ends with one."""
    text = problem if remedy is None else f"{problem}; {remedy}"
    raise MalformedError(node.start_mark.name, line_of(node), text)


def line_of(node: yaml.Node) -> int:
    """The line of a node, from 1."""
    return int(node.start_mark.line) + 1


def documents(text: str, file: str) -> list[yaml.Node]:
    """The documents of a file, without empty documents. Raises MalformedError for text that is no YAML."""
    try:
        return [node for node in compose(text, file) if not is_null(node)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"is no YAML: {error.problem or error}; mend it there"
        raise MalformedError(file, mark.line + 1 if mark else 1, problem) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character {error.character!r} may not stand in YAML; write it as an escape in quotes"
        raise MalformedError(file, line, problem) from error
    except RecursionError as error:
        raise MalformedError(file, 1, "nested too deeply; use fewer lists and maps within one another") from error


def is_null(node: yaml.Node) -> bool:
    """Whether a node is null, or absent."""
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in NULLS


def is_quoted(node: yaml.Node) -> bool:
    """Whether a scalar stands in quotes, or is a block of text."""
    return isinstance(node, yaml.ScalarNode) and bool(node.style)


def is_decimal(node: yaml.Node) -> bool:
    """Whether a node is a number with a fraction or an exponent, such as 1.0."""
    plain_number = isinstance(node, yaml.ScalarNode) and not node.style and NUMBER.fullmatch(node.value)
    return bool(plain_number) and not INTEGER.fullmatch(node.value)


def scalar(node: yaml.Node, wanted: str) -> str:
    """The text of a scalar. ``wanted``: the expected content, for the error message."""
    if not isinstance(node, yaml.ScalarNode):
        malformed(node, f"expected {wanted}, found {kind(node)}")
    _check_tag(node)
    return str(node.value)


def items(node: yaml.Node, wanted: str) -> list[yaml.Node]:
    """The elements of a list."""
    if not isinstance(node, yaml.SequenceNode):
        malformed(node, f"expected {wanted}, found {kind(node)}")
    _check_tag(node)
    return list(node.value)


def pairs(node: yaml.Node, wanted: str) -> Pairs:
    """The entries of a map, including those of merged maps (``<<``). Raises MalformedError for a repeated key."""
    if not isinstance(node, yaml.MappingNode):
        malformed(node, f"expected {wanted}, found {kind(node)}")
    _check_tag(node)
    found: Pairs = {}
    merged: Pairs = {}
    for key, value in node.value:
        if key.tag == MERGE:
            # As YAML demands: earlier merged maps win over later ones, and the map's own keys win over all of them.
            for each in items(value, "maps") if isinstance(value, yaml.SequenceNode) else [value]:
                merged = pairs(each, "a map to merge") | merged
            continue
        name = scalar(key, "a key")
        if name in found:
            malformed(key, f"{name} stands here twice", "keep one")
        found[name] = (key, value)
    return merged | found


def kind(node: yaml.Node) -> str:
    """A node in words, for error messages."""
    if isinstance(node, yaml.MappingNode):
        return "a map"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "null" if is_null(node) else f"{node.value!r}"


def plain(node: yaml.Node) -> Any:
    """A node as JSON has it; keys are text. Numbers and words follow YAML 1.2."""
    if isinstance(node, yaml.MappingNode):
        return {key: plain(value) for key, (_, value) in pairs(node, "a map").items()}
    if isinstance(node, yaml.SequenceNode):
        return [plain(each) for each in node.value]
    text = scalar(node, "a value")
    if is_quoted(node):
        return text
    if is_null(node):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if INTEGER.fullmatch(text):
        return integer(node, "an integer")
    return float(text) if NUMBER.fullmatch(text) else text


def integer(node: yaml.Node, wanted: str, *, quoted: bool = False) -> int:
    """The integer that a scalar holds. ``quoted``: whether it may stand in quotes, as the keys of JSON do."""
    text = scalar(node, wanted)
    if not INTEGER.fullmatch(text) or (is_quoted(node) and not quoted):
        malformed(node, f"expected {wanted}, found {kind(node)}")
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] != "x":
        malformed(node, f"{text} is octal in YAML 1.1 and decimal in YAML 1.2", "leave the leading zero out")
    value = int(text.replace("_", ""), 16 if digits.startswith("0x") else 10)
    if not -(2**63) <= value < 2**63:
        malformed(node, f"{text} does not fit into 64 bits", "write a smaller number")
    return value


def number(node: yaml.Node, wanted: str) -> float:
    """The number that a scalar holds, with a fraction or without."""
    text = scalar(node, wanted)
    if is_quoted(node) or not NUMBER.fullmatch(text):
        malformed(node, f"expected {wanted}, found {kind(node)}")
    return float(text.replace("_", ""))


def _check_tag(node: yaml.Node) -> None:
    if node.tag not in TAGS:
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        malformed(node, f"tags such as {tag} are no part of the language", "leave it out")
