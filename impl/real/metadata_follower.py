"""The committed metadata of a cluster, as the controller sends them to a driver or to a command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from impl.metadata.log import MetadataBatch
from impl.real.frames import Subscription, connect
from impl.wire import LearnedBatches

RETRY_S = 0.1


class MetadataFollower:
    """Keeps a connection to the controller. ``learn`` takes all batches, each once and in order.

    ``name``: of the one who follows. ``port``: of the controller.
    """

    def __init__(
        self, name: str, port: Callable[[], int | None], learn: Callable[[tuple[MetadataBatch, ...]], None]
    ) -> None:
        self._name, self._port, self._learn = name, port, learn
        self._seen = 0
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition on the metadata holds. Returns whether it holds within some seconds.

        The condition is asked after each change of the metadata.
        """
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return holds()
        return True

    def close(self) -> None:
        """End the connection."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            port = self._port()
            connection = None if port is None else await connect(port)
            if connection is not None:
                connection.send(Subscription(self._name, self._seen))
                try:
                    while isinstance(frame := await connection.receive(), LearnedBatches):
                        self._take(frame)
                finally:
                    connection.close()
            await asyncio.sleep(RETRY_S)

    def _take(self, learned: LearnedBatches) -> None:
        fresh = learned.batches[self._seen - learned.begin :]
        if fresh:
            self._seen += len(fresh)
            self._learn(fresh)
        self._news.set()
