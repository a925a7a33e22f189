"""Shortens runs on which model and controller differ, and searches for the shortest one."""

from __future__ import annotations

from collections.abc import Sequence

from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairing import Pairing

MOST_STATES = 500
"""The most states that ``reduced`` searches for a shorter run."""


def disagreement(pairing: Pairing, start: bytes, run: Sequence[PairedCall]) -> DisagreementError | None:
    """The first disagreement in a run; None if there is none, or if one of the calls is not possible."""
    try:
        lockstep = PairedRun(pairing, start)
        lockstep.try_refusals()
        for call in run:
            if pairing.choices(lockstep.state)[call.action][call.values].kind(lockstep.state) == "none":
                return None
            lockstep.take(call)
            lockstep.try_refusals()
    except DisagreementError as found:
        return found
    return None


def reduced(found: DisagreementError) -> DisagreementError:
    """A disagreement with few calls: the shortest, if a search of MOST_STATES states finds it; otherwise ``found``
    without the calls that it does not need.
    """
    return shortest(found.pairing, len(found.run) - 1, states=MOST_STATES) or _without_calls(found)


def _without_calls(found: DisagreementError) -> DisagreementError:
    """Leave out calls of a run: first large parts, at the end single calls, until none can be left out.

    After each success the size starts again at the whole run, because other parts may now be superfluous.
    """
    size = len(found.run)
    while size:
        for at in range(len(found.run) - size, -1, -1):
            shorter = disagreement(found.pairing, found.start, found.run[:at] + found.run[at + size :])
            if shorter is not None and len(shorter.run) < len(found.run):
                found, size = shorter, len(shorter.run)
                break
        else:
            size //= 2
    return found


def shortest(pairing: Pairing, most: int, states: int | None = None) -> DisagreementError | None:
    """A disagreement with the fewest calls, found by a breadth-first search over the joint states of both.

    None if every disagreement takes more than ``most`` calls, or if the search has visited ``states`` states.

    Two joint states are equal if all cells of the model and the controller's ranges are equal. The ranges are the only
    rows of the controller that the model does not keep in full.
    """
    seen = set()
    level: list[tuple[bytes, tuple[PairedCall, ...]]] = [(start, ()) for start in pairing.starts]
    looked = 0
    for _ in range(most):
        # A joint state is stored as the run that leads to it, and rebuilt by a replay of that run.
        following = []
        for start, run in level:
            looked += 1
            if states is not None and looked > states:
                return None
            try:
                for call in _explored(pairing, start, run):
                    lockstep = _replayed(pairing, start, (*run, call))
                    key = lockstep.state, repr(lockstep.controller.image.ranges)
                    if key not in seen:
                        seen.add(key)
                        following.append((start, (*run, call)))
            except DisagreementError as found:
                return found
        level = following
    return None


def _explored(pairing: Pairing, start: bytes, run: tuple[PairedCall, ...]) -> list[PairedCall]:
    """The possible steps after a run. Raises DisagreementError if a refusal or a repeat differs there."""
    lockstep = _replayed(pairing, start, run)
    lockstep.try_refusals()
    repeats = list(lockstep.calls("repeat"))
    try:
        # A repeat changes nothing, so one run can have all repeats of a state.
        for call in repeats:
            lockstep.take(call)
    except DisagreementError:
        # That run is too long if the last repeat differs alone; then its replay raises the shorter disagreement.
        for call in repeats:
            _replayed(pairing, start, (*run, call))
        raise
    return list(lockstep.calls("step"))


def _replayed(pairing: Pairing, start: bytes, run: tuple[PairedCall, ...]) -> PairedRun:
    lockstep = PairedRun(pairing, start)
    for call in run:
        lockstep.take(call)
    return lockstep
