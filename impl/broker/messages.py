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
    nobody leads, and the ``leader_epoch``.
    """

    topic: str
    partition: int
    values: tuple[bytes, ...]
    producer: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    timestamp: int = -1


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


# Inputs -----------------------------------------------------------------------------------------------------------


class Command(WireMessage, frozen=True, gc=False):
    """A command of the client ``to``. ``id``: the number that the client gave to it."""

    to: int
    id: int
    body: CommandBody


class StoreAnswer(WireMessage, frozen=True, gc=False):
    """The answer of the object store to a ``StoreRequest``."""

    id: int
    answer: store.Answer


class Stop(WireMessage, frozen=True, gc=False):
    """Shut down in order: close all streams, upload everything, close the WAL (CL-11, PL-26); then ``Halt``."""


Input = Command | StoreAnswer | Reply | LearnedBatches | WakeNotice | Stop


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


class Halt(WireMessage, frozen=True, gc=False):
    """The process ends now, and emits nothing more. ``reason`` is for people."""

    reason: str


class StepEvent(WireMessage, frozen=True):
    """A step of this process for the event log. No node acts on it. ``values``: its arguments by name."""

    action: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)


Output = Request | StoreRequest | CommandAnswer | Wake | Halt | StepEvent


class Identity(msgspec.Struct, frozen=True):
    """Who sends a request: a process of a node, or a failover worker that stands for a failed one (FO-05)."""

    node: int
    epoch: int
    failover: bool = False
