"""Generates reads of the language as source text: names, literals, and cells of fields with their keys."""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from tests.differential.vocabulary import (
    BOOL,
    GAP_BOUNDS,
    Choices,
    Field,
    Sight,
    Touch,
    Words,
    is_optional,
)

Maker = Callable[[], str]


class Reads(ABC):
    """Writes reads. ``touched`` collects the cells that the current body reads and writes."""

    def __init__(self, choices: Choices, bounds: Mapping[str, int], words: Words) -> None:
        self.choices = choices
        self.words = words
        self.bounds = bounds
        """For each Nat the greatest value: a greater literal cannot be a key."""
        self.touched: list[Touch] = []

    @abstractmethod
    def value(self, kind: str, sight: Sight, depth: int = 2) -> str:
        """An expression of exactly this kind."""

    def literal(self, kind: str) -> str:
        """A constant of a plain kind that has some."""
        match kind:
            case "Mode":
                return f"Mode.{self.choices.one('ABC')}"
            case "Gap":
                return f"Gap({self.choices.between(*GAP_BOUNDS)})"
        if kind in self.bounds:
            return f"{kind}({self.choices.below(self.bounds[kind] + 1)})"
        return self.choices.one(("True", "False"))

    def reaches(self, kind: str, sight: Sight) -> bool:
        """Whether some name or field gives a value of the kind: Sorts have no literals."""
        if not is_optional(kind) and kind not in self.words.sorts:
            return True
        return bool(self.reads(kind, sight, 0))

    def reads(self, kind: str, sight: Sight, depth: int) -> list[tuple[int, Maker]]:
        """Ways to read a value of exactly this kind, with weights: a name, an Optional that is not None, a field."""
        found: list[tuple[int, Maker]] = [
            (8, lambda name=name: name)
            for name, local in sight.names.items()
            if local.kind == kind and name not in sight.known and (sight.ghosts or not local.ghost)
        ]
        known = [text for text, of in sight.known.items() if of == kind]
        found += [(6, lambda text=text: self.mention(text, sight)) for text in known]
        fields = [field for field in sight.fields if field.kind == kind and self.may_read(field, sight)]
        for receiver, field in itertools.product(sight.receivers, fields):
            found.append((4, lambda r=receiver, f=field: self.unknown_cell(r, f, sight, depth)))
        if kind == BOOL:
            found += [(2, lambda flag=flag: f"self.{flag}") for flag in sight.flags]
        return found

    def may_read(self, field: Field, sight: Sight) -> bool:
        """Whether a cell of the field can be named here."""
        held = sight.held.get(field.name, {})
        return (sight.ghosts or not field.ghost) and all(
            place in held or self.names_for(key, sight) for place, key in enumerate(field.keys)
        )

    def names_for(self, key: str, sight: Sight) -> bool:
        """Whether a key of this kind is available without reading a map."""
        return (
            key not in self.words.sorts
            or any(local.kind == key and (sight.ghosts or not local.ghost) for local in sight.names.values())
            or any(field.kind == key and not field.keys and not field.ghost for field in sight.fields)
        )

    def mention(self, text: str, sight: Sight) -> str:
        """The text again, with its reads recorded."""
        for field, keys in re.findall(r"\bself\.(\w+)(?:\[([^\[\]]*)\])?", text):
            self.touched.append(sight.touch(field, keys.split(", ") if keys else ()))
        return text

    def unknown_cell(self, receiver: str, field: Field, sight: Sight, depth: int) -> str:
        """A cell read with its whole type. A cell known not to be None is left out, since it would be a plain value."""
        text = self.cell(receiver, field, sight, depth)
        return f"({text} if {self.choices.one(('True', 'False'))} else None)" if text in sight.known else text

    def cell(self, receiver: str, field: Field, sight: Sight, depth: int = 0) -> str:
        """A field, or one cell of it."""
        held = sight.held.get(field.name, {}) if receiver == "self" else {}
        keys = tuple(held.get(place) or self.key(kind, sight, depth) for place, kind in enumerate(field.keys))
        if receiver == "self":
            self.touched.append(sight.touch(field.name, keys))
        return f"{receiver}.{field.name}[{', '.join(keys)}]" if keys else f"{receiver}.{field.name}"

    def key(self, kind: str, sight: Sight, depth: int) -> str:
        """A key: mostly a name."""
        simple: list[tuple[int, Maker]] = [
            (6, lambda name=name: name)
            for name, local in sight.names.items()
            if local.kind == kind and (sight.ghosts or not local.ghost)
        ]
        if kind not in self.words.sorts:
            simple.append((2, lambda: self.literal(kind)))
        scalars = [
            f for f in sight.fields if f.kind == kind and not f.keys and not f.ghost and f.name not in sight.held
        ]
        simple += [(2, lambda field=field: self.cell("self", field, sight)) for field in scalars]
        if depth > 0:
            simple.append((2, lambda: self.value(kind, sight, depth - 1)))
        return self.choices.weighted(simple)()

    def touches_since(self, start: int) -> tuple[Touch, ...]:
        """The cells that the current body has touched since then."""
        return tuple(dict.fromkeys(self.touched[start:]))
