"""The object store as a node sees it: an operation goes out, and one answer comes back, or none that says enough.

Four operations of S3 are enough. An adapter executes each exactly once: no client retries by itself, since a hidden
retry of a conditional put finds the object of its own first attempt, and says that somebody else has put it.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

PAGE = 1_000
"""The most objects of one page of a list."""


class Part(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Anything that goes to an object store or comes from it. The name of the class stands in the event log."""


# Operations -------------------------------------------------------------------------------------------------------


class Put(Part, frozen=True, gc=False):
    """Put an object. ``new``: only if there is none. ``replaces``: only if the object has this etag."""

    key: str
    data: bytes
    new: bool = False
    replaces: str | None = None


class Get(Part, frozen=True, gc=False):
    """Get the bytes of an object from ``begin`` up to, and without, ``end``; None stands for the end of the object.

    The object has to have a byte at ``begin``, unless that is 0.
    """

    key: str
    begin: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        if self.begin < 0 or (self.end is not None and self.end <= self.begin):
            raise ValueError(f"a range from {self.begin} to {self.end} has no byte")


class List(Part, frozen=True, gc=False):
    """List a page of the objects in a folder whose keys come after ``after``, in the order of keys.

    ``folder`` is the begin of their keys. It is empty, or ends with a slash; folders in it are listed, too.
    """

    folder: str
    after: str = ""

    def __post_init__(self) -> None:
        if self.folder and not self.folder.endswith("/"):
            raise ValueError(f"a folder ends with a slash, and {self.folder} does not")


class Delete(Part, frozen=True, gc=False):
    """Delete objects. One that is not there counts as deleted."""

    keys: tuple[str, ...]


Operation = Put | Get | List | Delete


# Answers ----------------------------------------------------------------------------------------------------------


class Stored(Part, frozen=True, gc=False):
    """The object is there, under this etag."""

    etag: str


class ObjectData(Part, frozen=True, gc=False):
    """The bytes that were asked for; those of them that the object has. ``etag`` is that of the object."""

    data: bytes
    etag: str


class Entry(Part, frozen=True, gc=False):
    """An object of a list, and its size in bytes."""

    key: str
    size: int


class Listed(Part, frozen=True, gc=False):
    """A page of objects. ``more``: there are others after the last of them."""

    entries: tuple[Entry, ...]
    more: bool


class Deleted(Part, frozen=True, gc=False):
    """None of the objects is there any more."""


class Missing(Part, frozen=True, gc=False):
    """There is no such object."""


class Conflict(Part, frozen=True, gc=False):
    """The condition of a put is not met, and nothing was put."""


class Unsure(Part, frozen=True, gc=False):
    """Nobody knows whether the operation took effect, takes effect later, or never does. ``reason`` is for people.

    A store that cannot be reached, or denies access, answers this as well.
    """

    reason: str


Answer = Stored | ObjectData | Listed | Deleted | Missing | Conflict | Unsure


class ObjectStore(Protocol):
    """Executes operations. The next one sees all that an answered one has done."""

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation once. Whatever goes wrong on the way is ``Unsure``, and not an exception."""
        ...
