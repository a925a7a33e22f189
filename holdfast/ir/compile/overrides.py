"""Checks that a method overrides only a method of the same role, in a class that extends the class of that method.

For each name Python takes the first definition in the method resolution order and ignores the others with their
decorators. If the ignored method is an invariant, the model would lose it silently, and a check would pass without it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.compile.source import ClassSource, Member
from holdfast.ir.marks import ActionMark, InitMark, PropertyMark, VariantMark


def check_overrides(cls: type, source: ClassSource, refusals: Refusals) -> None:
    """Refuse a method that would silently drop an action, an initial condition, a variant or a property."""
    for name, definitions in source.definitions.items():
        with refusals.collect(name):
            _check_definitions(cls, source, name, definitions)


def _check_definitions(cls: type, source: ClassSource, name: str, definitions: Sequence[tuple[type, Member]]) -> None:
    taken, _ = definitions[-1]
    # With several bases the definition that Python takes may be in a class unrelated to the others.
    for owner, _ in definitions:
        if not issubclass(taken, owner):
            source.module.refuse(
                source.node,
                f"{taken.__name__} and {owner.__name__} both define {name}, and Python forgets that of the latter",
                f"define {name} here as well, or rename one of them",
                f"class {cls.__name__}",
            )
    for (owner, old), (_, new) in itertools.pairwise(definitions):
        _check_role(owner, old, new)


def _check_role(owner: type, old: Member, new: Member) -> None:
    """Refuse a method of another role. A plain action may become idempotent, because this adds a claim."""
    was, role = _role(old.mark), _role(new.mark)
    if was == role or (was == "@action" and isinstance(new.mark, ActionMark) and new.mark.variant is None):
        return
    new.module.refuse(
        new.node,
        f"it takes the place of the {was or 'helper'} {old.name} of {owner.__name__}, and is {_article(role)}",
        f"write {was} above it, or give it another name" if was else "drop the decorator, or give it another name",
        f"def {new.name}",
    )


def _role(mark: object) -> str:
    """The decorator with the arguments that an override must not lose; an empty text for a helper."""
    match mark:
        case InitMark():
            return "@init"
        case ActionMark(idempotent=label, variant=variant):
            told = [f'idempotent="{label}"'] if label is not None else []
            told += [f'variant="{variant}"'] if variant is not None else []
            return f"@action({', '.join(told)})" if told else "@action"
        case PropertyMark(kind=kind, of=of):
            return f"@{kind}" if of is None else f'@{kind}(of="{of}")'
        case VariantMark(name=name, replaces=replaces):
            return f'@variant("{name}", replaces="{replaces}")'
    return ""


def _article(role: str) -> str:
    if not role:
        return "a helper"
    return f"an {role}" if role[1] in "aeiou" else f"a {role}"
