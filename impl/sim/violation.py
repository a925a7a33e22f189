"""What a run of a part of a node violates."""

from __future__ import annotations

import msgspec


class PartViolation(msgspec.Struct, frozen=True):
    """``label``: the violated property or rule. ``message``: what is wrong, in words."""

    label: str
    message: str


class JudgedRun:
    """Notes the first violation of a run: ``found``."""

    found: PartViolation | None = None

    def violate(self, label: str, message: str) -> None:
        """Note a violation, unless there was one before."""
        self.found = self.found or PartViolation(label, message)
