"""The network: links with a delay, each in the order of sending, and the faults of messages and of links."""

from __future__ import annotations

from typing import Any

from impl.sim.faults import REPORT
from impl.sim.queue import Action, Queue
from impl.sim.tape import Site, Tape, stream
from impl.wire import ReportRouteEpoch

SLOWEST_MS = 5
"""The longest delay of a message without a fault."""
REORDER_MS, DELAY_MS, REPEAT_MS = 50, 8_000, 5_000
"""The longest extra delay: of a message that others overtake, of one that holds others up, and of a second copy."""
PEER = ">peer"
"""How the direction of a link to another broker begins."""
PLACES = ("controller", "client")
"""The places to which a broker node has links, one in each direction."""


class Link:
    """One direction between a node and a place.

    ``last``: when its last message arrives. ``cut``: the time until which it is cut.
    """

    __slots__ = ("cut", "last", "site")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.last = 0
        self.cut = 0


class Network:
    """The links between the nodes, the controllers, and the clients."""

    def __init__(self, queue: Queue, tape: Tape, seed: int) -> None:
        self._queue, self._tape = queue, tape
        self._weather = stream(seed, "weather of the network")
        self._links: dict[tuple[int, str], Link] = {}
        self._reported: set[int] = set()
        """The nodes of which a report of a route epoch was sent and not lost."""

    def link(self, node: int, direction: str) -> Link:
        """The link of a node: direction ">controller", "<controller", ">client" or "<client"."""
        found = self._links.get((node, direction))
        if found is None:
            repeats = ("duplicate",) if direction.endswith("controller") else ()
            # A broker has one connection to another, which keeps the order (ZR-23).
            orders = () if direction.startswith(PEER) else ("reorder",)
            site = self._tape.site(f"network/{node}{direction}", ("loss", "delay", *repeats, *orders))
            found = self._links[node, direction] = Link(site)
        return found

    def send(self, link: Link, action: Action, *arguments: Any) -> None:
        """Call ``action`` when the message arrives: never, once or twice."""
        now = self._queue.now
        # Decided and drawn even if the link is cut, so that a cut does not change the later messages.
        fault = link.site.decide(now)
        time = now + 1 + int(self._weather() * SLOWEST_MS)
        if now < link.cut:
            return
        if fault is not None:
            self._tape.happened(fault)
            if fault.kind == "loss":
                return
            if fault.kind == "reorder":  # ``link.last`` stays, so later messages may overtake this one.
                self._queue.at(time + 1 + int(fault.value * REORDER_MS), action, *arguments)
                return
            if fault.kind == "delay":
                time += int(fault.value**2 * DELAY_MS)
            else:
                self._queue.at(time + int(fault.value**2 * REPEAT_MS), action, *arguments)
        if time < link.last:  # Messages of a link arrive in the order of sending.
            time = link.last
        link.last = time
        self._queue.at(time, action, *arguments)

    def loses_report(self, node: int, body: Any) -> bool:
        """Whether a request is the first report of a node's route epoch, and gets lost."""
        if not isinstance(body, ReportRouteEpoch) or node in self._reported:
            return False
        fault = self._tape.site(f"report/{node}", tuple(REPORT)).decide(self._queue.now)
        if fault is None:
            self._reported.add(node)
            return False
        self._tape.happened(fault)
        return True

    def send_surely(self, link: Link, delay: int, action: Action, *arguments: Any) -> None:
        """Call ``action`` when a message arrives that its sender repeats until it does. A cut link delays it."""
        self._queue.at(max(self._queue.now + 1 + delay, link.cut), action, *arguments)

    def cut(self, node: int, places: tuple[str, ...], directions: str, until: int) -> None:
        """Cut the links of a node with some places, in the directions ">" and "<" that are named, until a time."""
        for place in places:
            for direction in directions:
                link = self.link(node, direction + place)
                link.cut = max(link.cut, until)

    def mend(self) -> None:
        """All links work again."""
        for link in self._links.values():
            link.cut = 0
