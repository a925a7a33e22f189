"""The error that the machine raises if a property does not hold."""

from __future__ import annotations


class BrokenError(AssertionError):
    """A property does not hold. ``claim``: the rule or the oracle. ``message``: what happened."""

    def __init__(self, claim: str, message: str) -> None:
        super().__init__(f"{claim}: {message}")
        self.claim = claim


def claim(holds: bool, name: str, message: str) -> None:
    """Raise BrokenError unless the property holds."""
    if not holds:
        raise BrokenError(name, message)
