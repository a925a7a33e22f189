"""What a run promises, and whether it holds. Only the history, the metadata and the rounds are looked at.

- ``even``: in the last minute the traffic of each broker is within the band around the average of all brokers.
- ``kept``: no acknowledged record is lost, doubled or moved to another place, and all partitions can be read.
- ``fast``: each move has ended, within seconds.
- ``one planner``: only a controller that leads begins a round, and no round ends early.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from impl.oracles.judge import judge
from impl.sim.balance.simulation import BalanceRun
from impl.sim.balance.traffic import WAYS, EvenBand, Traffic, band
from impl.sim.balance.workload import EMPTY, END_MS, LOADED

BROKERS = (*LOADED, EMPTY)
LAST_MS = 60_000
"""The time at the end over which the traffic has to be even."""
LONGEST_MS = 10_000
"""The longest time of a move that counts as seconds."""
PROMISES = ("even", "kept", "fast", "one planner")


class BrokenPromise(msgspec.Struct, frozen=True):
    """A promise that does not hold, and what shows it."""

    name: str
    text: str


class EndLoads(msgspec.Struct, frozen=True):
    """The loads of the brokers in the last minute, by number, and the band, in bytes per second."""

    loads: dict[int, float]
    band: EvenBand


def end_loads(traffic: Traffic) -> dict[str, EndLoads]:
    """The loads at the end, by way."""
    found = {}
    for way in WAYS:
        loads = {broker: traffic.load(way, broker, END_MS - LAST_MS, END_MS) for broker in BROKERS}
        found[way] = EndLoads(loads, band(list(loads.values())))
    return found


def broken(run: BalanceRun, traffic: Traffic) -> list[BrokenPromise]:
    """The promises that the run breaks, in the order of their names; several texts of one promise are all there."""
    found = [*_uneven(traffic), *_lost(run), *_slow(run), *_stray(run)]
    return [BrokenPromise(name, text) for name, text in found]


def _uneven(traffic: Traffic) -> Iterator[tuple[str, str]]:
    for way, end in end_loads(traffic).items():
        for broker, load in end.loads.items():
            # A comparison that fails for NaN, too.
            if not end.band.low <= load <= end.band.high:
                span = f"{end.band.low / 1e6:.2f} to {end.band.high / 1e6:.2f}"
                text = f"broker {broker}, {way}: {load / 1e6:.2f} MB/s in the last minute, and the band is {span}"
                yield "even", text


def _lost(run: BalanceRun) -> Iterator[tuple[str, str]]:
    verdict = judge(run.history)
    if verdict.error is not None:
        yield "kept", f"the history cannot be judged: {verdict.error}"
    for each in verdict.violations:
        yield "kept", f"{each.oracle}: {each.message}"
    if not verdict.looked.get("acknowledged") or not verdict.looked.get("polls"):
        yield "kept", "nothing was acknowledged or read"


def _slow(run: BalanceRun) -> Iterator[tuple[str, str]]:
    for move in run.moves:
        what = f"the move of partition {move.partition} from broker {move.source} to {move.target}"
        if move.ms is None:
            yield "fast", f"{what} has not ended"
        elif move.ms > LONGEST_MS:
            yield "fast", f"{what} takes {move.ms / 1_000:.2f} s, which is more than {LONGEST_MS // 1_000}"


def _stray(run: BalanceRun) -> Iterator[tuple[str, str]]:
    for controller, times in run.strays.items():
        for at in times:
            yield "one planner", f"c{controller} plans a round at {(at - run.begin) / 1_000:.1f} s, and does not lead"
    for controller, rounds in run.rounds.items():
        for each in rounds:
            if each.error:
                seconds = (each.at - run.begin) / 1_000
                yield "one planner", f"the round of c{controller} at {seconds:.1f} s ends early: {each.error}"
