"""What an oracle says."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True):
    """A property that does not hold: of which oracle, of which stream, and why, for people."""

    oracle: str
    key: int
    message: str
