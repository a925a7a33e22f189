"""What a proxy does with a batch of each partition of a produce request (ZR-11, ZR-25, ZR-30)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from impl.errors import E
from impl.zone.routing import route
from impl.zone.zone_map import ZoneMap

WRITE_MODES = ("router_channel", "direct")
"""How a proxy writes what it leads itself; the first is the default (``automq.zonerouter.local.write.mode``)."""


def write_mode(value: str | None) -> str | None:
    """The mode that a setting names, in any case of letters; None for a value that is refused."""
    found = WRITE_MODES[0] if value is None else value.lower()
    return found if found in WRITE_MODES else None


@attrs.define
class ProduceDecision:
    """The partitions that go into the broker's own channel, that it appends to their logs with a link, and that wait.

    ``waits``: those whose result the answer waits for. ``answers``: the errors that are known at once.
    """

    channel: list[str] = attrs.field(factory=list)
    linked: list[str] = attrs.field(factory=list)
    waits: list[str] = attrs.field(factory=list)
    answers: dict[str, E | str] = attrs.field(factory=dict)


def decide(
    zones: ZoneMap,
    broker: int,
    client_zone: str | None,
    leaders: Mapping[str, int | None],
    *,
    mode: str = WRITE_MODES[0],
    acks: int = -1,
    append_error: str | None = None,
) -> ProduceDecision:
    """Decide on each partition. ``append_error``: what appends to logs of the broker itself fail with."""
    found = ProduceDecision()
    for partition, leader in leaders.items():
        to = route(zones, broker, leader, client_zone)
        if to.to is None:
            found.answers[partition] = to.error
            continue
        own = to.to == broker
        if not own or mode == "router_channel":
            found.channel.append(partition)
            if own:
                found.linked.append(partition)
        if own and append_error is not None:
            found.answers[partition] = append_error
        else:
            found.waits.append(partition)
    if acks == 0:
        # Nobody waits, and nobody learns of an error.
        found.waits, found.answers = [], dict.fromkeys(leaders, E.NONE)
    return found
