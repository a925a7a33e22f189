"""Hypothesis drives a cluster. There is one rule for each action of the clients, the operator and the brokers, and for
each way in which messages arrive.
"""

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
"""The handshake (it decides who asks for the election of a new leader), and whether fast close (V6) is on."""
DELAYS_MS = (10, 100, 500, 1_500, 4_000, 11_000, 31_000, 61_000)
"""Waiting times that matter: those of the WAL, of retries, sessions, timers, and failovers."""
PLACE = st.integers(0, 11)
"""A number that chooses one of several things; it is taken modulo their number."""
WHO = st.integers(1, 7)
"""A non-empty set of the three producers of a partition, as a bit mask."""
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=3)
"""The numbers of records of the batches that a producer sends, one after the other."""
APART = 4
"""The fewest steps between two uses of the rule ``settle``."""
OFTEN_LEADER = st.sampled_from((True, True, True, False))
"""Whether a rule uses the broker to which the partition belongs (mostly), or the one that ``PLACE`` chooses."""

Machine = type["PartitionMachine"]


def _noted(step: Callable[..., None]) -> Callable[..., None]:
    """A decorator of steps. If the step fails, it marks the run as failed, and records the number of runs until then.

    A failed run is not judged again in ``teardown``.
    """

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
    """One run of a cluster. After each step of the cluster, all properties are checked on the run so far."""

    examples: ClassVar[int] = 0
    """The number of runs begun so far."""
    found_after: ClassVar[int | None] = None
    """The number of runs begun when the first of them failed; None if none has."""

    cluster: Cluster
    steps = 0
    """The number of steps since the last ``settle``."""
    failed = False
    """Whether a property does not hold in this run."""

    @initialize(
        generation=st.sampled_from(GENERATIONS),
        nodes=st.sampled_from((2, 3)),
        partitions=st.sampled_from((2, 1)),
        threads=st.sampled_from((1, 4)),
    )
    def begin(self, generation: tuple[str, bool], nodes: int, partitions: int, threads: int) -> None:
        """Start a cluster whose brokers serve, and whose partitions have leaders."""
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
        """The broker to which a client sends a command."""
        return self._home(client.partition) if leader else self._node(place)

    # Clients ----------------------------------------------------------------------------------------------------

    @rule(which=PLACE, who=WHO, counts=COUNTS, place=PLACE, leader=OFTEN_LEADER)
    @_noted
    def produce(self, which: int, who: int, counts: list[int], place: int, leader: bool) -> None:
        """Some producers of a partition send a batch each, or repeat the last one if it has no offset yet.

        There is a round for each of ``counts``. Between rounds, the batches have time to be confirmed.
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
        """Idempotent producers repeat their newest batches, even if these are confirmed."""
        mine = [each for each in self.clients.producers if each.partition == self._partition(which)]
        for place_of, client in enumerate(mine):
            if who >> place_of & 1:
                self.clients.repeat(client, self._asked(client, place, leader))

    @rule(who=PLACE, begin=PLACE, place=PLACE, leader=OFTEN_LEADER)
    @_noted
    def consume(self, who: int, begin: int, place: int, leader: bool) -> None:
        """A reader reads from an existing offset, or from the end."""
        client = self.clients.readers[who % len(self.clients.readers)]
        end = self.clients.end(client.partition)
        self.clients.read(client, self._asked(client, place, leader), begin % (end + 1))

    # The operator -----------------------------------------------------------------------------------------------

    @rule(which=PLACE, to=PLACE)
    @_noted
    def move(self, which: int, to: int) -> None:
        """The operator moves a partition to a broker."""
        self.orders.move({self._partition(which): self._node(to)})

    @rule(by=st.integers(1, 2), settle=st.booleans())
    @_noted
    def move_all(self, by: int, settle: bool) -> None:
        """The operator moves each partition by one or two brokers, in a ring; two brokers swap partitions (LP-06)."""
        homes = {each: self._home(each) for each in self.cluster.partitions}
        self.orders.move({each: self._node(home - 1 + by) for each, home in homes.items()})
        if settle:
            self.orders.settle()

    @rule(which=PLACE)
    @_noted
    def cancel(self, which: int) -> None:
        """The operator cancels a move."""
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
        """A process fails in one of four ways, given by ``how``.

        ``crash``: it crashes. ``restart``: it crashes, and its successor starts at once. ``stop``: it begins an orderly
        shutdown. ``fence``: it lives, but the controller considers it dead. ``busy``: producers send batches just
        before.
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
        """A node without a living process starts its next one."""
        gone = [node for node in self.cluster.nodes if node not in self.cluster.alive]
        self.cluster.restart(gone[place % len(gone)])

    # Messages and time ------------------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(sorted(KINDS)), place=PLACE)
    @_noted
    def hold(self, kind: str, place: int) -> None:
        """Messages of a kind that a broker sends or receives are held back from now on."""
        self.cluster.hold(kind, self._node(place))

    @precondition(lambda self: self.cluster.holding)
    @rule(place=PLACE)
    @_noted
    def let_go(self, place: int) -> None:
        """Messages of one kind and broker are no longer held back, and arrive."""
        holding = sorted(self.cluster.holding)
        self.cluster.let_go(*holding[place % len(holding)])

    @precondition(lambda self: self.cluster.held)
    @rule(place=PLACE, ms=st.sampled_from((0, 1_500)))
    @_noted
    def let_one_go(self, place: int, ms: int) -> None:
        """One held message arrives, and with ``ms`` also all messages that follow from it."""
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
        """Time passes, and all messages that are not held back arrive."""
        self.cluster.rest(ms)

    @precondition(lambda self: self.steps >= APART)
    @rule()
    @_noted
    def settle(self) -> None:
        """No message is held back any more, and all commands of the operator are completed."""
        self.steps = 0
        self.orders.settle()

    @invariant()
    def count(self) -> None:
        """Count the steps since the last ``settle``. An invariant, because Hypothesis calls it after each step."""
        self.steps += 1

    def teardown(self) -> None:
        """Complete all commands, and check with final reads that every confirmed batch is there."""
        if hasattr(self, "orders") and not self.failed:
            self._end()

    @_noted
    def _end(self) -> None:
        self.orders.settle(FINAL)
        final(self.clients)


def machine() -> Machine:
    """A new subclass of the machine, so that its counts of runs start at 0."""
    made: Machine = type("PartitionsOfACluster", (PartitionMachine,), {"__doc__": PartitionMachine.__doc__})
    return made


def drive(driven: Machine, **chosen: Any) -> None:
    """Run a machine with the settings of the current profile, changed by ``chosen``. Raises BrokenError."""
    given = {
        "stateful_step_count": STEPS,
        "deadline": None,
        "report_multiple_bugs": False,
        "suppress_health_check": list(HealthCheck),
        **chosen,
    }
    run_state_machine_as_test(driven, settings=settings(**given))
