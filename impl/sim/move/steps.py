"""The six steps of a move, as times: when each is done, and how long it has taken."""

from __future__ import annotations

import msgspec

from impl.sim.move.watch import Moments

_WORDS = {
    "record": "1 the record is committed",
    "seen": "2 the source sees it",
    "flushed": "3 the meta stream is persisted",
    "closed": "4 uploaded and closed",
    "elected": "5 the election is committed",
    "opened": "6 opened and recovered",
    "serves": "  the target knows that it leads",
}
"""The steps of reassignment.md 2 and 3, and the time after them if the target serves later."""
_FAST_WORDS = {**_WORDS, "closed": "4 closed, and the upload goes on", "opened": "6 uploaded, opened and recovered"}


class StepTimes(msgspec.Struct, frozen=True):
    """The times at which the steps are done, in milliseconds from the request. ``serves``: the move has ended."""

    record: int
    seen: int
    flushed: int
    closed: int
    elected: int
    opened: int
    serves: int

    def durations(self) -> dict[str, int]:
        """How long each step has taken since the one before it was done, in the order of time."""
        found: dict[str, int] = {}
        before = 0
        for name, at in sorted(msgspec.structs.asdict(self).items(), key=lambda pair: pair[1]):
            found[name] = at - before
            before = at
        return found


def measured(moments: Moments) -> StepTimes:
    """The steps of a move that has ended."""
    begin, times = moments.asked, {name: getattr(moments, name) for name in StepTimes.__struct_fields__}
    assert begin is not None, "the move has begun"
    return StepTimes(**{name: at - begin for name, at in times.items()})


def words(name: str, *, fast: bool) -> str:
    """The text of a step. ``fast``: with fast closes (V6), where not the close but the target waits for the upload."""
    return (_FAST_WORDS if fast else _WORDS)[name]
