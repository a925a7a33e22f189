"""The types of arguments and results. A type reads a value, or an expectation, and writes itself as a JSON schema."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from impl.scenario.matching import AnyOf, Fields, Items, Members, Pattern, Same
from impl.scenario.reading import integer, is_decimal, is_null, is_quoted, items, kind, malformed, number, pairs, scalar
from impl.scenario.suggest import unknown

Schema = dict[str, Any]
LARGEST = 2**63 - 1


class Type(msgspec.Struct, frozen=True):
    """A type. ``value`` and ``pattern`` raise MalformedError for a node of another type."""

    def value(self, node: yaml.Node) -> Any:
        """The value that a node holds."""
        raise NotImplementedError

    def pattern(self, node: yaml.Node) -> Pattern:
        """The expectation that a node states: a value, or one of several (``any_of``)."""
        if isinstance(node, yaml.MappingNode) and len(node.value) == 1 and node.value[0][0].value == "any_of":
            choices = items(node.value[0][1], "a list of values")
            if not choices:
                malformed(node, "any_of is empty, so no value could be right", "give it a value")
            return AnyOf(tuple(self.pattern(each) for each in choices))
        return self.own_pattern(node)

    def own_pattern(self, node: yaml.Node) -> Pattern:
        """The expectation that a node states, without ``any_of``."""
        return Same(self.value(node))

    def schema(self) -> Schema:
        """The JSON schema of a value."""
        raise NotImplementedError

    def pattern_schema(self) -> Schema:
        """The JSON schema of an expectation."""
        own = self.own_pattern_schema()
        choices = {"type": "array", "items": own, "minItems": 1}
        return {
            "anyOf": [
                own,
                {
                    "type": "object",
                    "properties": {"any_of": choices},
                    "required": ["any_of"],
                    "additionalProperties": False,
                },
            ]
        }

    def own_pattern_schema(self) -> Schema:
        """The JSON schema of an expectation, without ``any_of``."""
        return self.schema()


class Integer(Type, frozen=True):
    """An integer."""

    low: int = -LARGEST - 1
    high: int = LARGEST

    def value(self, node: yaml.Node) -> int:
        found = integer(node, "an integer")
        if found < self.low:
            malformed(node, f"expected an integer of at least {self.low}, found {found}")
        if found > self.high:
            malformed(node, f"expected an integer of at most {self.high}, found {found}")
        return found

    def own_pattern(self, node: yaml.Node) -> Pattern:
        """A number with a fraction may be expected too: it is compared within the tolerance of the step."""
        return Same(number(node, "an integer")) if is_decimal(node) else Same(self.value(node))

    def own_pattern_schema(self) -> Schema:
        return {"type": "number"}

    def schema(self) -> Schema:
        schema: Schema = {"type": "integer"}
        if self.low > -LARGEST - 1:
            schema["minimum"] = self.low
        if self.high < LARGEST:
            schema["maximum"] = self.high
        return schema


class Number(Type, frozen=True):
    """A number, also with a fraction."""

    def value(self, node: yaml.Node) -> float:
        return number(node, "a number")

    def schema(self) -> Schema:
        return {"type": "number"}


class Bool(Type, frozen=True):
    """True or false. The words of YAML 1.1 (``yes``, ``on`` ...) count too."""

    def value(self, node: yaml.Node) -> bool:
        text = scalar(node, "true or false").lower()
        if is_quoted(node) or text not in ("true", "yes", "on", "false", "no", "off"):
            malformed(node, f"expected true or false, found {kind(node)}")
        return text in ("true", "yes", "on")

    def schema(self) -> Schema:
        return {"type": "boolean"}


class String(Type, frozen=True):
    """Text. Only the word null and the empty text need quotes."""

    def value(self, node: yaml.Node) -> str:
        if is_null(node):
            malformed(node, "expected text, found null")
        return scalar(node, "text")

    def schema(self) -> Schema:
        return {"type": ["string", "number", "boolean"]}


class OneOf(Type, frozen=True):
    """One of some words."""

    words: tuple[str, ...]
    what: str = "word"

    def value(self, node: yaml.Node) -> str:
        text = scalar(node, f"one of {', '.join(self.words)}")
        if text not in self.words:
            malformed(node, unknown(self.what, text, self.words), None)
        return text

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


class Nullable(Type, frozen=True):
    """A value of a type, or null."""

    inner: Type

    def value(self, node: yaml.Node) -> Any:
        return None if is_null(node) else self.inner.value(node)

    def own_pattern(self, node: yaml.Node) -> Pattern:
        return Same(None) if is_null(node) else self.inner.own_pattern(node)

    def schema(self) -> Schema:
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}

    def own_pattern_schema(self) -> Schema:
        return {"anyOf": [self.inner.own_pattern_schema(), {"type": "null"}]}


class ListOf(Type, frozen=True):
    """A list. As an expectation it is whole and in order."""

    inner: Type

    def value(self, node: yaml.Node) -> Any:
        return [self.inner.value(each) for each in items(node, "a list")]

    def own_pattern(self, node: yaml.Node) -> Pattern:
        return Items(tuple(self.inner.pattern(each) for each in items(node, "a list")))

    def schema(self) -> Schema:
        return {"type": "array", "items": self.inner.schema()}

    def own_pattern_schema(self) -> Schema:
        return {"type": "array", "items": self.inner.pattern_schema()}


class UnorderedList(ListOf, frozen=True):
    """A list whose order does not matter. A repeated member of an expectation counts once."""

    def own_pattern(self, node: yaml.Node) -> Pattern:
        each: list[Pattern] = []
        for member in items(node, "a list"):
            pattern = self.inner.pattern(member)
            if pattern not in each:
                each.append(pattern)
        return Members(tuple(each))


class MapOf(Type, frozen=True):
    """A map from text to values. ``whole``: whether an expectation must list all entries."""

    inner: Type
    whole: bool = False

    def value(self, node: yaml.Node) -> dict[Any, Any]:
        return {self.key(key): self.inner.value(each) for key, each in pairs(node, "a map").values()}

    def own_pattern(self, node: yaml.Node) -> Pattern:
        entries = {self.key(key): self.inner.pattern(each) for key, each in pairs(node, "a map").values()}
        return Fields(entries, self.whole)

    def key(self, node: yaml.Node) -> Any:
        """The key that a node holds."""
        return scalar(node, "a key")

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.inner.schema()}

    def own_pattern_schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.inner.pattern_schema()}


class ByNumber(MapOf, frozen=True):
    """A map from integers to values."""

    def key(self, node: yaml.Node) -> int:
        return integer(node, "an integer as key", quoted=True)

    def schema(self) -> Schema:
        return {
            "type": "object",
            "patternProperties": {"^-?[0-9]+$": self.inner.schema()},
            "additionalProperties": False,
        }


class StructField(msgspec.Struct, frozen=True):
    """A field of a map. One that is not required has a default, or is absent."""

    type: Type
    required: bool = True
    default: Any = None


def need(kind_of_value: Type) -> StructField:
    """A field that must be given."""
    return StructField(kind_of_value)


def may(kind_of_value: Type, default: Any = None) -> StructField:
    """A field that may be given."""
    return StructField(kind_of_value, required=False, default=default)


class Struct(Type, frozen=True):
    """A map with named fields. Fields that an expectation leaves out are not compared."""

    fields: dict[str, StructField]
    what: str = "key"

    def value(self, node: yaml.Node) -> dict[str, Any]:
        given = pairs(node, "a map")
        for name, (key, _) in given.items():
            if name not in self.fields:
                malformed(key, unknown(self.what, name, self.fields), None)
        values: dict[str, Any] = {}
        for name, field in self.fields.items():
            if name in given:
                values[name] = field.type.value(given[name][1])
            elif field.required:
                malformed(node, f"{name} is missing", "add it")
            else:
                values[name] = field.default
        return values

    def own_pattern(self, node: yaml.Node) -> Pattern:
        entries: dict[Any, Pattern] = {}
        for name, (key, each) in pairs(node, "a map").items():
            if name not in self.fields:
                malformed(key, unknown(self.what, name, self.fields), None)
            entries[name] = self.fields[name].type.pattern(each)
        return Fields(entries)

    def schema(self) -> Schema:
        schema: Schema = {
            "type": "object",
            "properties": {name: field.type.schema() for name, field in self.fields.items()},
            "additionalProperties": False,
        }
        required = [name for name, field in self.fields.items() if field.required]
        return schema | ({"required": required} if required else {})

    def own_pattern_schema(self) -> Schema:
        return {
            "type": "object",
            "properties": {name: field.type.pattern_schema() for name, field in self.fields.items()},
            "additionalProperties": False,
        }
