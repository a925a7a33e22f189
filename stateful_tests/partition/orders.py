"""The operator's orders, and the check that each is completed in the end (SP-13, LP-01 to LP-05).

A move or a cancel is completed if the broker that the partition was given to leads it and has opened its streams. A
later order, or the fencing of that broker, may give the partition to another broker meanwhile.
"""

from __future__ import annotations

from impl import wire
from impl.errors import E
from impl.records import BrokerRegistration, StreamState
from stateful_tests.partition.broken import BrokenError, claim
from stateful_tests.partition.clients import Clients
from stateful_tests.partition.cluster import TOPIC, Cluster, streams_of

BOUND_MS = 300_000
"""The time within which all orders must be completed, once no message is held back."""
PERIOD_MS = 1_000


class Orders:
    """The orders of one run. ``check`` is called after each step."""

    def __init__(self, cluster: Cluster, clients: Clients) -> None:
        self._cluster, self._clients = cluster, clients
        self._seen = len(cluster.batches)
        self._homes = {number: self._home(number) for number in cluster.partitions}
        """By partition: the broker that the last order or failover gave it to."""
        self._last = dict.fromkeys(cluster.partitions, "the creation")
        """By partition: the last order or failover, in words."""
        self._origins: dict[int, int] = {}
        """By moving partition: the broker to which a cancel returns it (CA-53)."""
        self._ordered = False

    # Orders -----------------------------------------------------------------------------------------------------

    def move(self, targets: dict[int, int]) -> None:
        """Move partitions: ``targets`` has the new broker of each. Raises BrokenError if the metadata do not follow."""
        before = {number: (self._home(number), self._moves(number)) for number in targets}
        rows = self._alter({number: (node,) for number, node in targets.items()})
        for number, node in targets.items():
            home, moves = before[number]
            if rows[number] != E.NONE.name or home == node:
                continue
            origin = self._origins.get(number, home) if moves else home
            self._origins[number] = origin
            self._expect(number, node, f"the move from {home} to {node}")

    def cancel(self, number: int) -> None:
        """Cancel the move of a partition."""
        origin = self._origins.get(number, self._home(number))
        if self._alter({number: None})[number] == E.NONE.name:
            self._expect(number, origin, f"the cancel that gives it back to {origin}")

    def _alter(self, targets: dict[int, tuple[int, ...] | None]) -> dict[int, str]:
        self._ordered = True
        answer = self._cluster.operate(wire.AlterReassignments({TOPIC: targets}))
        rows = answer.values["rows"]
        return {number: rows[f"{TOPIC}-{number}"] for number in targets}

    def _expect(self, number: int, home: int, order: str) -> None:
        self._homes[number], self._last[number] = home, order
        text = f"after {order}, partition {number} belongs to {self._home(number)}"
        claim(self._home(number) == home, "SP-13", text)

    def _home(self, number: int) -> int:
        return self._cluster.image.partitions[TOPIC, number].replicas[0]

    def _moves(self, number: int) -> bool:
        return self._cluster.image.partitions[TOPIC, number].marker is not None

    # After each step --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check that a partition has changed its broker only by an order, or because a broker was fenced, came back, or
        shut down (PT-06). Raises BrokenError.
        """
        batches, ordered = self._cluster.batches[self._seen :], self._ordered
        self._seen, self._ordered = len(self._cluster.batches), False
        if ordered or not batches:
            return
        fenced = any(isinstance(record, BrokerRegistration) for batch in batches for record in batch.records)
        for number, home in self._homes.items():
            now = self._home(number)
            if now != home:
                leaves = self._cluster.image.brokers[home] == "shutting_down"
                claim(
                    fenced or leaves,
                    "SP-13",
                    f"partition {number} goes from {home} to {now}, and nobody has ordered that",
                )
                self._homes[number], self._last[number] = now, f"the failover from {home} to {now}"

    # In the end -------------------------------------------------------------------------------------------------

    def settle(self, phase: str | None = None) -> None:
        """Let all messages arrive and time pass until every order is completed, and read every partition.

        If no broker is alive, one is started; other dead brokers stay dead. ``phase``: the phase of the reads in the
        history. Raises BrokenError if an order is not completed within BOUND_MS.
        """
        cluster = self._cluster
        cluster.let_all_go()
        cluster.rest(PERIOD_MS)
        if not cluster.alive:
            cluster.restart(cluster.nodes[0])
        until = cluster.now + BOUND_MS
        while (missing := self._missing(phase)) is not None:
            if cluster.now >= until:
                raise missing
            cluster.rest(PERIOD_MS)
            if not cluster.alive:
                cluster.restart(cluster.nodes[0])

    def _missing(self, phase: str | None) -> BrokenError | None:
        """The first order that is not completed, as an error; None if all are.

        The leaders are asked only if the metadata are as they should be.
        """
        missing = self._unmet()
        if missing is not None:
            return missing
        clients = self._clients
        if clients.waiting:
            return BrokenError("heal", f"{clients.waiting} get no answer for {BOUND_MS} ms")
        for number in self._cluster.partitions:
            node = self._home(number)
            if not clients.confirms(number, node):
                return BrokenError("heal", f"{node} leads partition {number}, and confirms nothing in {BOUND_MS} ms")
            if not clients.reads(number, node, phase):
                return BrokenError("LP-04", f"{node} leads partition {number}, and cannot be read for {BOUND_MS} ms")
        return None

    def _unmet(self) -> BrokenError | None:
        """The first difference of the metadata from their goal, as an error; None if there is none."""
        image = self._cluster.image
        for number in self._cluster.partitions:
            row, order = image.partitions[TOPIC, number], self._last[number]
            rule = "LP-05" if "cancel" in order else "LP-01"
            streams = {each: image.streams[each] for each in streams_of(image, number)}
            opened = {each for each, stream in streams.items() if stream.state is StreamState.OPENED}
            home = row.replicas[0]
            mine = set(image.opened_on.get(home, ()))
            where = f"partition {number}, {BOUND_MS} ms after the last fault and {order}"
            if row.leader != home:
                return BrokenError("LP-02" if order == "the creation" else rule, f"nobody leads {where}")
            if not self._cluster.brokers[home].alive:
                return BrokenError(rule, f"broker {home}, which leads {where}, is gone")
            if opened - mine:
                return BrokenError("LP-03", f"streams {sorted(opened - mine)} are not closed: {where}")
            if not opened:
                return BrokenError(rule, f"broker {home} has opened no stream of {where}")
        return None
