"""What an expression is translated with: the values of names, and states."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from holdfast.lower.smt.state import State
from holdfast.lower.smt.universe import Reading
from holdfast.lower.smt.values import Value


@attrs.define
class Bindings:
    """The values of the names in sight, and the states that expressions read: ``old`` is the state before a step.

    ``maps``: the functions of the parameters that are whole maps.
    """

    names: dict[str, Value]
    state: State
    old: State | None = None
    maps: Mapping[str, Reading] = attrs.field(factory=dict)
