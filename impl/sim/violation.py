"""What a run of a part of a node violates."""

from __future__ import annotations

import msgspec


class PartViolation(msgspec.Struct, frozen=True):
    """``label``: the violated property or rule. ``message``: what is wrong, in words."""

    label: str
    message: str
