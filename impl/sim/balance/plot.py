"""The picture of a run: the load of each broker over time, in and out, with the band and the moves.

The band at a time is that around the average of the brokers that are active then. Equal runs give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from impl.sim.balance.promises import BROKERS
from impl.sim.balance.report import BalanceReport
from impl.sim.balance.traffic import BUCKET_MS, WAYS, band
from impl.sim.balance.workload import CHANGE_MS, EMPTY, END_MS, FAILOVER_MS
from impl.sim.picture import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    area,
    curve,
    legend,
    line_across,
    line_down,
    mark,
    name_below,
    picture,
    words_below,
)

ABOUT = "Load of each broker over time"
BAND, MOVE, EVENT = "#dfe8d0", "#444444", "#b8860b"
NAMES = {"in": "MB/s that producers send", "out": "MB/s that consumers read"}
TICK_MS, MOST_LINES = 60_000, 6


def plot(report: BalanceReport) -> str:
    """The picture as SVG."""
    frames = [line for place, way in enumerate(WAYS) for line in _frame(report, way, place * HEIGHT)]
    return picture(ABOUT, frames, len(WAYS) * HEIGHT)


def _frame(report: BalanceReport, way: str, top: int) -> Iterator[str]:
    """The frame of one way. ``top``: its upper edge."""
    bottom = top + HEIGHT
    middles = [begin + BUCKET_MS // 2 for begin in range(0, END_MS, BUCKET_MS)]
    loads = {
        broker: [report.traffic.load(way, broker, at - BUCKET_MS // 2, at + BUCKET_MS // 2) / 1e6 for at in middles]
        for broker in BROKERS
    }
    highest = max(max(each) for each in loads.values()) * 1.1 or 1.0
    x = Scale(0, END_MS, LEFT, WIDTH - RIGHT, is_logarithmic=False)
    y = Scale(0, highest, bottom - BOTTOM, top + TOP, is_logarithmic=False)
    yield f'<text x="{LEFT}" y="{top + 18}">{NAMES[way]}</text>'
    bands = [band([loads[each][place] for each in _active(report, at)]) for place, at in enumerate(middles)]
    upper = [(x(at), y(each.high)) for at, each in zip(middles, bands, strict=True)]
    lower = [(x(at), y(each.low)) for at, each in zip(middles, bands, strict=True)]
    yield area([*upper, *reversed(lower)], BAND)
    step = _step(highest)
    for number in range(int(highest / step) + 1):
        yield from line_across(y(number * step), f"{number * step:g}")
    for at in range(0, END_MS + 1, TICK_MS):
        yield words_below(x(at), f"{at // 1_000} s", bottom)
    yield name_below("virtual time", bottom)
    for at, about in ((CHANGE_MS, "loads change"), (FAILOVER_MS, "another controller leads")):
        yield line_down(x(at), EVENT, about, top, bottom)
    for place, (broker, curve_of) in enumerate(loads.items()):
        points = [(x(at), y(load)) for at, load in zip(middles, curve_of, strict=True)]
        yield curve(points, COLOURS[place])
        yield from legend(place, f"broker {broker}", COLOURS[place], top + TOP)
    for move in report.run.moves:
        took = "has not ended" if move.ms is None else f"{move.ms / 1_000:.2f} s"
        about = f"partition {move.partition} from {move.source} to {move.target}: {took}"
        yield mark(x(move.begin - report.run.begin), y(0), MOVE, about)
    entries = (("the band", BAND), ("a move", MOVE), ("a change", EVENT))
    for place, (words, colour) in enumerate(entries, len(loads)):
        yield from legend(place, words, colour, top + TOP)


def _active(report: BalanceReport, at: int) -> list[int]:
    joined = report.run.joined
    return [each for each in BROKERS if each != EMPTY or (joined is not None and joined - report.run.begin <= at)]


def _step(highest: float) -> float:
    """The distance of the lines across: 1, 2 or 5 times a power of ten, so that there are few of them."""
    rough = highest / MOST_LINES
    power = 10.0 ** math.floor(math.log10(rough))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= rough)
