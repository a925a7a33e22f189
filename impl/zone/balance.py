"""How mains are spread evenly over the members of a ring, and how controllers are spared (ZR-04, ZR-06)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

CONTROLLERS = range(-1, 100)
"""The ids that count as controllers. -1 is a slot: that of the controllers."""


@attrs.define
class RingMember:
    """A member of a ring, and the mains that it has, in the order in which it got them."""

    id: int
    mains: list[int] = attrs.field(factory=list)


def balance(members: Sequence[RingMember], average: int) -> list[RingMember]:
    """Take mains from members that have more than the average. Returns the members with the fullest first.

    The order is that before the first main moves. A walk over the members gives each that has room one main, and there
    is one walk for each full member, which may keep more than the average (ZR-04).
    """
    ordered = sorted(members, key=lambda each: (len(each.mains), each.id), reverse=True)
    for full in ordered:
        if len(full.mains) <= average:
            break
        for other in reversed(ordered):
            if len(full.mains) <= average:
                break
            if len(other.mains) < average:
                other.mains.append(full.mains.pop())
    return ordered


def spare_controllers(members: Sequence[RingMember], average: int) -> None:
    """Move mains that are no controllers from controllers to other members, or swap them for controllers (ZR-06)."""
    others = [each for each in members if each.id not in CONTROLLERS]
    for controller in members:
        if controller.id in CONTROLLERS:
            for main in [each for each in controller.mains if each not in CONTROLLERS]:
                _pass_on(main, controller, others, average)


def _pass_on(main: int, controller: RingMember, others: Sequence[RingMember], average: int) -> None:
    """Give a main of a controller to the first other member that has room, or a controller's main to swap."""
    place = controller.mains.index(main)
    for other in others:
        if len(other.mains) < average:
            other.mains.append(controller.mains.pop(place))
            return
        for at, swapped in enumerate(other.mains):
            if swapped in CONTROLLERS:
                controller.mains[place], other.mains[at] = swapped, main
                return
