"""An operator's requests to the controller: topics, moves, cancels, elections. Each partition is an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from impl import wire
from impl.client.control import Decision, ask_controller
from impl.client.history import Ending, F
from impl.client.leaders import Key
from impl.client.node import ClientNode
from impl.errors import E


class Admin:
    """``key``: the key that a partition has in the history. ``retry_ms``: the time between attempts.

    ``patience_ms``: how long attempts are repeated. The operation of a partition ends with ``ok`` when the controller
    has accepted the request, and with ``fail`` and the name of the error when it has refused the request. A process
    does one operation at a time, so each partition of a request has a process of its own.
    """

    def __init__(
        self, node: ClientNode, key: Callable[[str, int], int], *, retry_ms: int = 150, patience_ms: int = 60_000
    ) -> None:
        self._node, self._key = node, key
        self._retry_ms, self._patience_ms = retry_ms, patience_ms

    async def create_topic(self, process: str, topic: str, nodes: Sequence[int]) -> Ending:
        """Create an elastic topic. ``nodes``: the first node of each partition. Raises ValueError without nodes.

        The request may be repeated, as an existing topic is not created again. But if a repetition finds the topic, it
        is unknown who created it.
        """
        if not nodes:
            raise ValueError(f"topic {topic} needs a partition at least")
        operations = self._begin(process, "create", {(topic, number): node for number, node in enumerate(nodes)})
        body = wire.CreateTopic(topic, tuple((node,) for node in nodes), elastic=True)
        decision = await self._ask(body, repeats=True)
        return self._end(operations, decision, {})[topic, 0]

    async def reassign(self, process: str, moves: Mapping[Key, int]) -> dict[Key, Ending]:
        """Move partitions to nodes, in one request. Returns the ending of each.

        The request is not repeated when an answer is missing: a repetition could undo the move of another operator.
        """
        return await self._alter(process, "move", {key: (node,) for key, node in moves.items()})

    async def cancel(self, process: str, keys: Iterable[Key]) -> dict[Key, Ending]:
        """Cancel the moves of partitions, in one request, sent once as in ``reassign``. Returns the ending of each."""
        return await self._alter(process, "cancel", dict.fromkeys(keys))

    async def elect(self, process: str, topic: str, partition: int, kind: str = "preferred") -> Ending:
        """Elect the leader of a partition. A preferred election may be repeated: it is refused if it is not needed."""
        operations = self._begin(process, "elect", {(topic, partition): kind})
        decision = await self._ask(wire.ElectLeader(topic, partition, kind), repeats=kind == "preferred")
        return self._end(operations, decision, {})[topic, partition]

    async def list_reassignments(self, topics: Mapping[str, Sequence[int]] | None = None) -> dict[str, Any] | None:
        """The moves in progress by partition, of all topics or of some partitions; None without an answer.

        The request changes nothing, so the history does not record it.
        """
        wanted = None if topics is None else {topic: tuple(numbers) for topic, numbers in topics.items()}
        decision = await self._ask(wire.ListReassignments(wanted), repeats=True)
        if decision.answer is None or decision.answer.error is not E.NONE:
            return None
        found: dict[str, Any] = decision.answer.values["reassignments"]
        return found

    # ----------------------------------------------------------------------------------------------------------

    async def _alter(self, process: str, f: F, wanted: Mapping[Key, tuple[int, ...] | None]) -> dict[Key, Ending]:
        topics: dict[str, dict[int, tuple[int, ...] | None]] = {}
        for (topic, partition), nodes in wanted.items():
            topics.setdefault(topic, {})[partition] = nodes
        values = {key: None if nodes is None else nodes[0] for key, nodes in wanted.items()}
        operations = self._begin(process, f, values)
        decision = await self._ask(wire.AlterReassignments(topics), repeats=False)
        return self._end(
            operations, decision, {} if decision.answer is None else decision.answer.values.get("rows", {})
        )

    async def _ask(self, body: wire.Body, *, repeats: bool) -> Decision:
        return await ask_controller(
            self._node, body, repeats=repeats, retry_ms=self._retry_ms, patience_ms=self._patience_ms
        )

    def _begin(self, process: str, f: F, values: Mapping[Key, Any]) -> dict[Key, int]:
        """Begin an operation for each partition. Returns their indices in the history."""
        return {
            (topic, partition): self._node.recorder.begin(
                f"{process}.{_label(topic, partition)}", f, self._key(topic, partition), value
            )
            for (topic, partition), value in values.items()
        }

    def _end(self, operations: Mapping[Key, int], decision: Decision, rows: Mapping[str, str]) -> dict[Key, Ending]:
        """End the operations. ``rows``: the errors that the answer has for single partitions. Returns the endings."""
        endings: dict[Key, Ending] = {}
        for key, index in operations.items():
            error = rows.get(_label(*key), decision.error)
            endings[key] = decision.ending(error)
            self._node.recorder.end(index, endings[key], error=None if endings[key] == "ok" else error)
        return endings


def _label(topic: str, partition: int) -> str:
    """The name of a partition in the answer of a controller."""
    return f"{topic}-{partition}"
