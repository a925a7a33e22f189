"""The tables of operations in ``docs/scenarios.md``. ``python -m impl.scenario.reference`` writes them there."""

from __future__ import annotations

import re
from pathlib import Path

from impl.scenario.matching import show
from impl.scenario.operation import ScenarioOperation
from impl.scenario.types import MapOf, OneOf, StructField, Type, UnorderedList
from impl.scenario.vocabulary import LAYERS

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"
_PLACE = re.compile(r"(<!-- operations: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page, with its tables replaced by those of the present vocabulary."""
    return _PLACE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", page)


def table(layer: str) -> str:
    """The table of a layer."""
    rows = [_row(operation) for operation in LAYERS[layer]]
    return "\n".join(["| op | meaning | arguments | result keys |", "|---|---|---|---|", *rows, ""])


def _row(operation: ScenarioOperation) -> str:
    arguments = ", ".join(_argument(name, field) for name, field in operation.arguments.items())
    for kind, fields in operation.variants.items():
        if fields:
            arguments += f"; {kind}: {', '.join(_argument(name, field) for name, field in fields.items())}"
    results = ", ".join(_result(name, kind) for name, kind in operation.results.items())
    for kind, further in operation.variant_results.items():
        results += f"; {kind}: {', '.join(_result(name, each) for name, each in further.items())}"
    return f"| `{operation.name}` | {operation.about} | {arguments or 'none'} | {results or 'none'} |"


def _argument(name: str, field: StructField) -> str:
    """The name; with ``?`` if it may be left out, with the default if there is one."""
    words = f" ({_words(field.type)})" if isinstance(field.type, OneOf) else ""
    if field.required:
        return f"`{name}`{words}"
    if field.default in (None, ...):
        return f"`{name}`?{words}"
    return f"`{name}`={show(field.default)}{words}"


def _result(name: str, kind: Type) -> str:
    if isinstance(kind, MapOf) and kind.whole:
        return f"`{name}` (whole)"
    return f"`{name}` (set)" if isinstance(kind, UnorderedList) else f"`{name}`"


def _words(kind: OneOf) -> str:
    return " / ".join(kind.words)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
