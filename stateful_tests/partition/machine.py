"""Hypothesis drives a cluster: one rule for each thing that clients, the operator, brokers and messages can do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from impl import wire
from impl.broker.messages import Stop
from impl.client.history import FINAL
from stateful_tests.partition.acks import Acks
from stateful_tests.partition.clients import Client, Clients, final
from stateful_tests.partition.cluster import KINDS, TOPIC, Cluster
from stateful_tests.partition.orders import Orders
from stateful_tests.partition.registrations import Registrations

STEPS = 30
"""The most steps of one example."""
GENERATIONS = (("G0", False), ("G1", False), ("G1", True))
"""Who asks for the election of a new leader, and whether a close may come before the upload (V6)."""
DELAYS_MS = (10, 100, 500, 1_500, 4_000, 11_000, 31_000, 61_000)
"""Times that matter: of the WAL, of retries, of sessions, of timers, and of failovers."""
PLACE = st.integers(0, 11)
"""A number that chooses one of several things; it is taken modulo their number."""
WHO = st.integers(1, 7)
"""Which of the three producers of a partition: a bit each."""
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=3)
"""The records of the batches that a producer sends, one after the other."""
APART = 4
"""The fewest steps between two times at which everything comes to its end."""
OFTEN_LEADER = st.sampled_from((True, True, True, False))
"""Whether the broker is meant to which the partition belongs, or the one that ``PLACE`` chooses."""

Machine = type["PartitionMachine"]


def _noted(step: Callable[..., None]) -> Callable[..., None]:
    """A step that notes when it fails, so that the run is not judged again, and the number of runs until then."""

    @wraps(step)
    def noted(self: PartitionMachine, **values: Any) -> None:
        try:
            step(self, **values)
        except Exception:
            self.failed = True
            if type(self).found_after is None:
                type(self).found_after = self.examples
            raise

    return noted


class PartitionMachine(RuleBasedStateMachine):
    """One run of a cluster. After each step of the cluster everything is checked that was seen so far."""

    examples: ClassVar[int] = 0
    """The runs begun so far."""
    found_after: ClassVar[int | None] = None
    """The number of runs begun when the first of them failed; None if none has."""

    cluster: Cluster
    steps = 0
    """How many steps were taken since everything came to its end last."""
    failed = False
    """Whether a property of this run is broken."""

    @initialize(
        generation=st.sampled_from(GENERATIONS),
        nodes=st.sampled_from((2, 3)),
        partitions=st.sampled_from((2, 1)),
        threads=st.sampled_from((1, 4)),
    )
    def begin(self, generation: tuple[str, bool], nodes: int, partitions: int, threads: int) -> None:
        """The brokers serve, and each partition has a leader."""
        type(self).examples += 1
        handshake, v6 = generation
        self.cluster = Cluster(handshake, v6=v6, nodes=nodes, partitions=partitions, threads=threads)
        self.clients = Clients(self.cluster)
        self.orders = Orders(self.cluster, self.clients)
        self.cluster.watchers += [
            Registrations(self.cluster).check,
            Acks(self.cluster).check,
            self.orders.check,
            self.clients.check,
        ]

    def _node(self, place: int) -> int:
        return self.cluster.nodes[place % len(self.cluster.nodes)]

    def _partition(self, place: int) -> int:
        return self.cluster.partitions[place % len(self.cluster.partitions)]

    def _home(self, partition: int) -> int:
        """The broker to which a partition belongs."""
        home: int = self.cluster.image.partitions[TOPIC, partition].replicas[0]
        return home

    def _asked(self, client: Client, place: int, leader: bool) -> int:
        """The broker that a client asks."""
        return self._home(client.partition) if leader else self._node(place)

    # Clients ----------------------------------------------------------------------------------------------------

    @rule(which=PLACE, who=WHO, counts=COUNTS, place=PLACE, leader=OFTEN_LEADER)
    @_noted
    def produce(self, which: int, who: int, counts: list[int], place: int, leader: bool) -> None:
        """Some producers of a partition send a batch each, or the one before again if that has no offset yet.

        After each round but the last, the batches have time to be confirmed.
        """
        for number, count in enumerate(counts):
            if number:
                self.cluster.rest(20)
            self._produce(self._partition(which), who, count, place, leader)

    def _produce(self, partition: int, who: int, count: int, place: int, leader: bool) -> None:
        mine = [each for each in self.clients.producers if each.partition == partition]
        for number, client in enumerate(mine):
            if who >> number & 1:
                self.clients.send(client, self._asked(client, place, leader), count)

    @rule(which=PLACE, who=WHO, place=PLACE, leader=OFTEN_LEADER)
    @_noted
    def produce_again(self, which: int, who: int, place: int, leader: bool) -> None:
        """Idempotent producers send their newest batches again, although they may have their offsets."""
        mine = [each for each in self.clients.producers if each.partition == self._partition(which)]
        for place_of, client in enumerate(mine):
            if who >> place_of & 1:
                self.clients.repeat(client, self._asked(client, place, leader))

    @rule(who=PLACE, begin=PLACE, place=PLACE, leader=OFTEN_LEADER)
    @_noted
    def consume(self, who: int, begin: int, place: int, leader: bool) -> None:
        """Somebody reads from an offset that exists."""
        client = self.clients.readers[who % len(self.clients.readers)]
        end = self.clients.end(client.partition)
        self.clients.read(client, self._asked(client, place, leader), begin % (end + 1))

    # The operator -----------------------------------------------------------------------------------------------

    @rule(which=PLACE, to=PLACE)
    @_noted
    def move(self, which: int, to: int) -> None:
        """A partition is to go to a broker."""
        self.orders.move({self._partition(which): self._node(to)})

    @rule(by=st.integers(1, 2), settle=st.booleans())
    @_noted
    def move_all(self, by: int, settle: bool) -> None:
        """Each partition is to go to the next broker, or to the one behind that; two brokers swap theirs (LP-06)."""
        homes = {each: self._home(each) for each in self.cluster.partitions}
        self.orders.move({each: self._node(home - 1 + by) for each, home in homes.items()})
        if settle:
            self.orders.settle()

    @rule(which=PLACE)
    @_noted
    def cancel(self, which: int) -> None:
        """The operator takes a move back."""
        self.orders.cancel(self._partition(which))

    @rule(which=PLACE)
    @_noted
    def elect(self, which: int) -> None:
        """The operator asks for an election."""
        self.cluster.operate(wire.ElectLeader(TOPIC, self._partition(which)))

    # Brokers ----------------------------------------------------------------------------------------------------

    @rule(
        which=PLACE,
        place=PLACE,
        leader=OFTEN_LEADER,
        busy=st.booleans(),
        how=st.sampled_from(("crash", "restart", "restart", "stop", "fence")),
    )
    @_noted
    def fail(self, which: int, place: int, leader: bool, busy: bool, how: str) -> None:
        """A process crashes, with or without a successor at once, or begins to end in order; or the controller takes
        it for dead while it lives. ``busy``: producers have just sent something.
        """
        if busy:
            self._produce(self._partition(which), 7, 1, place, leader)
            self.cluster.rest(20)
        node = self._home(self._partition(which)) if leader else self._node(place)
        match how:
            case "crash" | "restart":
                self.cluster.crash(node)
            case "stop":
                self.cluster.brokers[node].take(Stop())
            case "fence":
                self.cluster.operate(wire.SetBroker(node, "fenced"))
        if how == "restart":
            self.cluster.restart(node)

    @precondition(lambda self: len(self.cluster.alive) < len(self.cluster.nodes))
    @rule(place=PLACE)
    @_noted
    def restart(self, place: int) -> None:
        """The next process of a node without one starts."""
        gone = [node for node in self.cluster.nodes if node not in self.cluster.alive]
        self.cluster.restart(gone[place % len(gone)])

    # Messages and time ------------------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(sorted(KINDS)), place=PLACE)
    @_noted
    def hold(self, kind: str, place: int) -> None:
        """Messages of a kind, to or from a broker, do not arrive for now."""
        self.cluster.hold(kind, self._node(place))

    @precondition(lambda self: self.cluster.holding)
    @rule(place=PLACE)
    @_noted
    def let_go(self, place: int) -> None:
        """What was held back arrives."""
        holding = sorted(self.cluster.holding)
        self.cluster.let_go(*holding[place % len(holding)])

    @precondition(lambda self: self.cluster.held)
    @rule(place=PLACE, ms=st.sampled_from((0, 1_500)))
    @_noted
    def let_one_go(self, place: int, ms: int) -> None:
        """One of the messages that were held back arrives, and perhaps all that follows from it."""
        self.cluster.let_one_go(place)
        if ms:
            self.cluster.rest(ms)

    @rule(count=st.integers(1, 40))
    @_noted
    def deliver(self, count: int) -> None:
        """Some messages arrive."""
        self.cluster.deliver(count)

    @rule(ms=st.sampled_from(DELAYS_MS))
    @_noted
    def wait(self, ms: int) -> None:
        """All messages arrive that are not held back, and time passes."""
        self.cluster.rest(ms)

    @precondition(lambda self: self.steps >= APART)
    @rule()
    @_noted
    def settle(self) -> None:
        """Nothing is held back any more, and everything comes to its end."""
        self.steps = 0
        self.orders.settle()

    @invariant()
    def count(self) -> None:
        """Count the steps since everything came to its end last."""
        self.steps += 1

    def teardown(self) -> None:
        """Everything comes to its end, and all that was confirmed is there."""
        if hasattr(self, "orders") and not self.failed:
            self._end()

    @_noted
    def _end(self) -> None:
        self.orders.settle(FINAL)
        final(self.clients)


def machine() -> Machine:
    """A new machine, which has counted no run yet."""
    made: Machine = type("PartitionsOfACluster", (PartitionMachine,), {"__doc__": PartitionMachine.__doc__})
    return made


def drive(driven: Machine, **chosen: Any) -> None:
    """Run a machine under the profile in force, with other settings where they are given. Raises BrokenError."""
    given = {
        "stateful_step_count": STEPS,
        "deadline": None,
        "report_multiple_bugs": False,
        "suppress_health_check": list(HealthCheck),
        **chosen,
    }
    run_state_machine_as_test(driven, settings=settings(**given))
