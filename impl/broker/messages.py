"""The messages of a broker: commands of clients, requests to the controller and to the object store, and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from impl.errors import E
from impl.store import interface as store
from impl.wire import LearnedBatches, Reply, Request, Wake, WakeNotice, WireMessage

# Commands of clients ----------------------------------------------------------------------------------------------


class Create(WireMessage, frozen=True, gc=False):
    """Create a stream. The answer has its ``stream``."""


class Open(WireMessage, frozen=True, gc=False):
    """Open a stream under an epoch, as soon as its last owner has closed it (CL-01).

    The answer has ``start`` and ``next``.
    """

    stream: int
    epoch: int


class Close(WireMessage, frozen=True, gc=False):
    """Close a stream (CL-07, CL-08). The answer comes when the controller has closed it."""

    stream: int


class Append(WireMessage, frozen=True, gc=False):
    """Append a batch of ``count`` records (CL-02). The answer has its ``offset``."""

    stream: int
    count: int
    payload: bytes


class Fetch(WireMessage, frozen=True, gc=False):
    """Read the batches that overlap [begin, end) (CL-05). An ``end`` of None is the confirm offset.

    The answer has ``batches``, each a triple of base, count and payload; and ``confirm``, the confirm offset.
    """

    stream: int
    begin: int
    end: int | None = None


class Trim(WireMessage, frozen=True, gc=False):
    """Drop the offsets below ``to`` (CL-06)."""

    stream: int
    to: int


class Destroy(WireMessage, frozen=True, gc=False):
    """Close and delete a stream (CL-10)."""

    stream: int


class Produce(WireMessage, frozen=True, gc=False):
    """Append a batch to a partition that the broker leads: values, and the numbers of an idempotent producer.

    The answer has its ``offset``. The refusal NOT_LEADER_OR_FOLLOWER has the ``leader`` that the broker knows of, -1 if
    nobody leads, and the ``leader_epoch``. With ``acks`` 0 the answer comes at once, with the offset -1, and does not
    say whether the append succeeds (ZR-30).
    """

    topic: str
    partition: int
    values: tuple[bytes, ...]
    producer: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    timestamp: int = -1
    acks: int = -1


class Consume(WireMessage, frozen=True, gc=False):
    """Read about ``most`` records of a partition, from the offset ``begin`` on. Only durable records are read.

    The answer has ``batches``, each with its base offset and its values, and ``confirmed``, the high watermark. Batches
    are whole, so the first one may begin before ``begin``, and the last one may end beyond ``begin + most``. The
    refusals are those of ``Produce``.
    """

    topic: str
    partition: int
    begin: int
    most: int = 1_000


class FindLeaders(WireMessage, frozen=True, gc=False):
    """Ask any broker who leads the partitions of a topic.

    The answer has ``leaders``: by partition, the leader, -1 if there is none, and the leader epoch.
    """

    topic: str


OfStream = Create | Open | Close | Append | Fetch | Trim | Destroy
OfPartition = Produce | Consume | FindLeaders
CommandBody = OfStream | OfPartition


# Requests of brokers to brokers -----------------------------------------------------------------------------------


class RouteBatches(WireMessage, frozen=True, gc=False):
    """A proxy forwards batches to their main (ZR-22). ``data``: a ``Forward``, whose batches share one route epoch.

    The answer has ``answers``: for each batch, in order, its error and the values of the answer to its producer.
    """

    route_epoch: int
    data: bytes


class PartitionSnapshot(WireMessage, frozen=True, gc=False):
    """A partition as its main shows it to readers of other zones (ZR-36, ZR-48).

    ``operation``: ADD, PATCH or REMOVE. ``stream``: the data stream, -1 if there is none. The log is [``start``,
    ``end``). ``segments``: of each segment its base, and its slice of the data stream, start and end.
    """

    operation: str
    topic: str
    partition: int
    leader_epoch: int
    stream: int = -1
    start: int = 0
    end: int = 0
    segments: tuple[tuple[int, int, int], ...] = ()


class GetPartitionSnapshot(WireMessage, frozen=True, gc=False):
    """A proxy asks a main what has changed (ZR-36, ZR-37). ``session`` 0 begins a session.

    ``commit``: whether the main is to upload what it has. The answer has ``session``, ``session_epoch``, ``partitions``
    (each a PartitionSnapshot), the end of the WAL (``wal_epoch`` and ``wal_end``), and ``records``: those of the WAL
    since the last answer, encoded; None if the reader has to read the WAL (ZR-42).
    """

    session: int
    session_epoch: int
    commit: bool


PeerBody = RouteBatches | GetPartitionSnapshot


# Inputs -----------------------------------------------------------------------------------------------------------


class Command(WireMessage, frozen=True, gc=False):
    """A command of the client ``to``. ``id``: the number that the client gave to it.

    ``client_id``: what the client calls itself, which may name its zone (ZR-09).
    """

    to: int
    id: int
    body: CommandBody
    client_id: str = ""


class StoreAnswer(WireMessage, frozen=True, gc=False):
    """The answer of the object store to a ``StoreRequest``."""

    id: int
    answer: store.Answer


class Stop(WireMessage, frozen=True, gc=False):
    """Shut down in order: close all streams, upload everything, close the WAL (CL-11, PL-26); then ``Halt``."""


class PeerCall(WireMessage, frozen=True, gc=False):
    """A request of another broker. ``sender``: where the driver brings the answer. ``id``: the sender's number."""

    sender: int
    id: int
    body: PeerBody


class PeerResult(WireMessage, frozen=True):
    """The answer of another broker to the ``PeerRequest`` with this id."""

    id: int
    error: E
    values: dict[str, Any]


class PeerLoss(WireMessage, frozen=True, gc=False):
    """The connection for a ``PeerRequest`` broke, or nobody is there. Whether it had an effect is unknown."""

    id: int


Input = Command | StoreAnswer | Reply | LearnedBatches | WakeNotice | Stop | PeerCall | PeerResult | PeerLoss


# Outputs ----------------------------------------------------------------------------------------------------------


class CommandAnswer(WireMessage, frozen=True):
    """The answer to a command. After REQUEST_TIMED_OUT its effect is unknown; after any other error it had none."""

    to: int
    id: int
    error: E = E.NONE
    values: dict[str, Any] = msgspec.field(default_factory=dict)


class StoreRequest(WireMessage, frozen=True, gc=False):
    """An operation for the object store, answered by ``StoreAnswer``."""

    id: int
    operation: store.Operation


class PeerRequest(WireMessage, frozen=True, gc=False):
    """A request to the broker of a node, answered by ``PeerResult`` or ``PeerLoss``, or not at all."""

    node: int
    id: int
    body: PeerBody


class PeerAnswer(WireMessage, frozen=True):
    """The answer to a ``PeerCall``."""

    sender: int
    id: int
    error: E = E.NONE
    values: dict[str, Any] = msgspec.field(default_factory=dict)


class Halt(WireMessage, frozen=True, gc=False):
    """The process ends now, and emits nothing more. ``reason`` is for people."""

    reason: str


class StepEvent(WireMessage, frozen=True):
    """A step of this process for the event log. No node acts on it. ``values``: its arguments by name."""

    action: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)


Output = Request | StoreRequest | CommandAnswer | PeerRequest | PeerAnswer | Wake | Halt | StepEvent


class Identity(msgspec.Struct, frozen=True):
    """Who sends a request: a process of a node, or a failover worker that stands for a failed one (FO-05)."""

    node: int
    epoch: int
    failover: bool = False
