"""The requests of operators to the controllers: moves, swaps, cancels and elections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from impl.client.admin import Admin
from impl.client.history import Ending
from impl.client.leaders import Key
from impl.client.node import ClientNode
from impl.sim.partitions.metadata import TOPIC, Metadata
from impl.sim.script import ScriptOperation

PATIENCE_MS = 20_000


class Operators:
    """Each request is made by an operator of its own.

    ``accepted``: the numbers of moves, cancels and elections that were accepted. ``busy``: the number of requests
    without an answer.
    """

    def __init__(self, node: ClientNode, metadata: Metadata) -> None:
        self.accepted: Counter[str] = Counter()
        self.busy = 0
        self._node, self._metadata = node, metadata
        self._admin = Admin(node, lambda _, partition: partition, patience_ms=PATIENCE_MS)
        self._numbers = 0

    def begin(self, operation: ScriptOperation) -> None:
        """Start an operation. The node carries it out when it gets its next input."""
        self._numbers += 1
        self.busy += 1
        self._node.start(self._do(operation, f"operator.{self._numbers}"))

    async def _do(self, operation: ScriptOperation, name: str) -> None:
        match operation.f:
            case "move":
                moves = self._moves(operation)
                if moves:
                    self._count("moves", await self._admin.reassign(name, moves))
            case "swap":
                moves = self._swaps(operation)
                if moves:
                    self._count("moves", await self._admin.reassign(name, moves))
            case "cancel":
                self._count("cancels", await self._admin.cancel(name, [(TOPIC, operation.key)]))
            case _:
                ending = await self._admin.elect(name, TOPIC, operation.key)
                self.accepted["elections asked for"] += ending == "ok"
        self.busy -= 1

    def _count(self, what: str, endings: Mapping[Key, Ending]) -> None:
        self.accepted[what] += sum(ending == "ok" for ending in endings.values())

    def _moves(self, operation: ScriptOperation) -> dict[Key, int]:
        """The move of the partition to the active broker ``hop`` places behind its own, in the cyclic order of ids."""
        home = self._metadata.home(operation.key)
        others = [node for node in self._metadata.active() if node != home]
        behind = [node for node in others if node > home] + [node for node in others if node < home]
        return {(TOPIC, operation.key): behind[(operation.hop - 1) % len(behind)]} if behind else {}

    def _swaps(self, operation: ScriptOperation) -> dict[Key, int]:
        """All partitions of two active brokers change places, in one request (RA-08)."""
        nodes = self._metadata.active()
        if len(nodes) < 2:
            return {}
        first = nodes[operation.key % len(nodes)]
        second = nodes[(operation.key + operation.hop) % len(nodes)]
        other = {first: second, second: first}
        rows = self._metadata.image.partitions
        own = ((key, row) for key, row in sorted(rows.items()) if row.topic == TOPIC)
        return {key: other[row.replicas[0]] for key, row in own if row.replicas[0] in other}
