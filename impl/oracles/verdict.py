"""The violations that oracles report."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True):
    """A violated property. ``oracle``: its oracle. ``key``: the stream, or -1. ``message``: the reason, for people."""

    oracle: str
    key: int
    message: str
