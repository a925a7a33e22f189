"""Hypothesis drives a simulated cluster: one rule for each thing that clients, operators, faults and time may do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from impl.sim import faults
from impl.sim.partitions.script import OPERATOR
from impl.sim.script import ScriptOperation
from stateful_tests.cluster.cluster import KEYS, MESSAGES, PLANNED, Cluster
from stateful_tests.cluster.moto_bucket import MotoBucket, moto_bucket
from stateful_tests.cluster.shape import Shape

STEPS = 30
"""The most steps of one example."""
CLIENTS = 3
DELAYS_MS = (100, 20, 500, 2_000, 5_000, 11_000, 31_000)
"""Waiting times that matter: those of the WAL, of retries, sessions, uploads and timeouts."""
PAUSES_MS = (100, 0, 20, 1_000)
"""The times that pass right after an operation was given to a client."""
CLIENT, KEY = st.integers(1, CLIENTS), st.integers(0, KEYS - 1)
PLACE = st.integers(0, 5)
"""A number that chooses one of several nodes; it is taken modulo their number."""
VALUE = st.integers(0, 63).map(lambda number: number / 64)
"""How bad a fault is."""

Machine = type["ClusterMachine"]


def _noted(step: Callable[..., None]) -> Callable[..., None]:
    """A decorator of steps: judges the run after the step.

    If the step fails, it marks the run as failed, and records the number of runs until then and the rules of the run. A
    failed run is not judged again in ``teardown``.
    """

    @wraps(step)
    def noted(self: ClusterMachine, **values: Any) -> None:
        self.steps.append(step.__name__)
        try:
            step(self, **values)
            self.cluster.check()
        except Exception:
            self.failed = True
            type(self).found = tuple(self.steps)
            if type(self).found_after is None:
                type(self).found_after = self.examples
            raise

    return noted


class ClusterMachine(RuleBasedStateMachine):
    """One run of a cluster. After each step, the oracles judge the run so far."""

    examples: ClassVar[int] = 0
    """The number of runs begun so far."""
    found_after: ClassVar[int | None] = None
    """The number of runs begun when the first of them failed; None if none has."""

    store: ClassVar[MotoBucket]
    found: ClassVar[tuple[str, ...]] = ()
    """The steps of the newest run that failed: first ``begin``, then its rules; ``_end`` if it failed at the end."""

    cluster: Cluster
    failed = False
    """Whether this run has broken a property."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []
        """The steps that this run has begun, by name."""
        self.values = 0
        """The number of values that clients have sent."""

    @initialize(
        load=st.sampled_from(("streams", "partitions")),
        version=st.sampled_from(("V6", "legacy")),
        generation=st.sampled_from(("G1", "G0")),
        brokers=st.sampled_from((2, 3)),
        seed=st.integers(0, 7),
    )
    @_noted
    def begin(
        self,
        load: Literal["streams", "partitions"],
        version: Literal["legacy", "V6"],
        generation: Literal["G0", "G1"],
        brokers: int,
        seed: int,
    ) -> None:
        """Start a cluster whose brokers serve all streams or partitions."""
        type(self).examples += 1
        self.cluster = Cluster(Shape(load, version, generation, brokers, seed), self.store)

    def _node(self, place: int) -> int:
        nodes = self.cluster.nodes
        return nodes[place % len(nodes)]

    # Clients ----------------------------------------------------------------------------------------------------

    @rule(client=CLIENT, key=KEY, count=st.integers(1, 3), ms=st.sampled_from(PAUSES_MS))
    @_noted
    def produce(self, client: int, key: int, count: int, ms: int) -> None:
        """A client sends a batch."""
        self.values += 1
        self.cluster.give(ScriptOperation(client, 0, "append", key, value=self.values, count=count))
        self.cluster.rest(ms)

    @rule(client=CLIENT, key=KEY, part=st.sampled_from((0.0, 0.5, 1.0)), ms=st.sampled_from(PAUSES_MS))
    @_noted
    def fetch(self, client: int, key: int, part: float, ms: int) -> None:
        """A client reads, from a share of the offsets that it knows on."""
        self.cluster.give(ScriptOperation(client, 0, "fetch", key, part=part))
        self.cluster.rest(ms)

    @precondition(lambda self: self.cluster.shape.load == "streams")
    @rule(client=CLIENT, key=KEY, part=st.sampled_from((1.0, 0.5)))
    @_noted
    def trim(self, client: int, key: int, part: float) -> None:
        """A client drops a share of the offsets that it knows. Partitions have no such command."""
        self.cluster.give(ScriptOperation(client, 0, "trim", key, part=part))

    # Operators --------------------------------------------------------------------------------------------------

    @rule(key=KEY, hop=st.integers(1, 2), ms=st.sampled_from(PAUSES_MS))
    @_noted
    def reassign(self, key: int, hop: int, ms: int) -> None:
        """A stream or partition is moved to another broker."""
        self.cluster.give(ScriptOperation(OPERATOR, 0, "move", key, hop=hop))
        self.cluster.rest(ms)

    @precondition(lambda self: self.cluster.shape.load == "partitions")
    @rule(key=KEY)
    @_noted
    def cancel(self, key: int) -> None:
        """An operator cancels the move of a partition."""
        self.cluster.give(ScriptOperation(OPERATOR, 0, "cancel", key))

    @precondition(lambda self: self.cluster.shape.load == "partitions")
    @rule(key=KEY)
    @_noted
    def elect(self, key: int) -> None:
        """An operator asks for an election of the leader of a partition."""
        self.cluster.give(ScriptOperation(OPERATOR, 0, "elect", key))

    # Processes --------------------------------------------------------------------------------------------------

    @rule(place=PLACE, kind=st.sampled_from(("crash_fast", "crash_slow")), value=VALUE)
    @_noted
    def crash(self, place: int, kind: str, value: float) -> None:
        """A process crashes after some inputs; its successor starts before or after its session ends."""
        self.cluster.befall(self._node(place), kind, value)

    @precondition(lambda self: self.cluster.absent)
    @rule(place=PLACE)
    @_noted
    def restart(self, place: int) -> None:
        """The successor of a process that is dead or paused starts now."""
        absent = self.cluster.absent
        self.cluster.restart(absent[place % len(absent)])

    @rule(place=PLACE, kind=st.sampled_from(("pause", "replace", "stop")), value=VALUE)
    @_noted
    def pause(self, place: int, kind: str, value: float) -> None:
        """A process pauses; or it does and gets a successor, beside which it goes on; or it shuts down in order."""
        self.cluster.befall(self._node(place), kind, value)

    @rule(kind=st.sampled_from(tuple(faults.CONTROLLER)), value=VALUE)
    @_noted
    def fail_over(self, kind: str, value: float) -> None:
        """Another controller takes over, and batches that were not committed may be lost."""
        self.cluster.fail_over(kind, value)

    # Network and store ------------------------------------------------------------------------------------------

    @rule(place=PLACE, kind=st.sampled_from(("partition", "cut")), value=VALUE)
    @_noted
    def partition(self, place: int, kind: str, value: float) -> None:
        """A node is cut off from the controllers, the clients, or both; with ``cut`` in one direction."""
        self.cluster.befall(self._node(place), kind, value)

    @rule(place=PLACE, message=st.sampled_from(MESSAGES), value=VALUE)
    @_noted
    def disturb_message(self, place: int, message: tuple[str, str], value: float) -> None:
        """The next message of a node on a link is lost, late, doubled, or overtaken."""
        link, kind = message
        self.cluster.plan_message(self._node(place), link, kind, value)

    @rule(place=PLACE, kind=st.sampled_from(PLANNED), value=VALUE)
    @_noted
    def disturb(self, place: int, kind: str, value: float) -> None:
        """The next operation of a node on S3, its next image of the metadata, or its next start has a fault."""
        self.cluster.plan(self._node(place), kind, value)

    @rule()
    @_noted
    def heal(self) -> None:
        """All links work, pauses end, and dead nodes start again."""
        self.cluster.mend()

    # Time -------------------------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from(DELAYS_MS))
    @_noted
    def tick(self, ms: int) -> None:
        """Time passes."""
        self.cluster.rest(ms)

    def teardown(self) -> None:
        """End all faults: everything has to work again, and every acknowledged batch has to be there."""
        if not hasattr(self, "cluster"):
            return
        try:
            if not self.failed:
                self._end()
        finally:
            self.cluster.close()

    @_noted
    def _end(self) -> None:
        self.cluster.finish()


def machine() -> Machine:
    """A new subclass of the machine, so that its counts of runs start at 0."""
    made: Machine = type("SimulatedClusters", (ClusterMachine,), {"__doc__": ClusterMachine.__doc__})
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
    # One bucket for all runs: to make a client of S3 takes longer than a short run.
    with moto_bucket() as driven.store:
        run_state_machine_as_test(driven, settings=settings(**given))
