"""The object store as a node sees it: a node sends an operation, and gets one answer, which may be ``Unsure``.

Four operations of S3 are enough. An adapter executes each operation exactly once, so its S3 library must not retry. A
hidden retry of a conditional put finds the object of its own first attempt, and reports it as another writer's object.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

PAGE = 1_000
"""The maximum number of objects in one page of a list."""


class StoreMessage(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A message to an object store or from it. The event log names it by its tag."""


# Operations -------------------------------------------------------------------------------------------------------


class Put(StoreMessage, frozen=True, gc=False):
    """Put an object. ``new``: only if the key has no object. ``replaces``: only if its object has this etag."""

    key: str
    data: bytes
    new: bool = False
    replaces: str | None = None


class Get(StoreMessage, frozen=True, gc=False):
    """Get the bytes [``begin``, ``end``) of an object. An ``end`` of None is the end of the object.

    The object must have a byte at ``begin``, unless ``begin`` is 0. Raises ValueError for an empty range.
    """

    key: str
    begin: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        if self.begin < 0 or (self.end is not None and self.end <= self.begin):
            raise ValueError(f"a range from {self.begin} to {self.end} has no byte")


class List(StoreMessage, frozen=True, gc=False):
    """List one page of the objects in a folder, in the order of keys: the first ones whose keys come after ``after``.

    ``folder``: the prefix of their keys, which is empty or ends with a slash. Objects in its subfolders are listed too.
    Raises ValueError for any other folder.
    """

    folder: str
    after: str = ""

    def __post_init__(self) -> None:
        if self.folder and not self.folder.endswith("/"):
            raise ValueError(f"a folder ends with a slash, and {self.folder} does not")


class Delete(StoreMessage, frozen=True, gc=False):
    """Delete objects. A missing object counts as deleted."""

    keys: tuple[str, ...]


Operation = Put | Get | List | Delete


# Answers ----------------------------------------------------------------------------------------------------------


class PutResult(StoreMessage, frozen=True, gc=False, tag="Stored"):
    """The object was put, and has this etag."""

    etag: str


class ObjectData(StoreMessage, frozen=True, gc=False):
    """The bytes of the range, up to the end of the object if that comes first. ``etag``: the etag of the object."""

    data: bytes
    etag: str


class ListedObject(StoreMessage, frozen=True, gc=False):
    """An object of a list, and its size in bytes."""

    key: str
    size: int


class ObjectPage(StoreMessage, frozen=True, gc=False, tag="Listed"):
    """A page of objects. ``more``: whether other objects follow the last one."""

    entries: tuple[ListedObject, ...]
    more: bool


class DeleteResult(StoreMessage, frozen=True, gc=False, tag="Deleted"):
    """None of the objects exists any more."""


class Missing(StoreMessage, frozen=True, gc=False):
    """There is no such object."""


class Conflict(StoreMessage, frozen=True, gc=False):
    """The condition of a put is not met, and nothing was put."""


class Unsure(StoreMessage, frozen=True, gc=False):
    """It is unknown whether the operation took effect, takes effect later, or never does. ``reason``: text for people.

    A store that cannot be reached, or denies access, answers this as well.
    """

    reason: str


Answer = PutResult | ObjectData | ObjectPage | DeleteResult | Missing | Conflict | Unsure


class ObjectStore(Protocol):
    """Executes operations. Each operation sees the effects of all operations that were answered before it."""

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation once. An error on the way is answered with ``Unsure``, and raises no exception."""
        ...
