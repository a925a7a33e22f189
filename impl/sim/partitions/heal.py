"""The end of a run with partitions: without further faults, everything has to work again (LP-01 to LP-07).

As for streams, the phase ends when its conditions hold; a bound on the virtual time says when to stop waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from impl.controller.routes import route_epochs
from impl.sim.load import Parts
from impl.sim.partitions.clients import PartitionClient
from impl.sim.partitions.metadata import Metadata
from impl.sim.partitions.operators import Operators
from impl.sim.partitions.script import OPERATOR
from impl.sim.script import ScriptOperation
from impl.sim.stages import HANDOVERS, POLL_MS, Probe, is_drained, missing_of

BOUND_MS = 180_000
"""How long a run waits for its end, which is twice the usual time; twice as long for what clients wait for."""
QUIET_MS = 15_000
"""Longer than any wait between two repetitions of a request, so that a request repeated in vain is noticed (LP-07)."""
PLACES = (0.0, 0.5, 0.9)
"""Where readers of zones begin: at these parts of the end of a partition."""
CANCELS = 1
"""The least number of cancelled moves of a run. The heal phase adds those that the script has not led to."""
FIRST_VALUE = 1_000_000
"""The first value that probes append, above the values of every script."""

Spawn = Callable[[Sequence[ScriptOperation], str], PartitionClient]
"""Starts a further client with operations, in a phase of the history."""
Ask = Callable[[ScriptOperation], None]
"""Lets an operator begin an operation."""


class PartitionHealing:
    """Waits for the conditions, one after the other."""

    def __init__(
        self,
        parts: Parts,
        metadata: Metadata,
        operators: Operators,
        clients: Sequence[PartitionClient],
        spawn: Spawn,
        ask: Ask,
    ) -> None:
        self._parts, self._metadata, self._operators = parts, metadata, operators
        self._clients, self._ask = clients, ask
        self._value = FIRST_VALUE
        self._probe = Probe(spawn)
        self._quiet_from = 0
        self._swapped = False
        self._epoch: int | None = None

    def run(self) -> str:
        """Run events until all conditions hold. Returns the first that does not hold in time; "" if all do."""
        # The balancing (EL-10) would elect a broker that should have been elected long before.
        for controller in self._parts.cluster.controllers:
            controller.profile = replace(controller.profile, balances=False)
        # Clients take turns in the zones, so that many of them are one in each zone.
        zones = self._parts.options.zones
        moves: list[tuple[str, Callable[[], bool]]] = [
            ("partitions were not moved", self._has_moved),
            ("no move was cancelled", self._has_cancelled),
            ("swapped partitions have no serving leader", self._has_swapped),
        ]
        stages: list[tuple[str, Callable[[], bool]]] = [
            ("clients have not ended", self._have_ended),
            ("partitions have no leader that serves", self._is_settled),
            *(
                [("a zone cannot read all partitions", lambda: self._probed(self._places, "zones", zones))]
                if zones
                else []
            ),
            *(moves if self._parts.options.more_moves else ()),
            ("partitions take no append", lambda: self._probed(self._appends, "heal")),
            ("sealed entries are not committed", lambda: is_drained(self._metadata.image)),
            ("a node keeps repeating a refused request", self._is_quiet),
            *([("route epochs are not committed", self._is_committed)] if zones else []),
            ("partitions cannot be read", lambda: self._probed(self._reads, "final", zones or 1)),
        ]
        return missing_of(stages, self._parts.queue, self._parts.advance, BOUND_MS)

    def _have_ended(self) -> bool:
        return not self._operators.busy and all(each.ended for each in self._clients)

    def _keys(self) -> range:
        return range(self._parts.options.partitions)

    def _is_settled(self) -> bool:
        return not self._operators.busy and all(map(self._metadata.is_settled, self._keys()))

    def _has_moved(self) -> bool:
        """Move partitions, one at a time, until enough have changed their leader. A single broker can move none."""
        if self._metadata.handovers >= HANDOVERS or len(self._metadata.image.brokers) < 2:
            return self._is_settled()
        if self._is_settled():
            self._ask(ScriptOperation(OPERATOR, 0, "move", self._metadata.handovers % len(self._keys())))
        return False

    def _has_cancelled(self) -> bool:
        """Begin a move, and cancel it at once, until a cancel comes before the target serves."""
        if self._operators.accepted["cancels"] >= CANCELS or len(self._metadata.image.brokers) < 2:
            return self._is_settled()
        if self._is_settled():
            self._ask(ScriptOperation(OPERATOR, 0, "move", 0))
            # A moment later, so that the cancel finds the move under way.
            self._parts.queue.at(
                self._parts.queue.now + POLL_MS // 2, self._ask, ScriptOperation(OPERATOR, 0, "cancel", 0)
            )
            self._parts.advance(self._parts.queue.now + POLL_MS)
        return False

    def _has_swapped(self) -> bool:
        """LP-06. Two brokers swap all their partitions."""
        if not self._swapped:
            self._swapped = True
            self._ask(ScriptOperation(OPERATOR, 0, "swap", 0))
            return False
        return self._is_settled()

    def _is_committed(self) -> bool:
        """V-1. Whether all nodes have committed the route epoch that was current when this was asked first."""
        found = route_epochs(self._metadata.image)
        if self._epoch is None:
            self._epoch = found.current
        return found.committed >= self._epoch

    def _is_quiet(self) -> bool:
        """Whether the controllers have refused no request for ``QUIET_MS``."""
        now = self._parts.queue.now
        # The quiet begins with the first call, and anew with each refusal.
        self._quiet_from = max(self._quiet_from or now, self._parts.cluster.refused_at)
        return now - self._quiet_from >= QUIET_MS

    def _probed(self, make: Callable[[], list[ScriptOperation]], phase: str, clients: int = 1) -> bool:
        return self._probe.succeeds(make, phase, clients) and self._is_settled()

    def _appends(self) -> list[ScriptOperation]:
        begin, self._value = self._value, self._value + len(self._keys())
        return [ScriptOperation(0, 0, "append", key, value=begin + key) for key in self._keys()]

    def _places(self) -> list[ScriptOperation]:
        """Reads from the start of each partition, and from within (V-3, I-11)."""
        return [ScriptOperation(0, 0, "fetch", key, part=part) for key in self._keys() for part in PLACES]

    def _reads(self) -> list[ScriptOperation]:
        return [ScriptOperation(0, 0, "fetch", key) for key in self._keys()]
