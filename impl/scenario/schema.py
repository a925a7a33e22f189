"""The JSON schema of a document of a scenario file, for editors. ``python -m impl.scenario.schema`` writes the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from impl.scenario.language import CLOCK, REPEAT
from impl.scenario.operation import BOOL, BROKERS, CHANGES, INT, RECORDS, TEXT, ScenarioOperation
from impl.scenario.profile import PROFILE
from impl.scenario.types import Integer, ListOf, Nullable, Number, Schema, String, Struct, StructField, Type, may
from impl.scenario.vocabulary import OPERATIONS
from impl.scenario.words_balancer import CLUSTER, FOUND
from impl.scenario.words_encodings import HEX
from impl.scenario.words_zone import PAIR, by_rack

FILE = Path(__file__).with_name("scenario.schema.json")
SHARED: dict[str, Type] = {
    "an integer": INT,
    "a text": TEXT,
    "true or false": BOOL,
    "records": RECORDS,
    "changes": CHANGES,
    "brokers": BROKERS,
    "an integer or null": Nullable(INT),
    "a text or null": Nullable(TEXT),
    "bytes": HEX,
    "a pair": PAIR,
    "proxies": by_rack(INT),
    "changed proxies": by_rack(PAIR),
    **CLUSTER,
    "an action": FOUND.inner,
    "actions": FOUND,
}
"""The types of results that many operations have."""


def schema() -> Schema:
    """The schema. Types that several operations share stand once, under ``$defs``."""
    definitions = {name: kind.pattern_schema() for name, kind in SHARED.items()}
    steps = {name: _step(operation) for name, operation in OPERATIONS.items()}
    results = {
        _result_name(operation, kind): _results(operation.results | further)
        for operation in OPERATIONS.values()
        for kind, further in (operation.variant_results or {"": {}}).items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the reference implementation",
        "type": "object",
        "properties": {
            "name": String().schema(),
            "profile": PROFILE.schema(),
            "clock": CLOCK.schema(),
            "absent": ListOf(Integer()).schema(),
            "setup": String().schema(),
            "steps": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"op": {"enum": list(OPERATIONS)}},
                    "required": ["op"],
                    "allOf": [
                        {"if": {"properties": {"op": {"const": name}}, "required": ["op"]}, "then": _reference(name)}
                        for name in OPERATIONS
                    ],
                },
            },
        },
        "required": ["steps"],
        "additionalProperties": False,
        "$defs": {
            **_shared(steps, definitions),
            **_shared(results, definitions),
            **{name: _shared(each, definitions, within=name) for name, each in definitions.items()},
        },
    }


def text() -> str:
    """The schema as the text of a file."""
    return json.dumps(schema(), indent=1) + "\n"


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{quote(name)}"}


def _shared(value: Any, definitions: dict[str, Schema], within: str = "") -> Any:
    """A schema in which references replace the shared definitions. ``within``: the definition that it is itself."""
    for name, definition in definitions.items():
        if value == definition and name != within:
            return _reference(name)
    if isinstance(value, dict):
        return {key: _shared(each, definitions) for key, each in value.items()}
    return [_shared(each, definitions) for each in value] if isinstance(value, list) else value


def _step(operation: ScenarioOperation) -> Schema:
    """The schema of a step. The required arguments stand in the step itself, or in the maps of ``each``."""
    if not operation.variants:
        return _variant(operation, operation.arguments, {})
    kinds = [
        _variant(operation, operation.arguments | fields, {operation.selector: {"const": kind}}, kind)
        for kind, fields in operation.variants.items()
    ]
    return {"oneOf": kinds}


def _variant(operation: ScenarioOperation, arguments: dict[str, StructField], fixed: Schema, kind: str = "") -> Schema:
    values = {name: field.type.schema() for name, field in arguments.items()} | fixed
    expected = _reference(_result_name(operation, kind if operation.variant_results else ""))
    argument_map = {"type": "object", "properties": values | {"expect": expected}, "additionalProperties": False}
    step: Schema = {
        "description": operation.about,
        "type": "object",
        "properties": {
            "op": {"const": operation.name},
            **values,
            "expect": expected,
            "repeat": REPEAT.schema(),
            "tolerance": Number().schema(),
            "each": {"type": "array", "minItems": 1, "items": argument_map},
        },
        "required": ["op", *fixed],
        "additionalProperties": False,
    }
    required = [name for name, field in arguments.items() if field.required]
    if required:
        step["anyOf"] = [{"required": required}, {"required": ["each"]}]
    return step


def _result_name(operation: ScenarioOperation, kind: str) -> str:
    return f"{operation.name} {kind} result" if kind else f"{operation.name} result"


def _results(results: dict[str, Type]) -> Schema:
    return Struct({name: may(each) for name, each in results.items()}).own_pattern_schema()


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
