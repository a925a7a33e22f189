"""Ports on the loopback interface, on which this process takes connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

HOST = "127.0.0.1"
"""Everything stays on the loopback interface."""
LIMIT = 1 << 20
"""The most bytes that a reader looks through for the end of a line, or of headers."""
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Listener:
    """A port that listens. ``port``: its number."""

    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Take no more connections. Those that are open stay open."""
        self._server.close()


async def listen(serve: Serve, port: int = 0) -> Listener:
    """Call ``serve`` for each connection, and close the connection when it returns. ``port``: 0 for any.

    A connection that breaks ends quietly, and so does one that is open when the event loop ends.
    """

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    return Listener(await asyncio.start_server(quietly, HOST, port, limit=LIMIT))
