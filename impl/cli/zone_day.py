"""The command ``holdfast simulate --scenario zones``: the bytes between zones in a day, and what they cost."""

from __future__ import annotations

import json as json_format

from holdfast.cli.output import Ticker, say
from impl.sim.zone_day import ZoneDay, measure
from impl.sim.zones import ZONES

RATE = 100_000_000
"""Bytes that producers send in a second."""
CONSUMERS = 2
PRICE = 0.02
"""Dollars for a GB (10^9 bytes) between two zones: 0.01 for the sender and 0.01 for the receiver, as in many regions of
AWS.
"""


def run(*, json: bool) -> int:
    """Measure a day without routing and with it, and print both."""
    days: list[ZoneDay] = []
    with Ticker() as ticker:
        for is_routed in (False, True):
            ticker.show(f"{len(days)} of 2 clusters")
            days.append(measure(is_routed=is_routed, consumers=CONSUMERS, rate=RATE))
    say(json_format.dumps(_data(days), indent=2) if json else "\n".join(_lines(days)))
    return 0


def _lines(days: list[ZoneDay]) -> list[str]:
    produced = days[0].produced / 1e12
    head = f"{ZONES} zones, producers send {RATE / 1e6:,.0f} MB/s ({produced:.2f} TB a day), {CONSUMERS} consumers"
    rows = [f"  {'between zones, in a day':26}{'data':>14}{'metadata':>14}{'cost':>12}"]
    for day in days:
        name = "with routing" if day.is_routed else "without routing"
        rows.append(f"  {name:26}{_terabytes(day.data):>14}{_terabytes(day.metadata):>14}{_cost(day):>12}")
    foot = f"A minute was measured and scaled. {PRICE} dollars a GB; the object store costs extra."
    return [head, "", *rows, "", foot]


def _terabytes(size: int) -> str:
    return f"{size / 1e12:.2f} TB"


def _cost(day: ZoneDay) -> str:
    return f"{_dollars(day):,.0f} $"


def _dollars(day: ZoneDay) -> float:
    return (day.data + day.metadata) / 1e9 * PRICE


def _data(days: list[ZoneDay]) -> dict[str, object]:
    return {
        "zones": ZONES,
        "bytes_per_second": RATE,
        "consumers": CONSUMERS,
        "dollars_per_gb": PRICE,
        "days": [
            {
                "routed": day.is_routed,
                "produced": day.produced,
                "data_between_zones": day.data,
                "metadata_between_zones": day.metadata,
                "dollars": round(_dollars(day), 2),
            }
            for day in days
        ],
    }
