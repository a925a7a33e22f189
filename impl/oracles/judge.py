"""All oracles, on one history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from impl.client.history import History
from impl.oracles.calls import AssumptionError, CallsByStream, StreamCalls
from impl.oracles.log import exactly_once, log
from impl.oracles.loss import lost
from impl.oracles.owner import owner
from impl.oracles.reads import aborted, bound, order
from impl.oracles.storage import BucketContents, storage, unresolved
from impl.oracles.verdict import Violation

Oracle = Callable[[StreamCalls], Iterator[Violation]]
ORACLES: dict[str, Oracle] = {
    "log": log,
    "exactly once": exactly_once,
    "lost": lost,
    "aborted": aborted,
    "order": order,
    "bound": bound,
    "owner": owner,
}
NAMES = (*ORACLES, "heal", "storage", "zones", "strangers", "answers")


class Verdict(msgspec.Struct, frozen=True):
    """``violations``: the first one of each oracle. ``error``: why the history cannot be judged; None if it can.

    ``looked``: the numbers of streams, acknowledged sends and polls in the history.
    """

    violations: tuple[Violation, ...]
    looked: dict[str, int]
    error: str | None = None


def judge(
    history: History,
    stored: BucketContents | None = None,
    dangling: Sequence[str] = (),
    shown: Iterable[str] = (),
    zones: Iterable[str] = (),
    taken: Iterable[str] = (),
    answers: Iterable[str] = (),
) -> Verdict:
    """Run all oracles on a history. ``stored``: the bucket after a run that has healed; None if it has not.

    ``dangling``: the links that could not be resolved when a process ended; ``storage`` reports them. ``shown``: what a
    proxy has shown beyond the confirmed end; ``bound`` reports it. ``zones``: what else breaks a property of zone
    routing. ``taken``: what strangers asked for and nobody refused, though it had to be; ``strangers`` reports it.
    ``answers``: what controllers have answered or done against the facts. All in words.
    """
    try:
        calls = CallsByStream(history)
    except AssumptionError as error:
        return Verdict((), {}, str(error))
    found: list[Violation] = []
    for oracle in ORACLES.values():
        for stream in calls.streams.values():
            first = next(oracle(stream), None)
            if first is not None:
                found.append(first)
                break
    if all(each.oracle != "bound" for each in found):
        found += (Violation("bound", -1, each) for each in islice(shown, 1))
    found += _heal(calls)
    left = () if stored is None else storage(calls, stored)
    found += islice((*unresolved(dangling), *left), 1)
    found += (Violation("zones", -1, each) for each in islice(zones, 1))
    found += (Violation("strangers", -1, each) for each in islice(taken, 1))
    found += (Violation("answers", -1, each) for each in islice(answers, 1))
    looked = {
        "streams": len(calls.streams),
        "acknowledged": sum(len(stream.acked) for stream in calls.streams.values()),
        "polls": sum(len(stream.polls) for stream in calls.streams.values()),
    }
    return Verdict(tuple(found), looked)


def _heal(calls: CallsByStream) -> Iterator[Violation]:
    """The cluster works again once the faults stop: the run came to its end, and every move was answered."""
    if calls.missing:
        yield Violation("heal", -1, f"at the end, without further faults, {calls.missing}")
    if calls.missing != "":
        return
    for stream in calls.streams.values():
        if stream.open_moves:
            yield Violation("heal", stream.key, f"{stream.open_moves} moves of stream {stream.key} never ended")
            return
