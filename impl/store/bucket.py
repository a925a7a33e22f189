"""A node's access to an object store, which repeats operations until their outcome is certain.

A repeated put has the same bytes. If a conflict follows an attempt of unknown outcome, the bytes of the object decide:
if they are the bytes of the put, that attempt took effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.store.interface import (
    Answer,
    Delete,
    Get,
    List,
    ListedObject,
    ObjectData,
    ObjectPage,
    Operation,
    Put,
    PutResult,
    Unsure,
)
from impl.tasks import FailedError, Tasks

ATTEMPTS = 5
"""The number of attempts after which the outcome of an operation stays unknown."""
FIRST_DELAY_MS = 100
"""The delay before the second attempt. Each further one is twice as long."""


class StoreError(FailedError):
    """The outcome of an operation is unknown after all attempts. The operation may still take effect."""


class TakenError(FailedError):
    """The condition of a put is not met: its key has another object, or has no object to replace."""


class Bucket:
    """The objects that a node reads and writes. ``output`` makes an output of the node from an id and an operation."""

    def __init__(self, tasks: Tasks, output: Callable[[int, Operation], Any]) -> None:
        self._tasks = tasks
        self._output = output

    async def put(
        self, key: str, data: bytes, *, new: bool = False, replaces: str | None = None, attempts: int = ATTEMPTS
    ) -> str:
        """Put an object and return its etag. ``new`` and ``replaces``: the conditions of ``Put``.

        Raises TakenError if the condition is not met, and StoreError.
        """
        answer, tried = await self._certain(Put(key, data, new, replaces), attempts)
        if isinstance(answer, PutResult):
            return answer.etag
        # An earlier attempt of this put may have put the object that causes the conflict.
        found = await self.find(key) if tried > 1 else None
        if found is None or found.data != data:
            raise TakenError(f"{key} is another object")
        return found.etag

    async def find(self, key: str, begin: int = 0, end: int | None = None) -> ObjectData | None:
        """The bytes of an object, or a part of them; None if there is no object. Raises StoreError."""
        answer, _ = await self._certain(Get(key, begin, end))
        return answer if isinstance(answer, ObjectData) else None

    async def list(self, folder: str) -> list[ListedObject]:
        """All objects of a folder, in the order of their keys. Raises StoreError.

        An object that is put or deleted while the pages are read may be in the list or not.
        """
        found: list[ListedObject] = []
        while True:
            page, _ = await self._certain(List(folder, found[-1].key if found else ""))
            assert isinstance(page, ObjectPage), "the answer to a list"
            found += page.entries
            if not page.more:
                return found

    async def delete(self, *keys: str) -> None:
        """Delete objects, whether they exist or not. Raises StoreError."""
        if keys:
            await self._certain(Delete(keys))

    async def _certain(self, operation: Operation, attempts: int = ATTEMPTS) -> tuple[Answer, int]:
        """The first certain answer to an operation, and the number of attempts. Raises StoreError if all are unsure."""
        for attempt in range(attempts):
            if attempt:
                await self._tasks.sleep(FIRST_DELAY_MS << (attempt - 1))
            answer = await self._tasks.ask(lambda number: self._output(number, operation))
            if not isinstance(answer, Unsure):
                return answer, attempt + 1
        raise StoreError(f"{type(operation).__name__} had no certain outcome in {attempts} attempts: {answer.reason}")
