"""The object store of one process: operations run in threads, and their answers come back to the event loop.

The threads only wait for the store; the node itself runs in the event loop alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from impl.store.interface import Answer, ObjectStore, Operation

THREADS = 8
"""The number of operations that are under way at once; further ones wait."""


class StorePool:
    """``store``: an adapter that several threads may use."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store")

    def execute(self, operation: Operation, answered: Callable[[Answer], None]) -> None:
        """Execute an operation once; call ``answered`` with its answer in the event loop."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, self._store.execute, operation)
        future.add_done_callback(lambda done: answered(done.result()))
