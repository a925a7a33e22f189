"""The given constants of a scope, as a pairing sees them: cells that never change."""

from __future__ import annotations

from itertools import product
from typing import Any

from holdfast.lower.layout import Layout


def constants_of(layout: Layout) -> dict[tuple[Any, ...], Any]:
    """The constants of the scope, as cells."""
    constant: dict[tuple[Any, ...], Any] = {}
    for name, codes in layout.given.items():
        var = layout.system.var(name)
        keys = product(*([layout.decode_value(key, code) for code in range(layout.codes(key))] for key in var.keys))
        for key, code in zip(keys, codes, strict=True):
            constant[name, *key] = layout.decode_value(var.value, code)
    return constant
