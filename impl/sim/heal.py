"""The end of a run: without further faults, everything has to work again.

The phase ends when its conditions hold: all clients have ended; every stream is open and takes an append; every sealed
entry is committed; every stream was read from its start to its end. A bound on the virtual time only says when to stop
waiting: the condition that does not hold then is the finding (``missing_of``).
"""

from __future__ import annotations

from collections.abc import Callable

from impl.sim.catalog import Catalog
from impl.sim.clients import StreamClient
from impl.sim.cluster import ControllerCluster
from impl.sim.director import Director
from impl.sim.queue import Queue
from impl.sim.script import ScriptOperation
from impl.sim.stages import HANDOVERS, Probe, is_drained, missing_of

BOUND_MS = 300_000
"""How long a run waits for its end; twice as long for what clients wait for."""

Spawn = Callable[[list[ScriptOperation], str], StreamClient]
"""Starts a further client with operations, in a phase of the history."""


class StreamHealing:
    """Waits for the conditions, one after the other. ``advance`` runs events up to a time.

    ``more_moves``: whether to move streams if the script has not moved them often enough.
    """

    def __init__(
        self,
        queue: Queue,
        cluster: ControllerCluster,
        director: Director,
        catalog: Catalog,
        clients: list[StreamClient],
        spawn: Spawn,
        advance: Callable[[int], None],
        *,
        more_moves: bool = True,
    ) -> None:
        self._queue, self._cluster, self._director, self._catalog = queue, cluster, director, catalog
        self._clients, self._advance, self._more_moves = clients, advance, more_moves
        self._value = -1
        self._probe = Probe(spawn)

    def run(self) -> str:
        """Run events until all conditions hold. Returns the one that does not hold in time; "" if all do."""
        stages: list[tuple[str, Callable[[], bool]]] = [
            ("clients have not ended", lambda: all(each.ended for each in self._clients)),
            ("streams are not open", self._is_open),
            ("streams were not handed over", self._has_moved),
            ("streams take no append", lambda: self._probed(self._appends, "heal")),
            ("sealed entries are not committed", self._is_drained),
            ("streams cannot be read", lambda: self._probed(self._reads, "final")),
        ]
        return missing_of(stages, self._queue, self._advance, BOUND_MS)

    def _is_open(self) -> bool:
        return all(self._director.is_open(key) for key in self._catalog.living())

    def _has_moved(self) -> bool:
        """Move streams, one at a time, until enough moves have happened. With a single broker there are no moves."""
        living = self._catalog.living()
        if (
            not self._more_moves
            or self._director.handovers >= HANDOVERS
            or len(self._director.states) < 2
            or not living
        ):
            return self._is_open()
        if self._is_open() and len(self._director.active()) > 1:
            self._director.move(living[self._director.handovers % len(living)], 1)
        return False

    def _is_drained(self) -> bool:
        leader = self._cluster.leader
        return leader is not None and is_drained(leader.image)

    def _probed(self, make: Callable[[], list[ScriptOperation]], phase: str) -> bool:
        return self._probe.succeeds(make, phase) and self._is_open()

    def _appends(self) -> list[ScriptOperation]:
        found = []
        for key in self._catalog.living():
            found.append(ScriptOperation(0, 0, "append", key, value=self._value))
            self._value -= 1
        return found

    def _reads(self) -> list[ScriptOperation]:
        return [ScriptOperation(0, 0, "fetch", key) for key in self._catalog.living()]
