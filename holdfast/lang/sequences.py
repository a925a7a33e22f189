"""Sequences as CPython executes them: logs and queues with a bounded number of entries.

``Seq[Value, Index]`` holds at most as many entries as the bound of ``Index`` says. An entry is a plain value or a
record. A read beyond the last entry gives None. An operation that would make the sequence too long, or shorter than
nothing, raises ``Cut``: the step lies outside the scope and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from holdfast.ir.marks import MARK
from holdfast.lang.records import Record
from holdfast.lang.sorts import Cut, Nat, size_in_force

T = TypeVar("T")
Index = TypeVar("Index", bound=Nat)


class Seq(Generic[T, Index]):
    """A sequence: ``queue: Seq[Request, Slot]``, ``log: Map[Node, Seq[Value, Index]]``. The first entry is at 0.

    ``index``: the Nat whose bound is the greatest length. ``admit`` checks an entry, and raises ``Cut``. ``record``:
    the class of the entries, if they are records.
    """

    __slots__ = ("_admit", "_index", "entries", "record")

    def __init__(self, index: type[Nat], admit: Callable[[Any], None], record: type[Record] | None = None) -> None:
        self._index = index
        self._admit = admit
        self.record = record
        self.entries: list[T] = []

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, at: int) -> T | None:
        """The entry at an index from 0, or None where there is none."""
        return self.entries[at] if 0 <= at < len(self.entries) else None

    @property
    def first(self) -> T | None:
        """The first entry, or None."""
        return self[0]

    @property
    def last(self) -> T | None:
        """The last entry, or None."""
        return self[len(self.entries) - 1]

    def __contains__(self, value: object) -> bool:
        return value in self.entries

    # Python would make an iteration from ``__getitem__``, and it would not end.
    __iter__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seq) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def starts_with(self, other: Seq[T, Index]) -> bool:
        """Whether the other sequence is a prefix of this one, or equal to it."""
        return self.entries[: len(other.entries)] == other.entries

    def append(self, value: T) -> None:
        """Add an entry after the last one. Raises ``Cut`` if the sequence is full."""
        self._admit(value)
        self._resized(len(self.entries) + 1)
        self.entries.append(value)

    def pop_first(self) -> None:
        """Take the first entry away. Raises ``Cut`` if there is none."""
        self._resized(len(self.entries) - 1)
        del self.entries[0]

    def truncate(self, length: int) -> None:
        """Keep the first ``length`` entries, all of them if there are fewer. Raises ``Cut`` for a number below 0."""
        self._resized(min(length, len(self.entries)))
        del self.entries[length:]

    def clear(self) -> None:
        """Take all entries away."""
        self.entries.clear()

    def _resized(self, length: int) -> None:
        if not 0 <= length <= size_in_force(self._index):
            raise Cut(self._index.__name__)

    def copy(self) -> Self:
        """An equal sequence that does not share its entries with this one."""
        twin = type(self)(self._index, self._admit, self.record)
        twin.entries = list(self.entries)
        return twin

    def __repr__(self) -> str:
        return repr(self.entries)


setattr(Seq, MARK, "seq")
