"""The load of a run: its clients and their operations, which differ between streams and partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from impl.broker.messages import CommandAnswer
from impl.broker.wal_format import WalRecord
from impl.client.history import History
from impl.metadata.log import MetadataBatch
from impl.sim.cluster import ControllerCluster
from impl.sim.fleet import Fleet
from impl.sim.network import Network
from impl.sim.options import Options
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.script import ScriptOperation
from impl.sim.tape import Tape
from impl.sim.zones import ZoneTraffic
from impl.wire import Reply

SETUP_MS = 60_000
"""The longest time until a cluster without faults is ready for the script."""


class Parts(msgspec.Struct, frozen=True):
    """The parts of a run that clients use. ``advance`` runs all events up to a time."""

    seed: int
    options: Options
    queue: Queue
    tape: Tape
    network: Network
    fleet: Fleet
    cluster: ControllerCluster
    history: History
    traffic: ZoneTraffic
    advance: Callable[[int], None]

    def wait(self, holds: Callable[[], bool]) -> None:
        """Run events until ``holds`` is true. Raises RuntimeError if the set-up takes more than SETUP_MS."""
        bound = self.queue.now + SETUP_MS
        while not holds():
            if self.queue.now >= bound:
                raise RuntimeError("the cluster does not start, although no fault has happened")
            self.advance(self.queue.now + 50)


class Load(Protocol):
    """The clients of a run. ``script``: the operations, in the order of their times."""

    script: Sequence[ScriptOperation]

    def set_up(self) -> None:
        """Create the streams or partitions that exist before the script. No fault happens meanwhile."""

    def begin(self) -> None:
        """Begin with the script, whose times count from now."""

    def give(self, operation: ScriptOperation) -> None:
        """Let a client do one more operation, when it has done those before. A client with a new number is made.

        Operators and the director begin at once.
        """

    def has_ended(self) -> bool:
        """Whether all clients have done their operations."""

    def heal(self) -> str:
        """Wait, without faults, until everything works again. Returns the condition that fails, "" if none does."""

    def counts(self) -> dict[str, int]:
        """Figures of the clients and of their streams or partitions, by name."""

    def keys(self) -> dict[int, int]:
        """By id of a stream: its key in the history; only streams that clients know."""

    def sends(self, record: WalRecord) -> list[tuple[int, int, int]]:
        """The sends of clients in a stored record: base offset, number of records and value of each."""

    # What other parts tell the load ------------------------------------------------------------------------------

    def learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        """The quorum has committed batches."""

    def done(self, process: Process, done: CommandAnswer) -> None:
        """The answer of a broker has arrived."""

    def reply(self, sender: Any, reply: Reply) -> None:
        """A controller answers a request; the answer has not left it."""

    def started(self, process: Process) -> None:
        """A process has started."""

    def ended(self, process: Process, *, noticed: bool) -> None:
        """A process has ended; ``noticed``: its connections break at once."""
