"""The holders of a rule in the models: the lines with its label, the actions it serves, the properties that cite it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from holdfast.check.rules.book import ID
from holdfast.ir.errors import Place
from holdfast.ir.system import System


@attrs.frozen
class RuleSite:
    """A labelled rule at a line of a file. ``actions`` are the actions that it serves, by model."""

    label: str
    file: str
    line: int
    actions: Mapping[str, tuple[str, ...]]


@attrs.frozen
class CitingClaim:
    """A property whose docstring begins with the rule id, and the models that have the property."""

    name: str
    kind: str
    file: str
    line: int
    models: tuple[str, ...]


@attrs.frozen
class Holders:
    """The sites and the claims of one rule."""

    sites: tuple[RuleSite, ...] = ()
    claims: tuple[CitingClaim, ...] = ()


def holders_of(systems: Mapping[str, System], root: Path) -> dict[str, Holders]:
    """The holders of every rule that a model cites, by id. Names of files below ``root`` are relative to it."""
    sites: dict[str, dict[tuple[str, str, int], dict[str, tuple[str, ...]]]] = {}
    claims: dict[str, dict[tuple[str, str, str, int], list[str]]] = {}
    for model, system in systems.items():
        for rule in system.rules:
            for cited in _cited(rule.label):
                key = (rule.label, *_at(rule.at, root))
                sites.setdefault(cited, {}).setdefault(key, {})[model] = rule.actions
        for prop in system.properties:
            for cited in prop.ids:
                claim = (prop.name, prop.kind, *_at(prop.at, root))
                claims.setdefault(cited, {}).setdefault(claim, []).append(model)
    return {
        rule: Holders(
            tuple(RuleSite(*key, actions) for key, actions in sites.get(rule, {}).items()),
            tuple(CitingClaim(*key, tuple(models)) for key, models in claims.get(rule, {}).items()),
        )
        for rule in dict.fromkeys([*sites, *claims])
    }


def _cited(label: str) -> Iterator[str]:
    match = ID.fullmatch(label)
    if match is not None:
        yield match["rule"]


def _at(at: Place, root: Path) -> tuple[str, int]:
    file = Path(at.file).resolve()
    return (file.relative_to(root).as_posix() if file.is_relative_to(root) else at.file), at.line
