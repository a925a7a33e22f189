"""The director stands in for the metadata of partitions: it says which broker owns a stream, and under which epoch.

A move gives a stream the next epoch, tells the old owner to close it and the new one to open it, both at once. When a
broker is fenced, its streams go to other active brokers (FO-10). A broker that starts anew gets its streams again under
the next epoch. A broker that has failed to open a stream gets it again, too (PT-04): under the next epoch, or with the
switch AM-20 under the same epoch.
"""

from __future__ import annotations

from impl.broker.messages import Close, Command, CommandAnswer, Open
from impl.client.history import Ending, History
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.records import BrokerRegistration
from impl.sim.catalog import Catalog, KnownStream
from impl.sim.faults import PARTITION
from impl.sim.fleet import Fleet
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.tape import Tape

RETRY_MS = 1_000
"""The time from a failed open to the next one (PT-04)."""


class Ownership:
    """The owner of a stream: ``node``, under ``epoch``. ``asked``: the process that was told to open it.

    ``moves``: the history's index of the move that waits for the open; None if no move waits.
    """

    __slots__ = ("asked", "epoch", "last", "moves", "node", "number", "opened")

    def __init__(self) -> None:
        self.epoch = 0
        self.node = -1
        self.asked: Process | None = None
        self.moves: int | None = None
        self.number = 0
        """The number of the command to open it."""
        self.opened = False
        """Whether that command was answered."""
        self.last = -1
        """The node that had the stream open last."""


class Director:
    """Assigns streams to brokers. ``handovers``: how often a stream was opened on another node than the last time."""

    def __init__(
        self,
        queue: Queue,
        tape: Tape,
        fleet: Fleet,
        catalog: Catalog,
        history: History,
        as_built: frozenset[str] = frozenset(),
    ) -> None:
        self.handovers = 0
        self.owners: dict[int, Ownership] = {}
        self.states: dict[int, str] = {}
        """By node: the state of its broker, as the metadata has it."""
        self._queue, self._tape, self._fleet, self._catalog, self._history = queue, tape, fleet, catalog, history
        self._as_built = as_built
        self._commands: dict[int, int] = {}
        """By the number of an open that waits for its answer: its stream's key."""
        self._numbers = 0
        self._processes = 0

    # What clients ask for ---------------------------------------------------------------------------------------

    def adopt(self, key: int, node: int) -> None:
        """Give a new stream to a node; if its broker was fenced meanwhile, to an active one (FO-10)."""
        self.owners[key] = Ownership()
        nodes = self.active()
        self._give(key, node if node in nodes or not nodes else nodes[key % len(nodes)])

    def release(self, key: int) -> None:
        """Take a stream from its owner, since a client destroys it."""
        owner = self.owners.get(key)
        if owner is not None:
            self._settle(owner, "info")
            del self.owners[key]

    def move(self, key: int, hop: int) -> None:
        """Move a stream to the active node ``hop`` places behind its owner. Nothing happens if there is no other.

        With ``hop`` 0 the stream goes away and back, and the broker sees both moves as one change (RA-13): it is told
        to open a stream that it has open under an older epoch.
        """
        owner = self.owners.get(key)
        nodes = self.active()
        others = [node for node in nodes if owner is not None and node != owner.node]
        if owner is None or not others:
            return
        behind = [node for node in others if node > owner.node] + [node for node in others if node < owner.node]
        is_back = hop == 0 and owner.node in nodes
        node = owner.node if is_back else behind[(hop - 1) % len(behind)]
        self._settle(owner, "info")
        self._processes += 1
        owner.moves = self._history.invoke(f"director.{self._processes}", "move", key, node, self._queue.now)
        self._give(key, node)

    def active(self) -> list[int]:
        """The nodes whose brokers are active, ascending."""
        return sorted(node for node, state in self.states.items() if state == "active")

    def is_open(self, key: int) -> bool:
        """Whether a stream is open on a process that lives, under its newest epoch."""
        owner = self.owners.get(key)
        return owner is not None and owner.opened and owner.asked is not None and owner.asked.alive

    # What happens -----------------------------------------------------------------------------------------------

    def learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        """Read the states of brokers from committed batches."""
        for batch in batches:
            for record in batch.records:
                if type(record) is BrokerRegistration:
                    self.states[record.broker_id] = record.state
                    self._rehome(record.broker_id, record.state)

    def _rehome(self, changed: int, state: str) -> None:
        """FO-10. Give the streams of brokers that are not active to active ones, if there are any."""
        nodes = self.active()
        if not nodes:
            return
        for number, (key, owner) in enumerate(sorted(self.owners.items())):
            if owner.node not in nodes and (owner.node == changed or state == "active"):
                self._settle(owner, "info")
                self._give(key, nodes[number % len(nodes)])

    def started(self, process: Process) -> None:
        """A new process of a node gets the node's streams."""
        for key, owner in sorted(self.owners.items()):
            if owner.node == process.node:
                self._give(key, process.node)

    def _give(self, key: int, node: int, *, same_epoch: bool = False) -> None:
        """Tell the newest process of a node to open a stream, and the process before it to close it."""
        owner, stream = self.owners[key], self._catalog.entry(key).stream
        before, process = owner.asked, self._fleet.current[node]
        owner.epoch += not same_epoch
        owner.node = node
        owner.asked = process
        owner.opened = False
        self._numbers += 1
        owner.number = self._numbers
        if before is not None and before is not process:
            self._close(before, stream)
        self._commands[owner.number] = key
        self._fleet.tell(process, Command(0, owner.number, Open(stream, owner.epoch)))

    def _close(self, process: Process, stream: int) -> None:
        """Tell a process to close a stream. Its answer is ignored."""
        self._numbers += 1
        self._fleet.tell(process, Command(0, self._numbers, Close(stream)))

    def answered(self, process: Process, done: CommandAnswer) -> None:
        """A broker has answered. Only the answer to the newest open of a stream matters."""
        key = self._commands.pop(done.id, None)
        owner = None if key is None else self.owners.get(key)
        if key is None or owner is None or owner.number != done.id:
            return
        if done.error is not E.NONE:
            self._queue.at(self._queue.now + RETRY_MS, self._again, key, done.id)
            return
        fault = self._tape.site(f"partition/{key}", tuple(PARTITION)).decide(self._queue.now)
        if fault is not None:
            self._tape.happened(fault)
            self._close(process, self._catalog.entry(key).stream)
            self._queue.at(self._queue.now + RETRY_MS, self._again, key, done.id)
            return
        entry: KnownStream = self._catalog.entry(key)
        entry.owner = process
        owner.opened = True
        entry.start = max(entry.start, done.values["start"])
        self.handovers += owner.last not in (-1, process.node)
        owner.last = process.node
        self._settle(owner, "ok")

    def _again(self, key: int, number: int) -> None:
        """Give a stream out again after a failure, unless it was given out since."""
        owner = self.owners.get(key)
        if owner is not None and owner.number == number:
            is_same = owner.asked is self._fleet.current[owner.node]
            self._give(key, owner.node, same_epoch=is_same and "AM-20" in self._as_built)

    def _settle(self, owner: Ownership, outcome: Ending) -> None:
        """Complete the move that waits for the stream, if one does."""
        if owner.moves is not None:
            self._history.complete(owner.moves, outcome, self._queue.now)
            owner.moves = None
