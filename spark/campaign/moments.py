"""Moments, which are finer than situations, added up over a campaign."""

from __future__ import annotations

import attrs


@attrs.frozen
class MomentSum:
    """How many runs reached a situation with these last two events of its stream or partition."""

    situation: str
    event: str
    before: str
    runs: int

    @property
    def name(self) -> str:
        """The moment in words."""
        events = [each for each in (self.before, self.event) if each]
        return f"{self.situation} ({', '.join(events) or 'no event before'})"
