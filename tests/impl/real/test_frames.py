"""Frames carry every message of the simulator unchanged, and refuse everything else."""

from __future__ import annotations

import asyncio

import pytest

from impl.broker.messages import Command, CommandAnswer, Consume, FindLeaders, Produce
from impl.controller.commits import SetCommit
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.log import MetadataBatch
from impl.real.frames import Frame, FrameConnection, FrameError, Greeting, Subscription, connect, pack, unpack
from impl.real.listening import listen
from impl.records import AssignedStreamId, Tag
from impl.wire import (
    AlterReassignments,
    CloseStreams,
    CommitStreamSetObject,
    CreateStreams,
    GetOpeningStreams,
    ItemAnswer,
    LearnedBatches,
    OpenStreams,
    PutIfAbsent,
    Reply,
    Request,
    TrimStreams,
)

FRAMES: list[Frame] = [
    Greeting("b1.0"),
    Subscription("b1.0", 3),
    Command(1, 2, Produce("t", 0, (b"a", b"\xff"), 5, 0, 7, 9)),
    Command(1, 2, Consume("t", 0, 1 << 40)),
    Command(1, 2, FindLeaders("t")),
    CommandAnswer(1, 2, E.NOT_LEADER_OR_FOLLOWER, {"leader": -1, "leader_epoch": 4}),
    Request(1, 2, GetOpeningStreams(1, 2, failover=True)),
    Request(1, 2, CreateStreams(1, 2, (CreateItem((Tag("topic", "t"),)),))),
    Request(1, 2, OpenStreams(1, 2, (OpenItem(1, 2),))),
    Request(1, 2, CloseStreams(1, 2, (CloseItem(1, 2, 3), CloseItem(2, 2)))),
    Request(1, 2, TrimStreams(1, 2, (TrimItem(1, 2, 3),))),
    Request(1, 2, PutIfAbsent("k", b"\x00\x01")),
    Request(1, 2, AlterReassignments({"t": {0: (1,), 1: None}})),
    Reply(1, 2, (ItemAnswer(E.NONE, {"streams": [{"stream": 1, "epoch": 2}]}), ItemAnswer(E.STREAM_FENCED))),
    LearnedBatches(4, (MetadataBatch((AssignedStreamId(3),), 1, 2),)),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_comes_back(frame: Frame) -> None:
    """Four bytes say how long the rest is, and the rest is the message."""
    data = pack(frame)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert unpack(data[4:]) == frame


def test_a_commit_comes_back() -> None:
    """A commit with all its fields."""
    commit = SetCommit(1, 2, 3, 4, 100)
    frame = Request(0, 1, CommitStreamSetObject(commit))
    assert unpack(pack(frame)[4:]) == frame


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x81\xa4type\xa3Odd", pack(Greeting("b"))[4:-1]])
def test_other_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no message raise FrameError."""
    with pytest.raises(FrameError, match="are no message"):
        unpack(data)


def test_a_connection_counts_from_the_greeting_on() -> None:
    """A receiver that ends the connection without a greeting was not reached; one that greets carries frames."""

    async def talk() -> list[Frame | None]:
        async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Close the connection at once."""

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = FrameConnection(reader, writer)
            connection.send(Greeting("b1.0"))
            frame = await connection.receive()
            assert frame is not None
            connection.send(frame)

        found: list[Frame | None] = []
        for serve in (silent, echo):
            server = await listen(serve)
            connection = await connect(server.port)
            if connection is None:
                found.append(None)
            else:
                connection.send(Subscription("a"))
                found += [await connection.receive(), await connection.receive()]
                connection.close()
            server.close()
        return found

    assert asyncio.run(talk()) == [None, Subscription("a"), None]
