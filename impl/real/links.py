"""The links between the nodes of a cluster: a proxy on each TCP connection, which can delay and cut one direction.

A direction carries frames in their order. A slow one takes its time for each, so that other nodes may act between two
frames of one step. A cut direction carries nothing until it is mended; then all arrives, as it does when TCP sends it
again. The names of directions are those of the simulator: ``>controller`` leads from a broker to the controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from impl.real.listening import HOST, Listener, listen

_LENGTH_BYTES = 4


class Direction:
    """``delay``: the time that each frame takes, in seconds."""

    def __init__(self) -> None:
        self.delay = 0.0
        self._carries = asyncio.Event()
        self._carries.set()

    def cut(self) -> None:
        """Carry nothing."""
        self._carries.clear()

    def mend(self) -> None:
        """Carry frames without delay."""
        self.delay = 0.0
        self._carries.set()

    async def wait(self) -> None:
        """Wait until the next frame may leave."""
        if self.delay:
            await asyncio.sleep(self.delay)
        await self._carries.wait()


class LinkTable:
    """All links of a cluster. The processes of a node share the directions of their node."""

    def __init__(self) -> None:
        self._directions: dict[tuple[int, str], Direction] = {}
        self._listeners: list[Listener] = []

    def direction(self, node: int, name: str) -> Direction:
        """The direction of a node with a name such as ``>controller``."""
        return self._directions.setdefault((node, name), Direction())

    def mend(self) -> None:
        """All directions carry frames without delay."""
        for direction in self._directions.values():
            direction.mend()

    async def listen(self, node: int, there: str, back: str, target: Callable[[], int | None]) -> int:
        """The port of a link of a node. ``there``: the direction from the caller on, ``back``: to the caller.

        ``target``: the port behind the link; None if nobody listens.
        """
        forward, backward = self.direction(node, there), self.direction(node, back)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            port = target()
            if port is not None:
                behind, beyond = await asyncio.open_connection(HOST, port)
                await asyncio.gather(_pump(reader, beyond, forward), _pump(behind, writer, backward))

        self._listeners.append(await listen(serve))
        return self._listeners[-1].port

    def close(self) -> None:
        """Close all ports."""
        for listener in self._listeners:
            listener.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction) -> None:
    """Carry frames until one side ends; then the other side ends, too."""
    try:
        while frame := await _frame(reader):
            await direction.wait()
            writer.write(frame)
            await writer.drain()
        await direction.wait()
    finally:
        writer.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """The bytes of the next frame; what is left of one if the connection ends within it."""
    try:
        length = await reader.readexactly(_LENGTH_BYTES)
        return length + await reader.readexactly(int.from_bytes(length))
    except asyncio.IncompleteReadError as error:
        return error.partial
