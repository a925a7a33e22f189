"""Frames: the messages of nodes on a TCP connection.

A frame is four bytes with the length of the rest, big-endian, and a message in msgpack. The messages are those of the
simulator; two more open a connection. A receiver greets first. A connection that ends before the greeting has carried
no request.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import msgspec

from impl.broker.messages import Command, CommandAnswer
from impl.real.listening import HOST
from impl.wire import LearnedBatches, Reply, Request, WireMessage

LONGEST = 256 << 20
"""The maximum number of bytes of a message. A length beyond it is no frame of a node."""
_LENGTH = struct.Struct(">I")


class Greeting(WireMessage, frozen=True, gc=False):
    """The first frame of a receiver. ``name``: the name of its process."""

    name: str


class Subscription(WireMessage, frozen=True, gc=False):
    """The first frame of a sender to the controller. ``name``: the sender.

    ``begin``: send it the committed batches from this index on, and each further one; with -1 none.
    """

    name: str
    begin: int = -1


Frame = Command | CommandAnswer | Request | Reply | LearnedBatches | Greeting | Subscription
_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Frame] = msgspec.msgpack.Decoder(Frame).decode


class FrameError(Exception):
    """The bytes are no frame."""


def pack(frame: Frame) -> bytes:
    """The bytes of a frame."""
    data = _encode(frame)
    return _LENGTH.pack(len(data)) + data


def unpack(data: bytes) -> Frame:
    """The message of a frame, without its length. Raises FrameError."""
    try:
        return _decode(data)
    except msgspec.DecodeError as error:
        raise FrameError(f"{len(data)} bytes are no message: {error}") from None


class FrameConnection:
    """A connection that carries frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, *frames: Frame) -> None:
        """Send frames. On a connection that has ended nothing happens."""
        self.send_bytes(b"".join(map(pack, frames)))

    def send_bytes(self, data: bytes) -> None:
        """Send frames that are packed already."""
        if not self._writer.is_closing():
            self._writer.write(data)

    async def receive(self) -> Frame | None:
        """The next frame; None if the connection has ended. Raises FrameError."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            if length > LONGEST:
                raise FrameError(f"a frame of {length} bytes is too long")
            return unpack(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


async def connect(port: int) -> FrameConnection | None:
    """A connection to a process that has greeted; None if it cannot be reached, or ends the connection at once."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return None
    connection = FrameConnection(reader, writer)
    if not isinstance(await connection.receive(), Greeting):
        connection.close()
        return None
    return connection
